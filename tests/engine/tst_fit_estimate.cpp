// The estimate before a load against the load's memory and its refusals.

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/quant/quant_messages.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"
#include "engine/run/snapshot_filler.h"
#include "tests/engine/errors.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

FitEstimate estimate_fit(const LoadRequest& request, const FitHeld& held = {}) {
    return FitEstimator(request.model).estimate(request, held);
}

QString errorOf(const LoadRequest& request) {
    return offstage::tests::sentence_of([&] { static_cast<void>(estimate_fit(request)); });
}

// A load's refusal of the same request; empty: it works.
QString refusalOf(const LoadRequest& request) {
    try {
        const LoadedModel model(request, LoadedModel::Text::kWanted, {}, {});
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return {};
}

bool near(std::uint64_t a, std::uint64_t b) {
    const auto [lo, hi] = std::minmax(a, b);
    // Small pieces are rounded up to 256 bytes each.
    return static_cast<double>(hi - lo) <= 0.02 * static_cast<double>(hi) + 4096;
}

QString textOf(const MemoryLedger& ledger) {
    QString text = QStringLiteral("dense %1 kv %2 staging %3 workspace %4 experts")
                       .arg(ledger.dense)
                       .arg(ledger.kv_cache)
                       .arg(ledger.staging)
                       .arg(ledger.workspace);
    for (const std::uint64_t bytes : ledger.experts) text += QStringLiteral(" %1").arg(bytes);
    return text + QStringLiteral(" spare %1 budget %2").arg(ledger.experts_spare).arg(ledger.budget);
}

bool alike(const MemoryLedger& a, const MemoryLedger& b) {
    bool same = near(a.dense, b.dense) && near(a.kv_cache, b.kv_cache) && near(a.staging, b.staging) &&
                near(a.workspace, b.workspace) && near(a.used(), b.used());
    same = same && a.experts.size() == b.experts.size();
    for (std::size_t i = 0; same && i < a.experts.size(); ++i) same = near(a.experts[i], b.experts[i]);
    return same;
}

}  // namespace

class TestFitEstimate : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;

    LoadRequest requestFor(const std::string& model) const {
        LoadRequest request;
        request.model = model;
        request.compute = ComputeMode::kF32;
        request.n_threads = 1;
        request.cache_directory = m_cache.path().toStdString();
        request.quant_cache_directory = m_cache.path().toStdString();
        return request;
    }

  private Q_SLOTS:
    // Before a load as after it.
    void attentionThatStaysAsItIs_isNoted() {
        LoadRequest request = requestFor(OFFSTAGE_SOURCE_DIR "/tests/engine/data/models/full_heads_tied_f32");
        request.quant.dense = offstage::kernels::WeightType::kHqq4;
        const std::vector<Message> wanted = {messages::attention_matrices_stay(messages::matrices, "F32", "HQQ4", 24)};
        QVERIFY(FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request).all_notes() == wanted);
        QVERIFY(LoadedModel(request, LoadedModel::Text::kNotNeeded, {}, {}).summary().notes == wanted);
        request.quant.dense = offstage::kernels::WeightType::kBf16;
        QVERIFY(FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request).all_notes().empty());
    }

    // A file's blocks are named before the load as after it.
    void blocksOfAFile_areNamed() {
        const QTemporaryDir folder;
        LoadRequest request = requestFor(folder.filePath("mixed.gguf").toStdString());
        offstage::tests::write_mixed_gguf(request.model);
        const ExpertFormats before = estimate_fit(request).expert_formats();
        QCOMPARE(before.stored, std::string("Q4_K, Q6_K, Q5_K, Q3_K, IQ4_XS, Q8_0"));
        QVERIFY(before.in_blocks);
        QCOMPARE(before.bits, (5.1875 + 4.395833333333333 + 5.833333333333333) / 3);
        QVERIFY(!before.smaller.empty());
        QVERIFY(LoadedModel(request, LoadedModel::Text::kNotNeeded, {}, {}).summary().expert_formats == before);
        QCOMPARE(estimate_fit(request).dense_types, std::string("Q4_K, Q5_K, Q6_K, F32"));
        request.quant.experts = parse_format("hqq2");
        QVERIFY(estimate_fit(request).expert_formats() == before);
        const ExpertFormats checkpoint = estimate_fit(requestFor(demoModel())).expert_formats();
        QCOMPARE(checkpoint.stored, std::string("BF16"));
        QVERIFY(!checkpoint.in_blocks);
    }

    void estimate_equalsWhatTheLoadTakes_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("vram");
        QTest::addColumn<int>("ram");
        QTest::addColumn<int>("context");
        QTest::addColumn<QString>("experts");
        QTest::newRow("little VRAM") << "emulated:rtx-3060-desktop" << 16 << 0 << 512 << "";
        QTest::newRow("some VRAM") << "emulated:fiddler-env1" << 24 << 0 << 0 << "";
        QTest::newRow("all fits") << "emulated:t4" << 96 << 0 << 512 << "";
        QTest::newRow("RAM is short") << "emulated:rtx-3060-desktop" << 16 << 20 << 512 << "";
        QTest::newRow("context in RAM") << "emulated:rtx-3060-desktop" << 12 << 0 << 8192 << "";
        QTest::newRow("fewer bits") << "emulated:rtx-3060-desktop" << 16 << 0 << 512 << "hqq4";
        QTest::newRow("CPU") << "cpu" << 0 << 0 << 512 << "";
        QTest::newRow("CPU, RAM is short") << "cpu" << 0 << 28 << 512 << "";
        QTest::newRow("CPU, fewer bits") << "cpu" << 0 << 0 << 0 << "int8";
    }
    void estimate_equalsWhatTheLoadTakes() {
        QFETCH(QString, device);
        QFETCH(int, vram);
        QFETCH(int, ram);
        QFETCH(int, context);
        QFETCH(QString, experts);
        LoadRequest request = requestFor(demoModel());
        request.device = device.toStdString();
        request.vram_bytes = static_cast<std::uint64_t>(vram) * kMiB;
        request.ram_bytes = static_cast<std::uint64_t>(ram) * kMiB;
        request.context = context;
        if (!experts.isEmpty()) request.quant.experts = parse_format(experts.toStdString());

        const FitEstimate estimate = estimate_fit(request);
        QVERIFY2(estimate.fits, estimate.problem.english().c_str());
        LoadedModel model(request, LoadedModel::Text::kWanted, {}, {});
        Snapshot snapshot;
        SnapshotFiller().fill(model, snapshot);
        QVERIFY2(alike(estimate.vram, snapshot.vram),
                 qPrintable(textOf(estimate.vram) + u'\n' + textOf(snapshot.vram)));
        QVERIFY2(alike(estimate.ram, snapshot.ram), qPrintable(textOf(estimate.ram) + u'\n' + textOf(snapshot.ram)));
        QCOMPARE(estimate.vram.total, snapshot.vram.total);
        QCOMPARE(estimate.vram.budget, snapshot.vram.budget);
        QCOMPARE(estimate.plan.context, model.plan().context);
        QCOMPARE(estimate.plan.n_resident(), model.plan().n_resident());
        QCOMPARE(estimate.plan.places.size(), static_cast<std::size_t>(model.summary().total_experts));
        QVERIFY(std::abs(estimate.plan.expected_hit_rate - model.summary().expected_hit_rate) < 1e-9);
    }

    // "Fits" never approves a request that a load refuses, nor the reverse, at the edges
    // and between them.
    void fits_agreesWithTheLoad_data() {
        QTest::addColumn<QString>("device");
        QTest::newRow("accelerator") << "emulated:rtx-3060-desktop";
        QTest::newRow("CPU") << "cpu";
    }
    void fits_agreesWithTheLoad() {
        QFETCH(QString, device);
        int approved = 0;
        int refused = 0;
        for (const std::uint64_t vram : {1, 6, 7, 8, 9, 12}) {
            for (const std::uint64_t ram : {1, 4, 7, 8, 9, 10, 12, 14, 40}) {
                LoadRequest request = requestFor(tinyModel(QStringLiteral("grouped_bf16")));
                request.device = device.toStdString();
                request.context = 64;
                if (device != QLatin1String("cpu")) request.vram_bytes = vram * 256 * 1024;
                request.ram_bytes = ram * 128 * 1024;
                request.prefetch = PrefetchMode::kOff;
                FitEstimate estimate;
                try {
                    estimate = FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request);
                } catch (const Error& error) {
                    QVERIFY2(!refusalOf(request).isEmpty(), error.what());
                    continue;
                }
                const QString refusal = withoutText(request);
                ++(estimate.fits ? approved : refused);
                QVERIFY2(estimate.fits == refusal.isEmpty(),
                         qPrintable(QStringLiteral("vram %1 ram %2: estimate \"%3\", load \"%4\"")
                                        .arg(request.vram_bytes)
                                        .arg(request.ram_bytes)
                                        .arg(QString::fromStdString(estimate.problem.english()), refusal)));
            }
            if (device == QLatin1String("cpu")) break;
        }
        QVERIFY(approved > 0);
        QVERIFY(refused > 0);
    }

    void tooLittle_saysByHowMuchAndWhatWouldFit() {
        LoadRequest request = requestFor(demoModel());
        request.device = "emulated:rtx-3060-desktop";
        request.vram_bytes = 4 * kMiB;
        request.context = 512;
        FitEstimator estimator(request.model);
        const FitEstimate estimate = estimator.estimate(request);
        QVERIFY(!estimate.fits);
        QVERIFY(estimate.vram_is_short);
        QCOMPARE(QString::fromStdString(estimate.problem.english()), refusalOf(request));
        LoadRequest exact = request;
        exact.vram_bytes += estimate.short_by;
        QVERIFY(estimator.estimate(exact).fits);
        exact.vram_bytes -= 1;
        QVERIFY(!estimator.estimate(exact).fits);
        QVERIFY(!estimate.changes.empty());
        for (const FitChange& change : estimate.changes) QVERIFY(estimator.estimate(change.request).fits);
        QCOMPARE(estimate.changes.back().kind, FitChange::Kind::kCpu);
        QVERIFY(refusalOf(estimate.changes.front().request).isEmpty());
    }

    void whatIsHeld_isFreeForTheNextLoad() {
        LoadRequest request = requestFor(demoModel());
        const FitEstimate alone = estimate_fit(request);
        const FitEstimate replacing = estimate_fit(request, {"", 0, std::uint64_t{1} << 40});
        QVERIFY(replacing.inputs.memory.available_bytes >=
                alone.inputs.memory.available_bytes + (std::int64_t{1} << 39));
        QVERIFY(replacing.ram.others < alone.ram.others || alone.ram.others == 0);
    }

    void floorOfQuality_countsTheSmallestAllowedFormat() {
        LoadRequest request = requestFor(demoModel());
        request.device = "emulated:rtx-3060-desktop";
        request.vram_bytes = 16 * kMiB;
        request.context = 512;
        FitEstimator estimator(request.model);
        const FitEstimate plain = estimator.estimate(request);
        request.quality.min_mean_bits = 4;
        const FitEstimate fewer = estimator.estimate(request);
        QVERIFY(fewer.fits && !fewer.formats_assumed() && !plain.formats_assumed());  // a profile has all costs
        QVERIFY(fewer.plan.mean_bits >= 4 && fewer.plan.mean_bits < plain.plan.mean_bits);
        LoadRequest own_cpu = request;
        own_cpu.device = "emulated:rtx-3060";  // the costs of its formats on this CPU were not measured
        const FitEstimate assumed = estimator.estimate(own_cpu);
        QVERIFY(assumed.fits && assumed.formats_assumed() && !assumed.forecast);
        QVERIFY(fewer.plan.n_resident() > plain.plan.n_resident());
        request.quality.min_mean_bits = 40;
        QVERIFY(errorOf(request).contains(QStringLiteral("bits per weight")));
    }

    void errors_areThoseOfALoad_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        QTest::addColumn<qint64>("vram");
        QTest::addColumn<qint64>("ram");
        QTest::addColumn<qint64>("context");
        const QString demo = QString::fromStdString(demoModel());
        QTest::newRow("no model") << "/nowhere/at/all"
                                  << "cpu" << 0LL << 0LL << 0LL;
        QTest::newRow("no synthetic model") << "synthetic:nothing"
                                            << "cpu" << 0LL << 0LL << 0LL;
        QTest::newRow("no tokenizer") << QString::fromStdString(tinyModel(QStringLiteral("grouped_bf16"))) << "cpu"
                                      << 0LL << 0LL << 0LL;
        QTest::newRow("no profile") << demo << "emulated:nothing" << 0LL << 0LL << 0LL;
        QTest::newRow("no device") << demo << "abacus" << 0LL << 0LL << 0LL;
        QTest::newRow("VRAM on a CPU") << demo << "cpu" << qint64{1 << 20} << 0LL << 0LL;
        QTest::newRow("more VRAM than there is") << demo << "emulated:t4" << (qint64{1} << 45) << 0LL << 0LL;
        QTest::newRow("negative context") << demo << "cpu" << 0LL << 0LL << qint64{-1};
    }
    void errors_areThoseOfALoad() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        QFETCH(qint64, vram);
        QFETCH(qint64, ram);
        QFETCH(qint64, context);
        LoadRequest request = requestFor(model.toStdString());
        request.device = device.toStdString();
        request.vram_bytes = static_cast<std::uint64_t>(vram);
        request.ram_bytes = static_cast<std::uint64_t>(ram);
        request.context = context;
        const QString said = errorOf(request);
        QVERIFY(!said.isEmpty());
        QCOMPARE(said, refusalOf(request));
    }

    // Not asserted: the figure is for the report.
    void time_isThatOfALook() {
        QElapsedTimer clock;
        clock.start();
        FitEstimator estimator(demoModel());
        const double opened = static_cast<double>(clock.nsecsElapsed()) / 1e6;
        LoadRequest request = requestFor(demoModel());
        request.device = "emulated:rtx-3060-desktop";
        request.vram_bytes = 16 * kMiB;
        clock.start();
        QVERIFY(estimator.estimate(request).fits);
        qInfo("opening %.1f ms, one estimate %.2f ms", opened, static_cast<double>(clock.nsecsElapsed()) / 1e6);
    }

  private:
    // A tiny model has no tokenizer; the estimate of memory is the same.
    static QString withoutText(const LoadRequest& request) {
        try {
            const LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
        } catch (const Error& error) {
            return QString::fromUtf8(error.what());
        }
        return {};
    }
};

QTEST_GUILESS_MAIN(TestFitEstimate)
#include "tst_fit_estimate.moc"
