// Forecasts against the runs after them, with accounted times, which are the same on
// every machine.

#include <QtTest>

#include "engine/eval/bench.h"
#include "engine/run/loaded_model.h"

using namespace offstage::engine;

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

LoadRequest request_for(const char* model, const char* device, std::uint64_t vram, std::uint64_t ram) {
    LoadRequest request;
    request.model = model;
    request.device = device;
    request.vram_bytes = vram;
    request.ram_bytes = ram;
    request.learn_placement = false;
    return request;
}

}  // namespace

class ForecastAccountedTest : public QObject {
    Q_OBJECT

  private slots:
    void initTestCase() {
        QVERIFY(directory_.isValid());
        qputenv("XDG_CACHE_HOME", directory_.path().toUtf8());
    }

    void forecastIsWhatThenRuns_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        QTest::addColumn<quint64>("vram");
        QTest::addColumn<quint64>("ram");
        QTest::addColumn<qint64>("prompt");
        const auto row = [](const char* model, const char* device, std::uint64_t vram, std::uint64_t ram,
                            std::int64_t prompt = 512) {
            QTest::addRow("%s on %s, %llu and %llu MiB, prompt %lld", model, device,
                          static_cast<unsigned long long>(vram / kMiB), static_cast<unsigned long long>(ram / kMiB),
                          static_cast<long long>(prompt))
                << QString("synthetic:") + model << QString("emulated:") + device << quint64(vram) << quint64(ram)
                << qint64(prompt);
        };
        for (const char* const device : {"rtx-3060-desktop", "fiddler-env1", "fiddler-env2"}) {
            for (const std::uint64_t vram : {6 * kGiB, 8 * kGiB, 11 * kGiB}) row("mixtral-8x7b", device, vram, 0);
            for (const std::uint64_t vram : {4 * kGiB, 8 * kGiB, 11 * kGiB}) row("qwen3-30b-a3b", device, vram, 0);
            for (const std::uint64_t vram : {3 * kGiB, 6 * kGiB, 11 * kGiB}) row("deepseek-v2-lite", device, vram, 0);
            row("dbrx", device, 11 * kGiB, 0);
            for (const std::uint64_t vram : {kGiB / 2, kGiB, 2 * kGiB}) row("fine", device, vram, 0);
            // most, some and few experts on disk
            for (const std::uint64_t ram : {16 * kGiB, 48 * kGiB, 80 * kGiB})
                row("mixtral-8x7b", device, 8 * kGiB, ram);
            row("qwen3-30b-a3b", device, 6 * kGiB, 24 * kGiB);
            row("mixtral-8x7b", device, 11 * kGiB, 0, 32);
            row("mixtral-8x7b", device, 11 * kGiB, 0, 3000);
            row("qwen3-30b-a3b", device, 8 * kGiB, 0, 64);
            for (const std::int64_t prompt : {512, 3000}) {
                row("qwen3-30b-a3b?window=128", device, 8 * kGiB, 0, prompt);
                row("mixtral-8x7b?window=1500", device, 8 * kGiB, 0, prompt);
            }
        }
    }

    void forecastIsWhatThenRuns() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        QFETCH(quint64, vram);
        QFETCH(quint64, ram);
        QFETCH(qint64, prompt);
        LoadRequest request = request_for(qPrintable(model), qPrintable(device), vram, ram);
        request.context = 4096;
        request.dry = true;
        LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
        const BenchResult run = run_bench(loaded, {prompt, 48, 2}, {});
        const Forecast& told = run.forecast;
        QVERIFY(told.decode_tokens_per_s > 0);
        const double decode = told.decode_tokens_per_s / run.decode_tokens_per_s;
        const double first = told.ttft_s * run.prefill_tokens_per_s / static_cast<double>(prompt);
        if (qEnvironmentVariableIsSet("SHOW")) {
            qInfo("%.3f %.3f  hit %.2f, %.2f tokens/s, %.3f s", decode, first, told.hit_rate, run.decode_tokens_per_s,
                  static_cast<double>(prompt) / run.prefill_tokens_per_s);
        }
        QVERIFY2(decode > 0.9 && decode < 1.1, qPrintable(QString::number(decode)));
        QVERIFY2(first > 0.85 && first < 1.15, qPrintable(QString::number(first)));
    }

    // A theta, with experts on the bus, on the CPU, and on both.
    void forecastKnowsTheActiveShare_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<double>("share");
        for (const char* const policy : {"transfer", "static", "balanced"}) {
            for (const double share : {0.3, 0.6}) {
                QTest::addRow("%s, %g active", policy, share) << QString::fromLatin1(policy) << share;
            }
        }
    }
    void forecastKnowsTheActiveShare() {
        QFETCH(QString, policy);
        QFETCH(double, share);
        LoadRequest request = request_for("synthetic:mixtral-8x7b?layers=8", "emulated:rtx-3060-desktop", 5 * kGiB, 0);
        request.context = 1024;
        request.dry = true;
        request.dispatch = parse_dispatch(policy.toStdString());
        request.prefetch = PrefetchMode::kOff;
        request.cache = CacheKind::kStatic;
        const auto speeds = [&] {
            LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
            const BenchResult run = run_bench(loaded, {64, 48, 1}, {});
            if (qEnvironmentVariableIsSet("SHOW")) {
                qInfo("theta %g: forecast %.3f, %.3f tokens/s, %.2f sparse copies, %.0f of %.0f MB copied",
                      request.theta, run.forecast.decode_tokens_per_s, run.decode_tokens_per_s,
                      run.sparse_copies_per_token, run.copied_bytes_per_token / 1e6,
                      (run.copied_bytes_per_token + run.copy_bytes_saved_per_token) / 1e6);
            }
            return run;
        };
        const BenchResult dense = speeds();
        request.theta = 0.25;
        request.active_share = share;
        const BenchResult sparse = speeds();
        const double told = sparse.forecast.decode_tokens_per_s / sparse.decode_tokens_per_s;
        QVERIFY2(told > 0.9 && told < 1.1, qPrintable(QString::number(told)));
        const double gain = sparse.decode_tokens_per_s / dense.decode_tokens_per_s;
        const double forecast_gain = sparse.forecast.decode_tokens_per_s / dense.forecast.decode_tokens_per_s;
        QVERIFY2(gain > 1.05 || share > 0.5, qPrintable(QString::number(gain)));
        QVERIFY2(std::abs(forecast_gain / gain - 1) < 0.1, qPrintable(QString::number(forecast_gain / gain)));
        QCOMPARE(dense.copy_bytes_saved_per_token, 0.0);
        if (policy == QStringLiteral("transfer")) {
            // If gathering pays, the reported bytes are those that cross the bus.
            const double bytes = sparse.forecast.bytes_per_token / sparse.copied_bytes_per_token;
            QVERIFY2(std::abs(bytes - 1) < 0.1, qPrintable(QString::number(bytes)));
        }
    }

    // Small enough for launches and hand-overs to be most of the time.
    void forecastOfSmallModelIsNear() {
        for (const std::uint64_t vram : {20 * kMiB, 28 * kMiB, std::uint64_t{0}}) {
            const LoadRequest request =
                request_for(OFFSTAGE_SOURCE_DIR "/resources/demo-model", "emulated:fiddler-env1", vram, 0);
            LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
            const BenchResult run = run_bench(loaded, {256, 32, 2}, {});
            const double decode = run.forecast.decode_tokens_per_s / run.decode_tokens_per_s;
            const double first = run.forecast.ttft_s * run.prefill_tokens_per_s / 256;
            QVERIFY2(decode > 0.8 && decode < 1.2, qPrintable(QString::number(decode)));
            QVERIFY2(first > 0.8 && first < 1.2, qPrintable(QString::number(first)));
        }
    }

  private:
    QTemporaryDir directory_;
};

QTEST_GUILESS_MAIN(ForecastAccountedTest)
#include "tst_forecast_accounted.moc"
