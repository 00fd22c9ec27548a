// Bytes of weights that a token reads: the prediction equals the formats' bytes, and the
// count equals the reads.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <QtTest>

#include "engine/eval/bench.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/moe_layer.h"
#include "tests/engine/errors.h"
#include "tests/engine/replan_play.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::kernels::WeightType;

namespace {

// Only config and formats: the demo model's, or a synthetic one's.
struct Sizes {
    std::uint64_t dense_read = 0;
    std::uint64_t expert = 0;
    std::uint64_t active = 0;
};

Sizes sizesOf(const ModelSpec& spec, WeightType experts, WeightType attention) {
    const ExpertGrid& c = spec.experts;
    const std::int64_t q_rows = spec.attention_shape(0).query_width();
    const std::int64_t qkv_rows = spec.attention_shape(0).qkv_width();
    const auto rows = [](WeightType type, std::int64_t n, std::int64_t n_cols) {
        return static_cast<std::uint64_t>(n) * offstage::kernels::row_bytes(type, n_cols);
    };
    const auto vectors = static_cast<std::uint64_t>((2 + c.n_experts) * c.hidden_dim) * 4;  // norms and gate
    const std::uint64_t layer =
        rows(attention, qkv_rows, c.hidden_dim) + rows(attention, c.hidden_dim, q_rows) + vectors;
    Sizes sizes;
    // One row of the embedding, the layers, the last norm, the head.
    sizes.dense_read = rows(WeightType::kBf16, 1, c.hidden_dim) + static_cast<std::uint64_t>(c.n_layers) * layer +
                       static_cast<std::uint64_t>(c.hidden_dim) * 4 +
                       rows(WeightType::kBf16, spec.vocab_size, c.hidden_dim);
    sizes.expert = rows(experts, 3 * c.ffn_dim, c.hidden_dim);
    sizes.active = sizes.dense_read + static_cast<std::uint64_t>(c.n_layers * c.n_active) * sizes.expert;
    return sizes;
}

std::uint64_t readSince(const LoadedModel& model, const DispatchTotals& before) {
    const DispatchTotals& now = const_cast<LoadedModel&>(model).dispatcher().totals();
    return now.device_read_bytes + now.host_read_bytes - before.device_read_bytes - before.host_read_bytes;
}

}  // namespace

class TestWeightReads : public QObject, ReplanSetup {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() { measureModel(); }

    void token_readsWhatItsFormatsTake_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        QTest::addColumn<QString>("quant");
        QTest::addColumn<int>("experts");
        QTest::addColumn<int>("attention");
        const auto row = [](const char* name, const QString& model, const char* device, const char* quant,
                            WeightType experts, WeightType attention) {
            QTest::newRow(name) << model << device << quant << static_cast<int>(experts) << static_cast<int>(attention);
        };
        const QString demo = QString::fromStdString(demoModel());
        const WeightType b = WeightType::kBf16;
        row("bf16", demo, "cpu", "", b, b);
        row("int8", demo, "cpu", "experts=int8", WeightType::kInt8, b);
        row("hqq2", demo, "cpu", "experts=hqq2", WeightType::kHqq2, b);
        row("hqq3, attention in 4", demo, "cpu", "experts=hqq3,dense=4", WeightType::kHqq3, WeightType::kHqq4);
        row("attention in 8", demo, "cpu", "dense=8", b, WeightType::kInt8);
        row("emulated", demo, "emulated:rtx-3060-desktop", "", b, b);
        row("emulated, hqq4", demo, "emulated:rtx-3060-desktop", "experts=hqq4,dense=8", WeightType::kHqq4,
            WeightType::kInt8);
        const QString mini = QStringLiteral("synthetic:mixtral-mini?layers=2");
        row("mixtral-mini, hqq2", mini, "emulated:rtx-3060-desktop", "experts=hqq2", WeightType::kHqq2, b);
        row("mixtral-mini, hqq2 and attention in 4", mini, "emulated:rtx-3060-desktop", "experts=hqq2,dense=4",
            WeightType::kHqq2, WeightType::kHqq4);
    }
    void token_readsWhatItsFormatsTake() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        QFETCH(QString, quant);
        QFETCH(int, experts);
        QFETCH(int, attention);
        LoadRequest request = on(device.toStdString());
        request.model = model.toStdString();
        request.dry = model.startsWith(QStringLiteral("synthetic"));  // the same bytes, and none of them is read
        request.context = 128;
        if (!quant.isEmpty()) request.quant = parse_quant(quant.toStdString());
        LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
        const Sizes sizes =
            sizesOf(loaded.spec(), static_cast<WeightType>(experts), static_cast<WeightType>(attention));
        QCOMPARE(loaded.reads().dense, sizes.dense_read);
        QCOMPARE(loaded.reads().total(), sizes.active);
        QCOMPARE(loaded.summary().active_bytes, sizes.active);
        QVERIFY(sizes.active < loaded.summary().weight_bytes);

        // Foretold without the weights: the same.
        if (!request.dry) {
            const FitEstimate plan = FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request);
            QCOMPARE(plan.reads().total(), sizes.active);
        }

        // Counted, and used as a bench's divisor.
        const BenchResult bench = run_bench(loaded, {20, 6, 1}, {});
        QCOMPARE(bench.active_weight_bytes_per_token, sizes.active);
        QCOMPARE(bench.accounted, device != QStringLiteral("cpu"));
        std::vector<BenchRate> rates = bench.decode;
        rates.push_back(bench.prefill);
        for (const BenchRate& rate : rates) {
            const bool accounted = rate.limit_is.find("accounted") != std::string::npos;
            const bool measured = rate.limit_is.find("measured in this run") != std::string::npos;
            QVERIFY2(accounted == bench.accounted && measured != bench.accounted, rate.limit_is.c_str());
            QVERIFY(rate.limit > 0 || (measured && rate.limit_is.starts_with("no limit: other work")));
            // No share of a limit is above 1.
            QVERIFY2(rate.fraction <= 1, rate.what.c_str());
        }
    }

    // Each theta is compared on its own tokens, beside tokens without any.
    void bench_comparesThetas() {
        LoadRequest request = on("cpu");
        request.context = 128;
        LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
        const auto whole = static_cast<double>(loaded.reads().total());
        const auto experts = static_cast<double>(loaded.reads().total() - loaded.reads().dense);
        const BenchResult bench = run_bench(loaded, {8, 3, 1, {0.1, 0.3}}, {});
        QCOMPARE(bench.thetas.size(), std::size_t{2});
        QCOMPARE(bench.thetas[0].theta, ThetaChoice(0.1));
        QCOMPARE(bench.thetas[1].theta, ThetaChoice(0.3));
        // By far more than tokens differ by.
        QVERIFY2(bench.thetas[1].active_share < bench.thetas[0].active_share - 0.2,
                 qPrintable(QString::number(bench.thetas[1].active_share)));
        for (const ThetaGain& row : bench.thetas) {
            QVERIFY(row.active_share > 0 && row.active_share < 1);
            // w1 of all, w3 and w2 of the active ones.
            const double read = whole - experts * 2 / 3 * (1 - row.active_share);
            QVERIFY2(std::abs(row.bytes_per_token - read) < 1, qPrintable(QString::number(row.bytes_per_token - read)));
            QVERIFY(std::abs(row.bytes_allow - whole / read) < 1e-6);
            QVERIFY(row.lower_gain > 0 && row.lower_gain <= row.gain && row.gain <= row.upper_gain);
            QVERIFY(row.tokens_per_s > 0 && row.whole_tokens_per_s > 0);
        }
        // A pair's gain says how many times as long the token without the theta took.
        const ThetaGain pair = run_bench(loaded, {8, 1, 1, {0.3}}, {}).thetas.front();
        QVERIFY(std::abs(pair.gain - pair.tokens_per_s / pair.whole_tokens_per_s) < 1e-9);
        // Nothing is left out afterwards, as the model was opened.
        QCOMPARE(loaded.theta(), ThetaChoice());
        QVERIFY(!loaded.forward().moe().thetas().leaves_out());
        QCOMPARE(bench.active_weight_bytes_per_token, loaded.reads().total());

        ThetaGain half;
        half.gain = half.lower_gain = half.upper_gain = 1.2;
        half.bytes_allow = 1.4;
        QVERIFY(half.is_distinguishable() && std::abs(half.share_of_gain().value() - 0.5) < 1e-9);
        half.bytes_allow = 1;
        QVERIFY(!half.share_of_gain());
        // More than the bytes allow, or quartiles on both sides of 1: no share is true.
        half.bytes_allow = 1.1;
        QVERIFY(!half.share_of_gain());
        half.bytes_allow = 1.4;
        half.lower_gain = 0.98;
        QVERIFY(!half.is_distinguishable() && !half.share_of_gain());
        // A theta that costs has a share below 0.
        half.gain = half.lower_gain = half.upper_gain = 0.9;
        QVERIFY(half.is_distinguishable() && std::abs(half.share_of_gain().value() + 0.25) < 1e-9);

        const auto refusal = [&](std::int64_t n_tokens, std::vector<ThetaChoice> thetas) {
            return offstage::tests::error_of([&] { run_bench(loaded, {8, n_tokens, 1, std::move(thetas)}, {}); });
        };
        using offstage::tests::mismatch;
        QCOMPARE(mismatch(refusal(3, {-0.1}), ErrorKind::kInvalidInput, "-0.1"), QString());
        QCOMPARE(mismatch(refusal(3, {ThetaChoice::for_loss(1e-9)}), ErrorKind::kInvalidInput, "1e-09"), QString());
        // 8 + 2 * 2 * 30 tokens fit, 8 + 2 * 2 * 31 do not.
        QCOMPARE(context_of({8, 30, 1, {0.1, 0.3}}), std::int64_t{128});
        QCOMPARE(mismatch(refusal(31, {0.1, 0.3}), ErrorKind::kInvalidInput, "132"), QString());
    }

    // A plan counts the unread bytes of a theta, as a bench does.
    void plan_withATheta_countsWhatABenchCounts_data() {
        QTest::addColumn<QString>("experts");
        QTest::newRow("as in the file") << "";
        QTest::newRow("hqq4") << "hqq4";
    }
    void plan_withATheta_countsWhatABenchCounts() {
        QFETCH(QString, experts);
        LoadRequest request = on("cpu");
        request.context = 128;
        request.theta = 0.3;
        if (!experts.isEmpty()) request.quant.experts = parse_format(experts.toStdString());
        LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
        const BenchResult bench = run_bench(loaded, {20, 6, 1}, {});
        QVERIFY(bench.active_share > 0 && bench.active_share < 0.95);
        request.active_share = bench.active_share;
        const FitEstimate plan = plan_model(request, 32, {}, {});
        const auto counted = static_cast<double>(bench.active_weight_bytes_per_token);
        QVERIFY2(std::abs(static_cast<double>(plan.reads().total()) / counted - 1) < 1e-3,
                 qPrintable(QStringLiteral("%1 planned, %2 counted").arg(plan.reads().total()).arg(counted)));
        QVERIFY(plan.reads().total() < loaded.reads().total());
    }

    // A rate above its limit shows that the limit was disturbed.
    void shares_areNeverAbove1() {
        const BenchRate rate{"products", "GFLOP/s", 80, 100, 0.8, "peak, measured in this run"};
        QCOMPARE(limited(rate, 100).fraction, 0.8);
        BenchRate above{"reads", "GB/s", 120, 100, 1.2, "bandwidth, measured in this run"};
        const BenchRate best = limited(above, 150);
        QCOMPARE(best.fraction, 0.8);
        QCOMPARE(best.limit, 150.0);
        QVERIFY(best.limit_is.find("best of all repeats") != std::string::npos);
        const BenchRate none = limited(above, 110);
        QVERIFY(none.limit == 0 && none.fraction == 0 && none.rate == 120);
        QVERIFY2(none.limit_is.starts_with("no limit: other work"), none.limit_is.c_str());
        above.limit = above.fraction = 0;
        above.limit_is = "no limit known";
        QCOMPARE(limited(above, 0).limit_is, std::string("no limit known"));
    }

    // The formats of the plan in force, before and after.
    void replan_changesWhatATokenReads() {
        LoadRequest request = on("emulated:rtx-3060-desktop");
        request.vram_bytes = vramFor(20);
        Play play(request);
        const TokenId tokens[] = {7};
        const auto step = [&] {
            const DispatchTotals before = play.model.dispatcher().totals();
            play.step(tokens);
            return readSince(play.model, before);
        };
        const ModelSpec& spec = play.model.spec();
        for (const WeightType format : {WeightType::kBf16, WeightType::kHqq3, WeightType::kInt8}) {
            if (format != WeightType::kBf16) {
                ReplanRequest replan;
                replan.experts = format;
                begin_replan(play.replanner, 1, replan, play.made);
                play.replanner.finish({});
                QVERIFY(!play.replanner.moving());
            }
            const Sizes sizes = sizesOf(spec, format, WeightType::kBf16);
            QCOMPARE(play.model.reads().total(), sizes.active);
            QCOMPARE(step(), sizes.active - sizes.dense_read);
        }
    }

    // Experts in several formats: the count follows the routing.
    void mixedFormats_areCountedAsTheyWereCalled() {
        LoadRequest request = on("emulated:rtx-3060-desktop");
        request.vram_bytes = vramFor(12);
        request.quality.min_mean_bits = 6;
        Play play(request);
        const ExpertGrid& c = play.model.spec().experts;
        const std::vector<WeightType> formats = play.model.experts().formats();
        std::uint64_t least = ~std::uint64_t{0}, most = 0, all = 0;
        constexpr int kSteps = 40;
        for (int i = 0; i < kSteps; ++i) {
            const DispatchTotals before = play.model.dispatcher().totals();
            const TokenId token[] = {static_cast<TokenId>(11 + 37 * i)};
            play.step(token);
            std::uint64_t expected = 0;
            const auto routing = play.model.forward().routing();
            for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
                for (std::int64_t a = 0; a < c.n_active; ++a) {
                    const std::int64_t expert = routing[static_cast<std::size_t>(layer * c.n_active + a)];
                    expected += c.expert_bytes(formats[static_cast<std::size_t>(layer * c.n_experts + expert)]);
                }
            }
            const std::uint64_t counted = readSince(play.model, before);
            QCOMPARE(counted, expected);
            least = std::min(least, counted);
            most = std::max(most, counted);
            all += counted;
        }
        QVERIFY(least < most);  // otherwise nothing was mixed
        const std::uint64_t foretold = play.model.reads().experts;
        QVERIFY(foretold > least / 2 && foretold < most * 2);
    }

    void tiedEmbedding_isReadOnceAsTheHead() {
        ModelSpec spec;
        spec.vocab_size = 100;
        spec.hidden_dim = 64;
        QCOMPARE(dense_bytes_read(spec, 100'000, WeightType::kBf16), std::uint64_t{100'000 - 99 * 128});
        spec.tied_embeddings = true;
        QCOMPARE(dense_bytes_read(spec, 100'000, WeightType::kBf16), std::uint64_t{100'000});
    }
};

QTEST_GUILESS_MAIN(TestWeightReads)
#include "tst_weight_reads.moc"
