// Experts that are copied without the neurons that a theta leaves out: their results
// equal the whole experts', bit by bit, and the saved bytes on the bus are counted.

#include <QTemporaryDir>
#include <QTemporaryFile>
#include <QtTest>

#include "engine/device/cpu_operations.h"
#include "engine/device/open_device.h"
#include "engine/eval/theta_scorer.h"
#include "engine/experts/neuron_cache.h"
#include "engine/experts/sparse_copies.h"
#include "engine/quant/quantizer.h"
#include "engine/run/loaded_model.h"
#include "engine/run/moe_layer.h"
#include "kernels/byte_experts.h"
#include "kernels/packed.h"
#include "tests/engine/errors.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;
namespace tests = offstage::tests;

namespace {

using Rows = std::vector<std::vector<float>>;

std::unique_ptr<LoadedModel> open(const LoadRequest& request) {
    return std::make_unique<LoadedModel>(keepCosts(request), LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                         std::stop_token{});
}

// Logits after each token, one by one.
Rows oneByOne(LoadedModel& model, std::span<const TokenId> tokens) {
    KvSequence sequence = model.new_sequence();
    Rows rows;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Segment segment{&sequence, tokens.subspan(i, 1)};
        if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
        rows.emplace_back(model.forward().logits().begin(), model.forward().logits().end());
    }
    return rows;
}

}  // namespace

class TestSparseCopies : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // Computes with a block of some neurons and with the whole block and compares:
    // kernels for floats and for rounded inputs, one row and several, with biases and
    // without.
    void someNeurons_giveTheWholeExpertsBits_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<bool>("bytes");
        QTest::addColumn<bool>("biases");
        using kernels::WeightType;
        for (const WeightType type : {WeightType::kF32, WeightType::kBf16, WeightType::kInt8, WeightType::kHqq4}) {
            for (const bool bytes : {false, true}) {
                if (bytes && !kernels::is_packed(type)) continue;
                for (const bool biases : {false, true}) {
                    QTest::addRow("%s%s%s", kernels::name_of(type), bytes ? ", rounded inputs" : "",
                                  biases ? ", biases" : "")
                        << static_cast<int>(type) << bytes << biases;
                }
            }
        }
    }
    void someNeurons_giveTheWholeExpertsBits() {
        QFETCH(int, type);
        QFETCH(bool, bytes);
        QFETCH(bool, biases);
        constexpr std::int64_t kHidden = 256, kFfn = 1000;
        kernels::ExpertSpec spec;
        spec.biases = biases;
        spec.activation = biases ? kernels::Activation::kClamped : kernels::Activation::kSilu;
        kernels::ExpertLayout layout =
            kernels::expert_layout(static_cast<kernels::WeightType>(type), kHidden, kFfn, spec);
        kernels::ThreadPool pool(2);
        kernels::ProductForm form;
        form.byte_inputs = bytes;
        CpuOperations operations(pool, form);
        std::mt19937 random(3);
        std::normal_distribution<float> normal;
        std::vector<float> rows(3 * kFfn * kHidden);
        for (float& weight : rows) weight = 0.1f * normal(random);
        if (!biases) std::fill(rows.end() - 3 * 200 * kHidden, rows.end(), 0.0f);  // whole pieces without any neuron
        std::vector<std::byte> block(layout.bytes());
        packRows(layout, rows, block.data(), pool);
        if (biases) {
            auto* const first = reinterpret_cast<float*>(block.data() + layout.bias_offset());
            for (std::int64_t i = 0; i < 2 * kFfn + kHidden; ++i) first[i] = 0.2f * normal(random);
        }
        layout.spec.theta = 0.5f;
        const kernels::ExpertView whole{block.data(), layout};
        for (const int n_rows : {1, 2, 8}) {
            std::vector<float> inputs(static_cast<std::size_t>(n_rows * kHidden));
            for (float& input : inputs) input = normal(random);
            std::vector<std::int32_t> tokens(static_cast<std::size_t>(n_rows));
            for (int r = 0; r < n_rows; ++r) tokens[static_cast<std::size_t>(r)] = n_rows - 1 - r;
            ExpertCall call{whole, 0, n_rows};
            QVERIFY(operations.chooses_neurons(layout, n_rows));
            const kernels::NeuronCounts before = operations.neurons();
            std::vector<float> expected(inputs.size(), -1.0f), got(inputs.size(), -2.0f);
            operations.run(ops::Experts{{&call, 1}, inputs.data(), tokens.data(), expected.data()});
            const kernels::NeuronCounts counted = operations.neurons();

            std::vector<std::int32_t> chosen;
            kernels::NeuronCounts counts;
            operations.choose_neurons(call, inputs.data(), tokens.data(), chosen, counts);
            QCOMPARE(counts.neurons, counted.neurons - before.neurons);
            QCOMPARE(counts.active, counted.active - before.active);
            if (n_rows == 1) QCOMPARE(counts.active, std::uint64_t{chosen.size()});
            QVERIFY2(chosen.size() < std::size_t{kFfn} && chosen.size() > 20,
                     qPrintable(QString::number(chosen.size())));
            QVERIFY(std::is_sorted(chosen.begin(), chosen.end()));
            if (chosen.front() != 0) chosen.insert(chosen.begin(), 0);  // where w2's biases are added

            const kernels::ExpertLayout smaller = layout_of(layout, static_cast<std::int64_t>(chosen.size()));
            std::vector<std::byte> some(smaller.bytes());
            gather_neurons(whole, chosen, some.data(), pool);
            call.weights = {some.data(), smaller};
            call.neurons = chosen;
            call.whole_ffn_dim = kFfn;
            operations.run(ops::Experts{{&call, 1}, inputs.data(), tokens.data(), got.data()});
            QCOMPARE(got, expected);
            QCOMPARE(operations.neurons().neurons, counted.neurons);  // counted when they were chosen

            // Some came first, the others after them.
            if (biases) continue;
            std::vector<std::int32_t> lying, order(chosen.size());
            for (const std::size_t first : {std::size_t{1}, std::size_t{0}, std::size_t{2}}) {
                for (std::size_t i = first; i < chosen.size(); i += 3) {
                    order[i] = static_cast<std::int32_t>(lying.size());
                    lying.push_back(chosen[i]);
                }
            }
            gather_neurons(whole, lying, some.data(), pool);
            call.weights.order = order.data();
            std::fill(got.begin(), got.end(), -2.0f);
            operations.run(ops::Experts{{&call, 1}, inputs.data(), tokens.data(), got.data()});
            QCOMPARE(got, expected);
        }
        // Many rows go by matrices: nothing is chosen for them.
        QVERIFY(!operations.chooses_neurons(layout, CpuOperations::kFewTokens + 1));
        layout.spec.theta = 0;
        QVERIFY(!operations.chooses_neurons(layout, 1));
    }

    // Every expert comes over the bus.
    void answers_areThoseOfTheCpu_data() {
        QTest::addColumn<QString>("quant");
        QTest::addColumn<int>("compute");
        QTest::newRow("as in the file") << QString() << static_cast<int>(ComputeMode::kF32);
        QTest::newRow("int8 in bytes") << QStringLiteral("experts=int8") << static_cast<int>(ComputeMode::kInt8);
        QTest::newRow("hqq4 in bytes") << QStringLiteral("experts=hqq4") << static_cast<int>(ComputeMode::kInt8);
    }
    void answers_areThoseOfTheCpu() {
        QFETCH(QString, quant);
        QFETCH(int, compute);
        LoadRequest request = onThisMachine();
        request.compute = static_cast<ComputeMode>(compute);
        if (!quant.isEmpty()) request.quant = parse_quant(quant.toStdString());
        request.theta = 0.25;
        const std::vector<TokenId> tokens = text(16);
        const auto cpu = open(request);
        const Rows expected = oneByOne(*cpu, tokens);
        const DispatchTotals on_cpu = cpu->dispatcher().recorder().all_totals();

        const auto emulated = open(onBus(request));
        QCOMPARE(emulated->plan().n_resident(), std::int64_t{0});
        QCOMPARE(oneByOne(*emulated, tokens), expected);
        const DispatchTotals totals = emulated->dispatcher().recorder().all_totals();
        QCOMPARE(totals.copied_calls, totals.expert_calls);
        // For some tokens more neurons are active than gathering pays for.
        QVERIFY2(totals.sparse_copies > totals.copied_calls / 2, qPrintable(QString::number(totals.sparse_copies)));
        const std::uint64_t expert_bytes = emulated->experts().expert_bytes(emulated->experts().format(0));
        QCOMPARE(totals.bytes_copied + totals.copy_bytes_saved, totals.copied_calls * expert_bytes);
        QCOMPARE(totals.device_read_bytes + totals.copy_bytes_saved, totals.copied_calls * expert_bytes);
        QVERIFY(totals.copy_bytes_saved > totals.sparse_copies * expert_bytes / 5);
        QCOMPARE(totals.neurons, on_cpu.neurons);
        QCOMPARE(totals.active_neurons, on_cpu.active_neurons);
        // The dispatcher uses the counts.
        const double share = static_cast<double>(totals.active_neurons) / static_cast<double>(totals.neurons);
        QVERIFY(emulated->cost().active_share(-1, 1) != kUnknownActiveShare);
        QVERIFY(std::abs(emulated->cost().active_share(-1, 1) - share) < 0.1);

        // Without a theta, or if switched off, experts are copied whole.
        emulated->forward().moe().set_theta(0);
        cpu->forward().moe().set_theta(0);
        QCOMPARE(oneByOne(*emulated, tokens), oneByOne(*cpu, tokens));
        emulated->forward().moe().set_theta(0.25);
        emulated->forward().moe().set_sparse_loading(SparseLoading::kOff);
        QCOMPARE(oneByOne(*emulated, tokens), expected);
        const DispatchTotals after = emulated->dispatcher().recorder().all_totals();
        QCOMPARE(after.sparse_copies, totals.sparse_copies);
        QCOMPARE(after.copy_bytes_saved, totals.copy_bytes_saved);
        QCOMPARE(after.bytes_copied - totals.bytes_copied, (after.copied_calls - totals.copied_calls) * expert_bytes);
    }

    // The neurons guessed in the layer before are there, and the others follow.
    void guessedNeurons_areCompleted_data() {
        QTest::addColumn<QString>("quant");
        QTest::addColumn<int>("compute");
        QTest::newRow("as in the file") << QString() << static_cast<int>(ComputeMode::kF32);
        QTest::newRow("int8 in bytes") << QStringLiteral("experts=int8") << static_cast<int>(ComputeMode::kInt8);
    }
    void guessedNeurons_areCompleted() {
        QFETCH(QString, quant);
        QFETCH(int, compute);
        LoadRequest request = onThisMachine();
        request.compute = static_cast<ComputeMode>(compute);
        if (!quant.isEmpty()) request.quant = parse_quant(quant.toStdString());
        request.theta = 0.25;
        const std::vector<TokenId> tokens = text(16);
        const Rows expected = oneByOne(*open(request), tokens);
        LoadRequest on_bus = onBus(request);
        on_bus.prefetch = PrefetchMode::kAlways;
        on_bus.vram_bytes += 2 * expert_bytes_;
        const auto emulated = open(on_bus);
        QCOMPARE(emulated->plan().n_resident(), std::int64_t{0});
        QCOMPARE(oneByOne(*emulated, tokens), expected);
        const DispatchTotals totals = emulated->dispatcher().recorder().all_totals();
        const std::string figures = "guessed " + std::to_string(totals.guessed_copies) + ", used " +
                                    std::to_string(totals.used_guesses) + ", sparse " +
                                    std::to_string(totals.sparse_copies) + " of " + std::to_string(totals.copied_calls);
        QVERIFY2(totals.guessed_copies > 100 && totals.used_guesses > 50, figures.c_str());
        QVERIFY2(totals.used_guesses <= totals.guessed_copies && totals.sparse_copies > totals.used_guesses / 2,
                 figures.c_str());
        // A theta that leaves hardly anything out has whole guesses.
        emulated->forward().moe().set_theta(1e-4);
        QVERIFY(!oneByOne(*emulated, tokens).empty());
        QCOMPARE(emulated->dispatcher().recorder().all_totals().sparse_copies, totals.sparse_copies);
    }

    // CORM's method: the guessed neurons are used. The results differ, unless every
    // neuron is guessed.
    void guessedNeurons_areAccepted_whereThatIsAsked() {
        LoadRequest request = onThisMachine();
        request.theta = 0.25;
        const std::vector<TokenId> tokens = text(16);
        const Rows expected = oneByOne(*open(request), tokens);
        LoadRequest on_bus = onBus(request);
        on_bus.prefetch = PrefetchMode::kAlways;
        on_bus.vram_bytes += 2 * expert_bytes_;
        const auto correcting = open(on_bus);
        QVERIFY(!correcting->summary().accepts_guesses);
        QCOMPARE(oneByOne(*correcting, tokens), expected);
        for (const bool cached : {false, true}) {
            on_bus.neuron_guesses = NeuronGuesses::kAccept;
            if (cached) {
                on_bus.neuron_cache_bytes = 30 * expert_bytes_;
                on_bus.vram_bytes += on_bus.neuron_cache_bytes;
            }
            const auto accepting = open(on_bus);
            QVERIFY(accepting->summary().accepts_guesses);
            const Rows got = oneByOne(*accepting, tokens);
            QCOMPARE(got.size(), expected.size());
            QVERIFY(got != expected);
            const DispatchTotals totals = accepting->dispatcher().recorder().all_totals();
            QVERIFY(totals.used_guesses > 0);
            // A wrong guess is no rubbish.
            double worst = 0;
            for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, relativeError(got[i], expected[i]));
            QVERIFY2(worst < 1.5, qPrintable(QString::number(worst)));
            if (!cached) {
                const std::uint64_t corrected = correcting->dispatcher().recorder().all_totals().bytes_copied;
                QVERIFY2(totals.bytes_copied < corrected,
                         qPrintable(QStringLiteral("%1 %2").arg(totals.bytes_copied).arg(corrected)));
            }
            // Without a theta there is nothing to guess.
            accepting->forward().moe().set_theta(0);
            correcting->forward().moe().set_theta(0);
            QCOMPARE(oneByOne(*accepting, tokens), oneByOne(*correcting, tokens));
            correcting->forward().moe().set_theta(0.25);
        }
        on_bus.theta = 0;
        QVERIFY(!open(on_bus)->summary().accepts_guesses);
    }

    // The loss of accepted guesses is measured beside that of the theta.
    void report_hasGuessesCorrectedAndAccepted() {
        LoadRequest request = onThisMachine();
        request.theta = 0.25;
        LoadRequest on_bus = onBus(request);
        on_bus.prefetch = PrefetchMode::kAlways;
        on_bus.vram_bytes += 2 * expert_bytes_;
        on_bus.theta = 0;
        on_bus.neuron_guesses = NeuronGuesses::kAccept;
        const auto model = open(on_bus);
        const ThetaReport report = measure_thetas(*model, text(40), {{32, 16}, {0.2}}, {}, {}, {});
        QCOMPARE(report.rows.size(), std::size_t{3});
        QVERIFY(!report.rows[1].accepts_guesses && report.rows[2].accepts_guesses);
        QCOMPARE(report.rows[2].theta, 0.2);
        QVERIFY(report.rows[1].mean_kl > 0 && report.rows[2].mean_kl > 0);
        QVERIFY(report.rows[1].mean_kl != report.rows[2].mean_kl);
        QVERIFY(report.rows[1].perplexity.value() != report.rows[2].perplexity.value());
        QCOMPARE(thresholds_of(report).rows.size(), std::size_t{1});
        QVERIFY(to_text(report).find("0.2+guess") != std::string::npos);
        QVERIFY(model->forward().moe().mover().sparse().accepts_guesses());
    }

    // Copied neurons stay: no bit changes, and the more room there is, the less is
    // copied.
    void neuronCache_sparesTheBus_andChangesNoBit_data() {
        QTest::addColumn<QString>("quant");
        QTest::addColumn<int>("compute");
        QTest::addColumn<bool>("guesses");
        QTest::newRow("as in the file") << QString() << static_cast<int>(ComputeMode::kF32) << false;
        QTest::newRow("with guesses") << QString() << static_cast<int>(ComputeMode::kF32) << true;
        QTest::newRow("hqq4 in bytes") << QStringLiteral("experts=hqq4") << static_cast<int>(ComputeMode::kInt8)
                                       << true;
    }
    void neuronCache_sparesTheBus_andChangesNoBit() {
        QFETCH(QString, quant);
        QFETCH(int, compute);
        QFETCH(bool, guesses);
        LoadRequest request = onThisMachine();
        request.compute = static_cast<ComputeMode>(compute);
        if (!quant.isEmpty()) request.quant = parse_quant(quant.toStdString());
        request.theta = 0.25;
        const std::vector<TokenId> tokens = text(18);
        const Rows expected = oneByOne(*open(request), tokens);
        LoadRequest on_bus = onBus(request);
        if (guesses) {
            on_bus.prefetch = PrefetchMode::kAlways;
            on_bus.vram_bytes += 2 * expert_bytes_;
        }
        std::uint64_t before = ~std::uint64_t{0};
        for (const std::uint64_t experts : {0, 12, 40}) {
            LoadRequest caching = on_bus;
            caching.neuron_cache_bytes = experts * expert_bytes_;
            caching.vram_bytes += (caching.neuron_cache_bytes + 255) / 256 * 256;
            const auto model = open(caching);
            QCOMPARE(model->plan().n_resident(), std::int64_t{0});
            QCOMPARE(oneByOne(*model, tokens), expected);
            const DispatchTotals totals = model->dispatcher().recorder().all_totals();
            const NeuronCache* const cache = model->forward().moe().mover().copier().neuron_cache();
            QCOMPARE(cache != nullptr, experts > 0);
            if (experts > 0) {
                QVERIFY(cache->used_bytes() <= caching.neuron_cache_bytes);
                QVERIFY(cache->n_experts() > 0);
            }
            if (experts == 0 && !guesses) QCOMPARE(totals.held_neurons, std::uint64_t{0});
            if (experts >= 12) {
                QVERIFY2(totals.bytes_copied < before, qPrintable(QStringLiteral("%1 with %2 experts, %3 before")
                                                                      .arg(totals.bytes_copied)
                                                                      .arg(experts)
                                                                      .arg(before)));
                QVERIFY(totals.neuron_hit_rate() > 0.1 && totals.neuron_hit_rate() < 1);
            }
            if (experts == 40) {
                QVERIFY2(totals.neuron_hit_rate() > 0.4, qPrintable(QString::number(totals.neuron_hit_rate())));
                // A partly cached expert takes only its cached neurons.
                QVERIFY(static_cast<std::uint64_t>(cache->n_experts()) * expert_bytes_ > cache->used_bytes());
            }
            before = totals.bytes_copied;
        }
    }

    // An expert's neurons stay in the order of their copies; the experts that are used
    // least for their bytes are evicted.
    void neuronCache_evictsByUsePerByte() {
        kernels::ThreadPool pool(1);
        CpuOperations operations(pool, kernels::GemmMode::kF32);
        const auto device = open_device("emulated:rtx-3060", 0, operations);
        NeuronCache cache(*device, 4096);
        const auto make = [&](std::size_t expert, std::int64_t n) {
            NeuronCache::Entry* const entry = cache.room(expert, kernels::WeightType::kBf16, n, 64);
            if (entry == nullptr) return false;
            std::vector<std::int32_t> neurons;
            for (auto i = static_cast<std::int64_t>(entry->neurons.size()); i < n; ++i) {
                neurons.push_back(static_cast<std::int32_t>(n - i));
                std::memset(entry->data + i * 64, static_cast<int>(expert * 16 + static_cast<std::size_t>(i)), 64);
            }
            cache.add(*entry, neurons, {DeviceEvent::Queue::kCopy, 0});
            return true;
        };
        const auto next = [&] {
            cache.begin_step();
            for (int i = 0; i < 3; ++i) cache.begin_layer();
        };
        QVERIFY(make(1, 16) && make(2, 16) && make(3, 32));
        QCOMPARE(cache.used_bytes(), std::uint64_t{4096});
        QVERIFY2(!make(4, 4), "all are awaited by the layer at hand");
        next();
        // The third is used as often as the first, but takes twice as much.
        for (const std::size_t expert : {1, 3, 2, 2})
            QVERIFY(cache.find(expert, kernels::WeightType::kBf16) != nullptr);
        next();
        QVERIFY(make(4, 4));
        QVERIFY(cache.find(3, kernels::WeightType::kBf16) == nullptr);
        QVERIFY(cache.find(1, kernels::WeightType::kBf16) != nullptr);
        // It grows in another place, with its contents.
        QVERIFY(make(2, 24));
        NeuronCache::Entry* const grown = cache.find(2, kernels::WeightType::kBf16);
        QCOMPARE(grown->neurons.size(), std::size_t{24});
        for (int i = 0; i < 24; ++i) QCOMPARE(static_cast<int>(grown->data[i * 64 + 63]), 32 + i);
        std::vector<std::int32_t> neurons, order;
        cache.order_of(*grown, neurons, order);
        QVERIFY(std::is_sorted(neurons.begin(), neurons.end()));
        for (std::size_t i = 0; i < neurons.size(); ++i) {
            QCOMPARE(grown->neurons[static_cast<std::size_t>(order[i])], neurons[i]);
        }
        // Another format has other bytes; more than everything has no room.
        QVERIFY(cache.find(1, kernels::WeightType::kInt8) == nullptr);
        QVERIFY(cache.find(1, kernels::WeightType::kBf16) == nullptr);
        QVERIFY(!make(5, 65));
        cache.drop(2);
        cache.drop(2);
        QCOMPARE(cache.n_experts(), std::int64_t{1});
        QCOMPARE(cache.used_bytes(), std::uint64_t{256});
    }

    // Hardly any neuron is left out: gathering would take longer than it saves.
    void mostNeurons_goAsTheWholeExpert() {
        LoadRequest request = onThisMachine();
        request.theta = 1e-4;
        const std::vector<TokenId> tokens = text(6);
        const Rows expected = oneByOne(*open(request), tokens);
        const auto emulated = open(onBus(request));
        QCOMPARE(oneByOne(*emulated, tokens), expected);
        const DispatchTotals totals = emulated->dispatcher().recorder().all_totals();
        QVERIFY(totals.copied_calls > 0);
        QCOMPARE(totals.sparse_copies, std::uint64_t{0});
        QVERIFY(totals.active_neurons > totals.neurons / 10 * 9);
    }

    // The CPU computes an expert whose copy the device refuses; and a copy that a cache
    // will keep is whole, so that later steps find all of it.
    void refusedAndKeptCopies_changeNoBit() {
        LoadRequest request = onThisMachine();
        request.theta = 0.25;
        const std::vector<TokenId> tokens = text(12);
        const Rows expected = oneByOne(*open(request), tokens);
        LoadRequest on_bus = onBus(request);
        const auto refusing = open(on_bus);
        for (int nth = 1; nth <= 12; ++nth) {
            refusing->device().fail_copy(nth);
            const Rows got = oneByOne(*refusing, std::span(tokens).first(2));
            refusing->device().fail_copy(0);
            // Other copies than those of weights end the step, and the next one works.
            if (got.empty()) refusing->device().clear_failure();
            for (std::size_t i = 0; i < got.size(); ++i) QCOMPARE(got[i], expected[i]);
        }
        QVERIFY(refusing->dispatcher().recorder().all_totals().cpu_calls > 0);
        on_bus.cache = CacheKind::kLru;
        on_bus.vram_bytes += 24 * expert_bytes_;
        const auto caching = open(on_bus);
        QVERIFY(caching->plan().n_resident() > 0);
        QCOMPARE(oneByOne(*caching, tokens), expected);
        const DispatchTotals totals = caching->dispatcher().recorder().all_totals();
        QVERIFY2(totals.admissions > 0 && totals.resident_calls > 0,
                 qPrintable(QStringLiteral("%1 admissions, %2 of %3 calls resident")
                                .arg(totals.admissions)
                                .arg(totals.resident_calls)
                                .arg(totals.expert_calls)));
    }

    void activeShare_isANumberOrAReport() {
        QCOMPARE(read_active_share("0.45", 0.2), 0.45);
        QCOMPARE(read_active_share("1", 0.2), 1.0);
        QTemporaryFile report;
        QVERIFY(report.open());
        report.write(R"({"rows": [{"theta": 0, "active_share": 1}, {"theta": 0.1}, {"theta": 0.2, "active_share": 0.6},
                                  {"theta": 0.3, "active_share": 0.4}]})");
        report.close();
        const std::string path = report.fileName().toStdString();
        QCOMPARE(read_active_share(path, 0.2), 0.6);
        QVERIFY(std::abs(read_active_share(path, 0.25) - 0.5) < 1e-12);
        QVERIFY(std::abs(read_active_share(path, 0.1) - 0.8) < 1e-12);
        for (const auto& [text, theta, part] : {std::tuple("0", 0.2, "out of range"), std::tuple("1.5", 0.2, "out of"),
                                                std::tuple("half", 0.2, "neither a number"),
                                                std::tuple(path.c_str(), 0.4, "no active share for theta")}) {
            QCOMPARE(tests::mismatch(tests::error_of([&] { read_active_share(text, theta); }), ErrorKind::kInvalidInput,
                                     part),
                     QString());
        }
        LoadRequest request = onThisMachine();
        request.active_share = 1.2;
        QCOMPARE(tests::mismatch(tests::error_of([&] { open(request); }), ErrorKind::kInvalidInput, "share"),
                 QString());
    }

  private:
    // Rows of w1, w3 and w2 of each neuron in turn, into a block of the layout's format.
    static void packRows(const kernels::ExpertLayout& layout, const std::vector<float>& rows, std::byte* block,
                         kernels::ThreadPool& pool) {
        const std::int64_t n = 3 * layout.ffn_dim;
        if (kernels::is_packed(layout.gate)) {
            Quantizer(pool).quantize({rows.data(), kernels::WeightType::kF32, n, layout.hidden_dim}, layout.gate,
                                     block);
            return;
        }
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const kernels::Bf16 narrow = kernels::to_bf16(rows[i]);
            if (layout.gate == kernels::WeightType::kF32) std::memcpy(block + i * 4, &rows[i], 4);
            if (layout.gate == kernels::WeightType::kBf16) std::memcpy(block + i * 2, &narrow, 2);
        }
    }
    LoadRequest onThisMachine() const {
        LoadRequest request;
        request.model = demoModel();
        request.context = 128;
        request.n_threads = 1;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.quant_cache_directory = quantized_.path().toStdString();
        request.prefetch = PrefetchMode::kOff;
        request.learn_placement = false;
        return request;
    }
    // With room for no expert but those on their way.
    LoadRequest onBus(LoadRequest request) {
        request.device = "emulated:rtx-3060";
        request.dispatch = parse_dispatch("transfer");
        request.cache = CacheKind::kStatic;
        request.sparse_loading = SparseLoading::kAlways;
        const auto whole = open(request);
        const Plan& plan = whole->plan();
        expert_bytes_ = whole->experts().expert_bytes(whole->experts().format(0));
        request.vram_bytes = plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes + 4096 + 2 * expert_bytes_;
        return request;
    }
    static std::vector<TokenId> text(std::size_t n) {
        const auto golden = readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")));
        std::vector<TokenId> tokens;
        for (const QJsonValue& each : golden[QLatin1String("cases")].toArray()) {
            for (const TokenId token : tokensOf(each[QLatin1String("tokens")].toArray())) tokens.push_back(token);
        }
        tokens.resize(n);
        return tokens;
    }

    QTemporaryDir cache_, quantized_;
    std::uint64_t expert_bytes_ = 0;
};

QTEST_GUILESS_MAIN(TestSparseCopies)
#include "tst_sparse_copies.moc"
