// Formats and places together: floors of quality, candidates, budgets.

#include <algorithm>
#include <cmath>
#include <random>

#include <QElapsedTimer>
#include <QtTest>

#include "engine/error.h"
#include "engine/plan/forecast.h"
#include "engine/plan/planner.h"
#include "kernels/expert_layout.h"
#include "tests/engine/plan_values.h"

using namespace offstage::engine;
using namespace offstage::tests;
using offstage::kernels::WeightType;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

constexpr WeightType kFormats[] = {WeightType::kBf16, WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3,
                                   WeightType::kHqq2};
// About what HQQ has on normally distributed weights.
constexpr double kErrors[] = {0, 0.005, 0.09, 0.19, 0.33};

ModelDemand model(std::int64_t layers, std::int64_t experts, std::int64_t active, std::int64_t hidden,
                  std::int64_t ffn) {
    ModelDemand d;
    d.n_layers = layers;
    d.n_experts = experts;
    d.n_active = active;
    for (const WeightType format : kFormats) {
        d.formats.push_back(
            {format, (offstage::kernels::expert_layout(format, hidden, ffn).bytes() + 255) / 256 * 256,
             8.0 * static_cast<double>(offstage::kernels::row_bytes(format, hidden)) / static_cast<double>(hidden)});
    }
    d.expert_bytes = d.formats.front().expert_bytes;
    d.dense_bytes = static_cast<std::uint64_t>(layers * hidden * hidden) * 5;
    d.kv_groups = {{0, {0, static_cast<std::uint64_t>(layers) * 2 * 8 * 128 * 4, 0}}};
    d.host_fixed_bytes = d.dense_bytes / 4;
    d.max_context = 32768;
    d.workspace_fixed_bytes = 16 * kMiB;
    d.workspace_bytes_per_token = 20'000;
    return d;
}

ModelDemand mixtral() {
    return model(32, 8, 2, 4096, 14336);
}

// A GPU on a bus beside a CPU: every time is proportional to an expert's bytes, as if
// memory were the limit.
CostModel costs(const ModelDemand& d, double bus_gbps = 12, double gpu_gbps = 300, double cpu_gbps = 40) {
    CostTable t;
    const auto bytes = static_cast<double>(d.expert_bytes);
    t.expert_bytes = d.expert_bytes;
    t.weight_copy_us = bytes / (bus_gbps * 1e3);
    t.activation_copy = {{1, 15}, {1024, 1500}};
    t.gpu_expert = {{1, bytes / (gpu_gbps * 1e3)}, {1024, 4 * bytes / (gpu_gbps * 1e3)}};
    t.cpu_expert = {{1, bytes / (cpu_gbps * 1e3)}, {1024, 200 * bytes / (cpu_gbps * 1e3)}};
    t.disk.us = bytes / (2 * 1e3);
    t.sparse_cpu = accounted_sparse_factors({});
    t.sync_us = 20;
    t.cpu_slowdown = t.copy_slowdown = 1.2;
    CostModel cost(t);
    for (const ModelDemand::Format& f : d.formats) cost.set_expert_bytes(f.format, f.expert_bytes);
    return cost;
}

Popularity popularity(const ModelDemand& d, std::uint64_t seed, double skew) {
    Popularity p = Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
    if (skew <= 0) return p;
    std::mt19937_64 random(seed);
    p.n_tokens = 100'000;
    for (double& c : p.counts) c = 1000 * std::exp(skew * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5));
    // No expert has more than a token's one call.
    const auto n = static_cast<std::size_t>(d.n_experts);
    for (std::size_t layer = 0; layer < p.counts.size(); layer += n) {
        double sum = 0;
        for (std::size_t e = 0; e < n; ++e) sum += p.counts[layer + e];
        for (std::size_t e = 0; e < n; ++e)
            p.counts[layer + e] = std::min(p.counts[layer + e], 0.9 * sum / static_cast<double>(d.n_active));
    }
    return p;
}

Sensitivity sensitivity(const ModelDemand& d, double spread = 0) {
    Sensitivity s;
    s.n_layers = d.n_layers;
    s.n_experts = d.n_experts;
    std::mt19937_64 random(3);
    for (std::size_t f = 1; f < std::size(kFormats); ++f) {
        Sensitivity::Format format;
        format.format = kFormats[f];
        for (std::int64_t i = 0; i < d.n_layers * d.n_experts; ++i)
            format.errors.push_back(kErrors[f] * (1 + spread * static_cast<double>(random() >> 11) * 0x1p-53));
        s.formats.push_back(std::move(format));
    }
    return s;
}

double decodeUs(const Plan& plan, const ModelDemand& d, const Popularity& p, const CostModel& cost,
                PolicyKind policy = PolicyKind::kBalanced) {
    return forecast(plan, d, p, cost, policy, 1).decode_layer_us;
}

double meanBits(const Plan& plan, const ModelDemand& d) {
    double bits = 0;
    for (const WeightType format : plan.formats) {
        for (const ModelDemand::Format& f : d.formats) bits += f.format == format ? f.bits_per_weight : 0;
    }
    return bits / static_cast<double>(plan.formats.size());
}

// By the definition in sensitivity.h, expert by expert.
double lossOf(const Plan& plan, const Sensitivity& s, const Popularity& p) {
    double loss = 0;
    for (std::int64_t layer = 0; layer < s.n_layers; ++layer) {
        for (std::int64_t e = 0; e < s.n_experts; ++e) {
            const auto i = static_cast<std::size_t>(layer * s.n_experts + e);
            for (const Sensitivity::Format& f : s.formats) {
                if (f.format != plan.formats[i]) continue;
                loss += f.errors[i] * f.errors[i] * p.share(layer, e) / static_cast<double>(p.n_active * s.n_layers);
            }
        }
    }
    return loss;
}

std::uint64_t bytesOf(const ModelDemand& d, WeightType format) {
    for (const ModelDemand::Format& f : d.formats) {
        if (f.format == format) return f.expert_bytes;
    }
    return 0;
}

// For plans by costs; those without a cost model are placed.
struct Costs {
    const CostModel* cost = nullptr;
    const Sensitivity* sensitivity = nullptr;
    PolicyKind decode = PolicyKind::kBalanced;
    const NeuronThresholds* thresholds = nullptr;
    SparseLoading sparse_loading = SparseLoading::kOff;
    std::optional<ThetaChoice> theta{};
};

Plan make_plan(const ModelDemand& d, Budget budget, const Popularity& p, PlacementKind kind, const Costs& costs) {
    PlanInputs inputs;
    inputs.demand = d;
    inputs.popularity = p;
    inputs.decode = costs.decode;
    inputs.sparse_loading = costs.sparse_loading;
    if (costs.cost != nullptr) inputs.cost = *costs.cost;
    if (costs.sensitivity != nullptr) inputs.sensitivity = *costs.sensitivity;
    if (costs.thresholds != nullptr) inputs.thresholds = *costs.thresholds;
    budget.theta = costs.theta;
    return offstage::engine::make_plan(inputs, budget, kind);
}

std::string failure(const ModelDemand& d, const Budget& budget, const Costs& costs = {}) {
    try {
        make_plan(d, budget, popularity(d, 1, 0), PlacementKind::kPopular, costs);
    } catch (const Error& error) {
        return (error.kind() == ErrorKind::kInvalidInput ? "" : "another kind: ") + std::string(error.what());
    }
    return "no error";
}

// The measured loss of all experts in a format, and of thresholds that leave this share
// active.
struct HandMade {
    double format_kl = 0, neuron_kl = 0, active = 0.3;
    WeightType format = WeightType::kHqq4;
    NeuronThresholds measured(const ModelDemand& d) const {
        NeuronThresholds m;
        m.formats.push_back({format, format_kl, "t", 100});
        ChosenThresholds chosen;
        chosen.loss = 0.02;
        chosen.mean_kl = neuron_kl;
        chosen.active_share = active;
        chosen.n_experts = d.n_experts;
        chosen.layer_shares.assign(static_cast<std::size_t>(d.n_layers), active);
        chosen.thetas.assign(static_cast<std::size_t>(d.n_layers * d.n_experts), 0.1f);
        m.chosen.push_back(chosen);
        return m;
    }
};

bool allIn(const Plan& plan, WeightType format) {
    return std::all_of(plan.formats.begin(), plan.formats.end(), [&](WeightType f) { return f == format; });
}

}  // namespace

class TestFormatSearch : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void plan_withoutAFloorOrCosts_isTodaysInTheMastersFormat() {
        const ModelDemand d = mixtral();
        const Popularity p = popularity(d, 1, 2);
        const CostModel cost = costs(d);
        const Sensitivity s = sensitivity(d);
        const Budget budget{16 * kGiB, 64 * kGiB, 4096};
        const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
        ModelDemand plain = d;
        plain.formats.resize(1);
        const Plan today = offstage::tests::make_plan(plain, budget, p, PlacementKind::kPopular);
        QVERIFY(plan.places == today.places);
        QVERIFY(plan.formats == std::vector<WeightType>(256, WeightType::kBf16));
        QCOMPARE(plan.vram_bytes(), today.vram_bytes());
        QCOMPARE(plan.mean_bits, 16.0);
        QCOMPARE(plan.predicted_loss, 0.0);
        Budget floor = budget;
        floor.quality.min_mean_bits = 3;
        QVERIFY(offstage::tests::make_plan(d, floor, p, PlacementKind::kPopular).places == today.places);
    }

    void plan_ofOneFormat_countsItsBytes() {
        const ModelDemand d = mixtral();
        const Sensitivity s = sensitivity(d);
        const Popularity p = popularity(d, 1, 2);
        std::int64_t last = 0;
        for (std::size_t f = 0; f < std::size(kFormats); ++f) {
            Budget budget{16 * kGiB, 0, 4096};
            budget.uniform = kFormats[f];
            const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {nullptr, &s});
            const std::uint64_t bytes = bytesOf(d, kFormats[f]);
            QVERIFY(plan.formats == std::vector<WeightType>(256, kFormats[f]));
            QCOMPARE(plan.expert_bytes, static_cast<std::uint64_t>(plan.n_resident()) * bytes);
            QCOMPARE(plan.slot_bytes, bytes);
            QCOMPARE(plan.staging_bytes, static_cast<std::uint64_t>(plan.staging_slots) * bytes);
            QCOMPARE(plan.ram_bytes, d.host_fixed_bytes + 256 * bytes);
            QCOMPARE(plan.mean_bits, d.formats[f].bits_per_weight);
            QVERIFY(std::abs(plan.predicted_loss - kErrors[f] * kErrors[f]) < 1e-9);
            QVERIFY(plan.n_resident() > last);
            last = plan.n_resident();
        }
    }

    void request_thatMakesNoSense_isRefused() {
        const ModelDemand d = mixtral();
        const CostModel cost = costs(d);
        const Sensitivity s = sensitivity(d);
        Budget budget{16 * kGiB, 0, 4096};
        budget.uniform = WeightType::kF16;
        QVERIFY(QString::fromStdString(failure(d, budget)).contains(QLatin1String("cannot be kept in F16")));
        budget.uniform = WeightType::kHqq3;
        budget.quality.min_mean_bits = 3;
        QVERIFY(QString::fromStdString(failure(d, budget)).contains(QLatin1String("not both")));
        budget.uniform.reset();
        budget.quality.min_mean_bits = 17;
        QVERIFY(QString::fromStdString(failure(d, budget, {&cost, &s})).contains(QLatin1String("has 17 bits")));
        budget.quality.min_mean_bits = 3;
        Sensitivity other = s;
        other.n_experts = 16;
        QVERIFY(QString::fromStdString(failure(d, budget, {&cost, &other})).contains(QLatin1String("of this model")));
    }

    void floor_ofAnyKind_isKept_andBudgetsAreToo() {
        std::mt19937_64 random(21);
        int mixed = 0;
        for (int round = 0; round < 60; ++round) {
            const ModelDemand d =
                model(2 + static_cast<std::int64_t>(random() % 6), 4 + static_cast<std::int64_t>(random() % 12),
                      1 + static_cast<std::int64_t>(random() % 3), 512, 1024);
            const Popularity p = popularity(d, random(), static_cast<double>(random() % 5));
            const CostModel cost = costs(d);
            const Sensitivity s = sensitivity(d, 0.5);
            const std::uint64_t all = d.expert_bytes * static_cast<std::uint64_t>(d.n_layers * d.n_experts);
            Budget budget;
            budget.context = 2048;
            budget.vram_bytes = d.dense_bytes + d.kv_bytes(2048) + 26 * kMiB + random() % all;
            budget.ram_bytes = d.host_fixed_bytes + all / 8 + random() % all;
            if (random() % 2 == 0) budget.quality.min_mean_bits = 2.56 + static_cast<double>(random() % 1000) / 200;
            if (random() % 2 == 0 || budget.quality.min_mean_bits == 0)
                budget.quality.max_loss = std::pow(10.0, -1.0 - static_cast<double>(random() % 300) / 100);
            const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
            QVERIFY(plan.vram_bytes() <= budget.vram_bytes);
            QVERIFY(plan.ram_bytes <= budget.ram_bytes);
            const double bits = meanBits(plan, d);
            const double loss = lossOf(plan, s, p);
            QVERIFY(std::abs(plan.mean_bits - bits) < 1e-9 * bits);
            QVERIFY(std::abs(plan.predicted_loss - loss) <= 1e-9 * loss + 1e-15);
            QVERIFY(bits >= budget.quality.min_mean_bits * (1 - 1e-8));
            if (budget.quality.max_loss > 0) QVERIFY(loss <= budget.quality.max_loss * (1 + 1e-8));
            std::uint64_t device = 0, ram = 0, largest = 0;
            for (std::size_t i = 0; i < plan.places.size(); ++i) {
                const std::uint64_t bytes = bytesOf(d, plan.formats[i]);
                largest = std::max(largest, bytes);
                if (plan.places[i] == Place::kDevice) device += bytes;
                if (plan.places[i] == Place::kRam || (plan.duplicates && plan.places[i] == Place::kDevice))
                    ram += bytes;
            }
            QCOMPARE(plan.expert_bytes, device);
            QCOMPARE(plan.slot_bytes, largest);
            QCOMPARE(plan.staging_bytes, static_cast<std::uint64_t>(plan.staging_slots) * largest);
            QCOMPARE(plan.ram_bytes,
                     d.host_fixed_bytes + ram + static_cast<std::uint64_t>(plan.host_staging_slots) * largest);
            mixed += std::adjacent_find(plan.formats.begin(), plan.formats.end(), std::not_equal_to<>()) !=
                     plan.formats.end();
        }
        QVERIFY(mixed > 20);
    }

    // Plans that users set by hand: n layers on the CPU, all experts in one format.
    void forecast_isNeverSlowerThanOfOneFormatOrOfWholeLayers() {
        std::mt19937_64 random(22);
        double best_gain = 1;
        for (int round = 0; round < 40; ++round) {
            const ModelDemand d =
                model(2 + static_cast<std::int64_t>(random() % 8), 4 + static_cast<std::int64_t>(random() % 28),
                      1 + static_cast<std::int64_t>(random() % 4), 512, 1024);
            const Popularity p = popularity(d, random(), static_cast<double>(random() % 5));
            const CostModel cost =
                costs(d, 2 + static_cast<double>(random() % 40), 100 + static_cast<double>(random() % 900),
                      10 + static_cast<double>(random() % 60));
            const Sensitivity s = sensitivity(d, 0.3);
            const std::uint64_t all = d.expert_bytes * static_cast<std::uint64_t>(d.n_layers * d.n_experts);
            Budget budget;
            budget.context = 2048;
            budget.vram_bytes = d.dense_bytes + d.kv_bytes(2048) + 26 * kMiB + random() % all;
            budget.ram_bytes = d.host_fixed_bytes + all / 8 + random() % all;
            if (round % 2 == 0)
                budget.quality.min_mean_bits = 2.56 + static_cast<double>(random() % 1000) / 200;
            else
                budget.quality.max_loss = std::pow(10.0, -1.0 - static_cast<double>(random() % 300) / 100);
            const Plan chosen = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
            const double chosen_us = decodeUs(chosen, d, p, cost);
            double other_us = 1e300;
            for (std::size_t f = 0; f < std::size(kFormats); ++f) {
                if (d.formats[f].bits_per_weight < budget.quality.min_mean_bits) continue;
                for (const PlacementKind kind : {PlacementKind::kPopular, PlacementKind::kLayers}) {
                    Budget one = budget;
                    one.quality = {};
                    one.uniform = kFormats[f];
                    try {
                        const Plan plan = make_plan(d, one, p, kind, {&cost, &s});
                        if (budget.quality.max_loss > 0 && plan.predicted_loss > budget.quality.max_loss) continue;
                        other_us = std::min(other_us, decodeUs(plan, d, p, cost));
                    } catch (const Error& error) {
                        QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
                    }
                }
            }
            QVERIFY2(chosen_us <= other_us * (1 + 1e-9), qPrintable(QString("%1 %2").arg(chosen_us).arg(other_us)));
            best_gain = std::max(best_gain, other_us / chosen_us);
        }
        qInfo("up to %.2f times as fast as one format for all", best_gain);
        QVERIFY(best_gain > 1.02);
    }

    void forecast_withMoreVram_neverSlowsDown() {
        std::mt19937_64 random(23);
        for (int round = 0; round < 8; ++round) {
            const ModelDemand d =
                model(2 + static_cast<std::int64_t>(random() % 4), 4 + static_cast<std::int64_t>(random() % 12),
                      1 + static_cast<std::int64_t>(random() % 3), 512, 1024);
            const Popularity p = popularity(d, random(), static_cast<double>(random() % 5));
            const CostModel cost = costs(d);
            const Sensitivity s = sensitivity(d, 0.3);
            const std::uint64_t all = d.expert_bytes * static_cast<std::uint64_t>(d.n_layers * d.n_experts);
            Budget budget;
            budget.context = 2048;
            budget.ram_bytes = d.host_fixed_bytes + all / 8 + random() % all;
            if (round % 2 == 0)
                budget.quality.min_mean_bits = 3.5;
            else
                budget.quality.max_loss = 0.02;
            std::vector<std::uint64_t> sizes;
            for (int i = 0; i < 25; ++i) {
                sizes.push_back(d.dense_bytes + d.kv_bytes(2048) + 18 * kMiB + random() % (all + 10 * kMiB));
                sizes.push_back(sizes.back() + random() % (2 * d.expert_bytes));
            }
            std::sort(sizes.begin(), sizes.end());
            double last = 1e300;
            for (const std::uint64_t size : sizes) {
                budget.vram_bytes = size;
                const double us = decodeUs(make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s}), d, p, cost);
                QVERIFY2(us <= last * (1 + 1e-9), qPrintable(QString("%1 after %2").arg(us).arg(last)));
                last = us;
            }
        }
    }

    // CORM, section 4.1.
    void rarelyUsedExperts_getFewerBits() {
        const ModelDemand d = mixtral();
        const Popularity p = popularity(d, 5, 3);
        const CostModel cost = costs(d);
        const Sensitivity s = sensitivity(d);
        for (const bool by_bits : {true, false}) {
            Budget budget{12 * kGiB, 64 * kGiB, 4096};
            (by_bits ? budget.quality.min_mean_bits : budget.quality.max_loss) = by_bits ? 3.8 : 0.012;
            const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
            std::vector<std::pair<double, double>> use_bits;
            for (std::size_t i = 0; i < 256; ++i) {
                for (const ModelDemand::Format& f : d.formats) {
                    if (f.format == plan.formats[i])
                        use_bits.push_back({p.share(static_cast<std::int64_t>(i) / 8, static_cast<std::int64_t>(i) % 8),
                                            f.bits_per_weight});
                }
            }
            std::sort(use_bits.begin(), use_bits.end());
            double rare = 0, popular = 0;
            for (std::size_t i = 0; i < 64; ++i) {
                rare += use_bits[i].second / 64;
                popular += use_bits[255 - i].second / 64;
            }
            qInfo("%.2f bits: the least used quarter %.2f, the most used %.2f", plan.mean_bits, rare, popular);
            QVERIFY(rare < popular);
        }
    }

    void floorOfBits_costsNoMoreQualityThanThePlainMixture() {
        const ModelDemand d = mixtral();
        const Popularity p = popularity(d, 6, 3);
        const CostModel cost = costs(d);
        const Sensitivity s = sensitivity(d);
        Budget budget{12 * kGiB, 64 * kGiB, 4096};
        budget.quality.min_mean_bits = d.formats[2].bits_per_weight;  // HQQ4
        const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
        QVERIFY(plan.predicted_loss <= 0.09 * 0.09 * (1 + 1e-8));
    }

    void modelLargerThanRam_getsBitsThatFit_beforeItReadsFromDisk() {
        const ModelDemand d = mixtral();
        const Popularity p = popularity(d, 7, 2);
        const Sensitivity s = sensitivity(d);
        for (const bool known : {true, false}) {
            CostTable t = costs(d).table();
            if (!known) t.disk.us = 0;
            CostModel cost(t);
            for (const ModelDemand::Format& f : d.formats) cost.set_expert_bytes(f.format, f.expert_bytes);
            Budget budget{12 * kGiB, 28 * kGiB, 4096};
            budget.quality.max_loss = 0.2;
            const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
            QCOMPARE(std::count(plan.places.begin(), plan.places.end(), Place::kDisk), 0);
        }
    }

    void plan_onTheCpu_choosesFormatsThatFitAndAreFaster() {
        ModelDemand d = mixtral();
        d.shares_host_memory = true;
        const Popularity p = popularity(d, 8, 2);
        const Sensitivity s = sensitivity(d);
        CostTable t = costs(d).table();
        t.gpu_expert.clear();
        t.weight_copy_us = 0;
        CostModel cost(t);
        for (const ModelDemand::Format& f : d.formats) cost.set_expert_bytes(f.format, f.expert_bytes);
        Budget budget{0, 48 * kGiB, 4096};
        const Plan master = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
        budget.quality.max_loss = 0.01;
        const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
        QVERIFY(plan.ram_bytes <= budget.ram_bytes);
        QCOMPARE(plan.n_resident(), 0);
        QVERIFY(decodeUs(plan, d, p, cost) < 0.5 * decodeUs(master, d, p, cost));
    }

    void search_isDeterministic_andQuick_data() {
        QTest::addColumn<int>("layers");
        QTest::addColumn<int>("experts");
        QTest::addColumn<int>("active");
        QTest::newRow("32 x 8") << 32 << 8 << 2;
        QTest::newRow("60 x 256") << 60 << 256 << 8;
    }
    void search_isDeterministic_andQuick() {
        QFETCH(int, layers);
        QFETCH(int, experts);
        QFETCH(int, active);
        const ModelDemand d = model(layers, experts, active, 4096, 14336 / (experts / 8));
        const Popularity p = popularity(d, 9, 3);
        const CostModel cost = costs(d);
        const Sensitivity s = sensitivity(d, 0.3);
        for (const bool by_bits : {true, false}) {
            Budget budget{24 * kGiB, 40 * kGiB, 4096};
            (by_bits ? budget.quality.min_mean_bits : budget.quality.max_loss) = by_bits ? 3.8 : 0.012;
            QElapsedTimer timer;
            timer.start();
            const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
            qInfo("%.1f ms: %.2f bits, %lld on the device, %.0f us per layer",
                  static_cast<double>(timer.nsecsElapsed()) / 1e6, plan.mean_bits,
                  static_cast<long long>(plan.n_resident()), decodeUs(plan, d, p, cost));
            const Plan again = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
            QVERIFY(plan.places == again.places && plan.formats == again.formats);
        }
    }

    // Two settings reduce the same loss: the search takes the cheaper one, or both if
    // both fit. Its choice equals the same settings made by hand.
    void trade_flips_whenOneOfTheTwoBecomesCheaper() {
        const ModelDemand d = model(8, 8, 2, 1024, 2048);
        const Popularity p = popularity(d, 5, 2);
        const CostModel cost = costs(d);
        const Sensitivity s = sensitivity(d, 0.5);
        Budget budget{d.dense_bytes + d.kv_bytes(2048) + 120 * kMiB, 0, 2048};
        budget.quality.max_kl = 0.01;
        const auto plan_with = [&](const NeuronThresholds& measured) {
            return make_plan(d, budget, p, PlacementKind::kPopular,
                             {&cost, &s, PolicyKind::kBalanced, &measured, SparseLoading::kAuto});
        };
        const NeuronThresholds neurons = HandMade{1, 0.005}.measured(d), bits = HandMade{0.005, 1}.measured(d),
                               both = HandMade{0.004, 0.005}.measured(d), dear = HandMade{1, 1}.measured(d);
        const Plan of_neurons = plan_with(neurons), of_bits = plan_with(bits), of_both = plan_with(both);
        QVERIFY(of_neurons.theta == ThetaChoice::for_loss(0.02));
        QVERIFY(of_neurons.format_kl <= 0.005);
        QVERIFY(!allIn(of_neurons, WeightType::kHqq4));
        QVERIFY(of_bits.theta == ThetaChoice());
        QVERIFY(allIn(of_bits, WeightType::kHqq4));
        QCOMPARE(of_bits.neuron_kl, 0.0);
        QVERIFY(std::abs(of_bits.format_kl - 0.005) < 1e-9);
        QVERIFY(of_both.theta == ThetaChoice::for_loss(0.02) && allIn(of_both, WeightType::kHqq4));
        QVERIFY(std::abs(of_both.format_kl + of_both.neuron_kl - 0.009) < 1e-9);
        const std::string said = of_both.note.english();
        QVERIFY2(said.find("0.004 for the formats and 0.005 for the neurons, 0.009 in sum") != std::string::npos &&
                     said.find("an estimate") != std::string::npos,
                 said.c_str());
        // The affordable part of expensive bits goes to the least used experts; expensive
        // neurons are left out whole or not at all.
        const Plan of_dear = plan_with(dear);
        QVERIFY(of_dear.theta == ThetaChoice() && of_dear.format_kl <= 0.01);

        // By hand: all experts in this format, with this left out.
        CostModel with_theta = cost;
        leave_out(with_theta, ThetaChoice::for_loss(0.02), both, SparseLoading::kAuto);
        Budget hand = budget;
        hand.quality = {};
        hand.uniform = WeightType::kHqq4;
        const Plan by_hand = make_plan(d, hand, p, PlacementKind::kPopular, {&with_theta, &s});
        QVERIFY(of_both.formats == by_hand.formats && of_both.places == by_hand.places);
        QCOMPARE(of_both.predicted_loss, by_hand.predicted_loss);
        QVERIFY(decodeUs(of_both, d, p, with_theta) <= decodeUs(of_bits, d, p, cost));
    }

    // On the CPU alone: measurements with a theta decide, not the bytes that it leaves
    // unread.
    void trade_leavesNeuronsOut_onlyWhereThatWasMeasuredToGain_data() {
        QTest::addColumn<double>("factor");  // of an expert's time, with half of the neurons
        QTest::addColumn<bool>("left_out");
        QTest::newRow("costs") << 1.14 << false;
        QTest::newRow("no gain") << 1.0 << false;
        QTest::newRow("a gain like noise") << 0.97 << false;
        QTest::newRow("a gain") << 0.9 << true;
        QTest::newRow("not measured") << 0.0 << false;
    }
    void trade_leavesNeuronsOut_onlyWhereThatWasMeasuredToGain() {
        QFETCH(double, factor);
        QFETCH(bool, left_out);
        ModelDemand d = model(4, 8, 2, 512, 1024);
        d.shares_host_memory = true;
        const Popularity p = popularity(d, 1, 0);
        const Sensitivity s = sensitivity(d);
        CostTable t = costs(d).table();
        t.gpu_expert.clear();
        t.sparse_cpu.clear();
        if (factor > 0) t.sparse_cpu = {{0.5, factor}};
        const CostModel cost(t);
        Budget budget{0, d.dense_bytes + d.kv_bytes(2048) + 600 * kMiB, 2048};
        budget.quality.max_kl = 0.01;
        const NeuronThresholds measured = HandMade{1, 0.005, 0.5}.measured(d);
        const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular,
                                    {&cost, &s, PolicyKind::kBalanced, &measured, SparseLoading::kOff});
        QCOMPARE(plan.theta->leaves_out(), left_out);
        QCOMPARE(plan.neuron_kl, left_out ? 0.005 : 0.0);
    }

    void trade_neverPassesTheFloor_andTakesOnlyWhatWasMeasured() {
        std::mt19937_64 random(8);
        int left_out = 0, fewer_bits = 0;
        for (int round = 0; round < 40; ++round) {
            const ModelDemand d = model(2 + static_cast<std::int64_t>(random() % 4), 8, 2, 512, 1024);
            const Popularity p = popularity(d, random(), static_cast<double>(random() % 4));
            const CostModel cost = costs(d);
            const Sensitivity s = sensitivity(d, 0.5);
            const auto loss = [&] { return std::pow(10.0, -1.0 - static_cast<double>(random() % 400) / 100); };
            NeuronThresholds measured =
                HandMade{loss(), loss(), 0.2 + 0.1 * static_cast<double>(random() % 6), kFormats[1 + random() % 4]}
                    .measured(d);
            // Further formats, each once.
            for (const WeightType format : {kFormats[1 + random() % 4], kFormats[1 + random() % 4]}) {
                if (std::none_of(measured.formats.begin(), measured.formats.end(),
                                 [&](const FormatLoss& known) { return known.format == format; }))
                    measured.formats.push_back({format, loss(), "t", 100});
            }
            if (random() % 2 == 0) measured.rows = {{0.1, 0.8, 1, loss(), 1}, {0.2, 0.6, 1, loss(), 1}};
            if (random() % 4 == 0) measured.chosen.clear();
            Budget budget{d.dense_bytes + d.kv_bytes(2048) + 26 * kMiB, 0, 2048};
            double before_us = 1e300;
            for (const double floor : {1e-5, 1e-3, 0.01, 0.3}) {
                budget.quality.max_kl = floor;
                const Plan plan = make_plan(d, budget, p, PlacementKind::kPopular,
                                            {&cost, &s, PolicyKind::kBalanced, &measured, SparseLoading::kAuto});
                QVERIFY(plan.theta.has_value() && !plan.theta->accepts_guesses());
                // By the definitions: the measured loss of the neurons, and each expert's
                // part of its format's loss.
                const ThresholdLoss neurons = expected_loss(measured, *plan.theta);
                QVERIFY(neurons.known);
                QCOMPARE(plan.neuron_kl, neurons.mean_kl);
                double formats_kl = 0;
                for (const FormatLoss& known : measured.formats) {
                    Sensitivity of_it = s;
                    std::erase_if(of_it.formats, [&](const auto& f) { return f.format != known.format; });
                    Plan all = plan;
                    std::fill(all.formats.begin(), all.formats.end(), known.format);
                    formats_kl += known.mean_kl * lossOf(plan, of_it, p) / lossOf(all, of_it, p);
                }
                QVERIFY(std::abs(plan.format_kl - formats_kl) <= 1e-9 * formats_kl + 1e-15);
                QVERIFY(formats_kl + neurons.mean_kl <= floor);
                for (const WeightType format : plan.formats) {
                    QVERIFY(format == kFormats[0] ||
                            std::any_of(measured.formats.begin(), measured.formats.end(),
                                        [&](const FormatLoss& known) { return known.format == format; }));
                }
                CostModel with_theta = cost;
                leave_out(with_theta, *plan.theta, measured, SparseLoading::kAuto);
                const double us = decodeUs(plan, d, p, with_theta);
                // A looser floor is never slower, except for a gain that is too small to
                // leave neurons out for.
                QVERIFY(us <= before_us * 1.1 * (1 + 1e-9));
                before_us = us;
                left_out += plan.theta->leaves_out();
                fewer_bits += !allIn(plan, kFormats[0]);
            }
        }
        QVERIFY2(left_out > 20 && fewer_bits > 20, qPrintable(QStringLiteral("%1 %2").arg(left_out).arg(fewer_bits)));
    }

    void trade_ofNothingMeasured_leavesAllAsItIs_andOfAChosenTheta_keepsIt() {
        const ModelDemand d = model(4, 8, 2, 512, 1024);
        const CostModel cost = costs(d);
        const Sensitivity s = sensitivity(d);
        Budget budget{d.dense_bytes + d.kv_bytes(2048) + 60 * kMiB, 0, 2048};
        budget.quality.max_kl = 0.01;
        const Popularity p = popularity(d, 1, 0);
        const Plan none = make_plan(d, budget, p, PlacementKind::kPopular, {&cost, &s});
        QVERIFY(allIn(none, WeightType::kBf16) && none.theta == ThetaChoice());
        QVERIFY(QString::fromStdString(none.note.english()).contains(QLatin1String("quantize-report --keep")));
        QVERIFY(QString::fromStdString(none.note.english()).contains(QLatin1String("sensitivity --keep")));
        // A theta that the user has chosen stays, and the formats get the rest.
        NeuronThresholds measured = HandMade{0.004, 0.005}.measured(d);
        measured.rows = {{0.1, 0.9, 1, 0.008, 1}};
        Costs by{&cost, &s, PolicyKind::kBalanced, &measured, SparseLoading::kAuto, ThetaChoice(0.1)};
        const Plan kept = make_plan(d, budget, p, PlacementKind::kPopular, by);
        QVERIFY(kept.theta == ThetaChoice(0.1) && !allIn(kept, WeightType::kHqq4));
        QCOMPARE(kept.neuron_kl, 0.008);
        QVERIFY(kept.format_kl > 0 && kept.format_kl <= 0.002);
        const auto refusal = [&](const ThetaChoice& theta) {
            by.theta = theta;
            return QString::fromStdString(failure(d, budget, by));
        };
        QVERIFY(refusal(0.2).contains(QLatin1String("was not measured")));
        QVERIFY(refusal({0.1, 0, NeuronGuesses::kAccept}).contains(QLatin1String("was not measured")));
        budget.quality.max_kl = 0.006;
        QVERIFY2(refusal(0.1).contains(QLatin1String("cost 0.008 nats per token, more than the floor of 0.006")),
                 qPrintable(refusal(0.1)));
    }
};

QTEST_GUILESS_MAIN(TestFormatSearch)
#include "tst_format_search.moc"
