// A model's experts on a separate machine, without attention, KV cache and tokenizer: the
// policy gives that machine its share of a whole model's steps, and no bit changes.

#include <algorithm>
#include <numeric>

#include <QtTest>

#include "engine/run/loaded_model.h"
#include "engine/run/moe_layer.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Takes every other expert and computes with it at once: on its host's device if that has
// the expert, otherwise on its CPU. Like another machine, it gets rows and returns rows.
class Neighbour final : public ElsewhereExecutor {
  public:
    struct Counts {
        int on_device = 0, on_host = 0, from_disk = 0;  // rows
        int strange = 0;                                // experts that it does not have
    };
    // Has room for steps of up to max_step tokens. The referents must outlive this
    // object.
    Neighbour(ExpertHost& host, double us, std::int64_t max_step, Counts& counts)
        : host_(host), us_(us), counts_(counts) {
        const ExpertGrid& grid = host.spec().experts;
        const auto n_rows = static_cast<std::size_t>(max_step * grid.n_active);
        width_ = static_cast<std::size_t>(grid.hidden_dim);
        const auto use = MemoryUse::kWorkspace;
        inputs_ = Mirror<float>(host.device(), n_rows * width_, use, "the neighbour's inputs");
        outputs_ = Mirror<float>(host.device(), n_rows * width_, use, "the neighbour's outputs");
        identity_ = Mirror<std::int32_t>(host.device(), n_rows, use, "the neighbour's rows");
        std::iota(identity_.host(), identity_.host() + n_rows, 0);
        identity_.upload(0, n_rows);
    }

    bool takes(std::int64_t layer, std::int64_t expert) const override { return (layer + expert) % 2 == 0; }
    double expert_us(offstage::kernels::WeightType, std::int64_t) const override { return us_; }
    double transfer_us(std::int64_t) const override { return us_; }

    void submit(LayerWork& work, std::span<const std::size_t> groups) override {
        if (groups.empty()) return;
        ExpertStore& experts = host_.experts();
        std::vector<ExpertCall> on_device, on_host;
        std::int64_t n_rows = 0;
        for (const std::size_t g : groups) {
            const RowGroup& group = work.rows.groups()[g];
            const std::size_t i = experts.index(work.layer, group.expert);
            const auto n = static_cast<int>(group.n_rows);
            counts_.strange += takes(work.layer, group.expert) ? 0 : 1;
            if (experts.on_device(i)) {
                on_device.push_back({experts.device_view(work.layer, group.expert), n_rows, group.n_rows});
                counts_.on_device += n;
            } else {
                counts_.from_disk += experts.in_ram(i) ? 0 : n;
                on_host.push_back({experts.on_host(work.layer, group.expert), n_rows, group.n_rows});
                counts_.on_host += n;
            }
            for (std::int64_t r = 0; r < group.n_rows; ++r) {
                const std::int32_t token = work.rows.host_row_token()[group.first_row + r];
                std::copy_n(row(work.inputs.get(), token), width_, row(inputs_.host(), n_rows++));
            }
        }
        Backend& device = host_.device();
        if (!on_device.empty()) {
            const std::size_t n = static_cast<std::size_t>(n_rows) * width_;
            inputs_.upload(0, n);
            device.submit(ops::Experts{on_device, inputs_.device(), identity_.device(), outputs_.device()});
            outputs_.download(0, n);
            device.host_wait(device.record(DeviceEvent::Queue::kCompute));
        }
        host_.host().run(ops::Experts{on_host, inputs_.host(), identity_.host(), outputs_.host()});
        n_rows = 0;
        for (const std::size_t g : groups) {
            const RowGroup& group = work.rows.groups()[g];
            std::copy_n(row(outputs_.host(), n_rows), static_cast<std::size_t>(group.n_rows) * width_,
                        row(work.rows.outputs().host(), group.first_row));
            n_rows += group.n_rows;
        }
    }
    void complete(LayerWork& work, std::span<const std::size_t> groups) override { work.rows.upload(groups); }

  private:
    template <typename T>
    T* row(T* rows, std::int64_t i) const {
        return rows + static_cast<std::size_t>(i) * width_;
    }

    ExpertHost& host_;
    double us_;
    Counts& counts_;
    std::size_t width_ = 0;
    Mirror<float> inputs_, outputs_;  // (n_rows, hidden_dim)
    Mirror<std::int32_t> identity_;   // (n_rows): 0, 1, 2 ...
};

constexpr std::int64_t kPrompt = 2 * kSmallestStep;  // tokens

// Logits of a prompt and 11 greedy tokens, none where a step fails. Sums of the
// neighbour's experts are formed in the order of the model's step.
std::vector<float> logitsBeside(LoadedModel& model, ExpertHost* neighbour = nullptr) {
    KvSequence sequence = model.new_sequence();
    std::vector<TokenId> tokens;
    for (int i = 0; i < kPrompt; ++i) tokens.push_back(5 + i * 37 % 900);
    std::vector<float> all;
    for (int i = 0; i < 12; ++i) {
        const SumOrder order = i == 0 ? SumOrder::kMany : SumOrder::kByNumber;
        if (neighbour != nullptr) neighbour->device().set_sum_order(order);
        if (neighbour != nullptr) neighbour->host().set_sum_order(order);
        const Segment segment{&sequence, tokens};
        if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
        const auto logits = model.forward().logits();
        all.insert(all.end(), logits.begin(), logits.end());
        tokens = {static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
    }
    return all;
}

LoadRequest requestOn(const std::string& device, std::uint64_t vram_bytes, const QTemporaryDir& cache) {
    LoadRequest request;
    request.model = demoModel();
    request.device = device;
    request.vram_bytes = vram_bytes;
    request.compute = ComputeMode::kF32;
    request.cache_directory = cache.path().toStdString();
    request.checks_costs = false;
    request.context = 256;
    request.cache = CacheKind::kStatic;
    request.prefetch = PrefetchMode::kOff;
    return request;
}

// The experts in turn at each of these places, two by two.
Plan dealt(const ExpertGrid& grid, const std::vector<Place>& places) {
    Plan plan;
    for (std::int64_t i = 0; i < grid.n_layers * grid.n_experts; ++i)
        plan.places.push_back(places[static_cast<std::size_t>(i / 2) % places.size()]);
    plan.duplicates = false;
    plan.host_staging_slots = grid.n_experts;
    return plan;
}

std::uint64_t usedFor(const Arena& arena, MemoryUse use) {
    return arena.usage().by_use[static_cast<std::size_t>(use)];
}

}  // namespace

class TestExpertHost : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void neighbour_takesItsShare_andNoBitChanges_data() {
        QTest::addColumn<QString>("device");  // the neighbour's
        QTest::addColumn<QString>("policy");
        QTest::addColumn<double>("us");
        QTest::addColumn<bool>("used");
        for (const char* device : {"cpu", "emulated:rtx-3060"}) {
            const auto row = [&](const char* name, const char* policy, double us, bool used) {
                QTest::addRow("%s, %s", device, name)
                    << QString::fromLatin1(device) << QString::fromLatin1(policy) << us << used;
            };
            row("balanced, fast", "balanced", 0.001, true);
            row("threshold, fast", "threshold", 0.001, true);
            row("balanced, slow", "balanced", 1e9, false);
            row("static", "static", 0.001, false);
        }
    }
    void neighbour_takesItsShare_andNoBitChanges() {
        QFETCH(QString, device);
        QFETCH(QString, policy);
        QFETCH(double, us);
        QFETCH(bool, used);
        const QTemporaryDir cache;
        LoadRequest request = requestOn("emulated:rtx-3060", 12 << 20, cache);
        request.dispatch = parse_dispatch(policy.toStdString());
        const auto open = [&] {
            return std::make_unique<LoadedModel>(keepCosts(request), LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                                 std::stop_token{});
        };
        const auto alone = open();
        const std::vector<float> expected = logitsBeside(*alone);
        QVERIFY(!expected.empty());

        const bool cpu = device == QStringLiteral("cpu");
        ExpertHost host(requestOn(device.toStdString(), 0, cache));
        host.fill(dealt(host.spec().experts, cpu ? std::vector{Place::kRam, Place::kDisk}
                                                 : std::vector{Place::kDevice, Place::kRam, Place::kDisk}));
        for (const Arena* arena : {&host.ram(), &host.device().memory()}) {
            QCOMPARE(usedFor(*arena, MemoryUse::kDense), std::uint64_t{0});
            QCOMPARE(usedFor(*arena, MemoryUse::kKvCache), std::uint64_t{0});
        }

        const auto model = open();
        Neighbour::Counts counts;
        model->forward().moe().add_executor(std::make_unique<Neighbour>(host, us, kPrompt, counts));
        QVERIFY(logitsBeside(*model, &host) == expected);
        QCOMPARE(counts.strange, 0);
        QCOMPARE(counts.on_device > 0, used && !cpu);
        QCOMPARE(counts.on_host > counts.from_disk, used);
        QCOMPARE(counts.from_disk > 0, used);

        const DispatchTotals& totals = model->dispatcher().totals();
        const std::uint64_t here = totals.resident_calls + totals.copied_calls + totals.cpu_calls;
        QCOMPARE(here < totals.expert_calls, used);
    }
};

QTEST_GUILESS_MAIN(TestExpertHost)
#include "tst_expert_host.moc"
