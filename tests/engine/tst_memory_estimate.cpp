// The estimate before a load against the memory in use after it and after an answer:
// never less, and not much more.

#include <QTemporaryDir>
#include <QTest>

#include "engine/eval/bench.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"
#include "tests/sanitized.h"

using namespace offstage::engine;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

bool holds(std::uint64_t estimate, std::uint64_t used) {
    return estimate >= used && static_cast<double>(estimate - used) <= 0.05 * static_cast<double>(used);
}

QString textOf(const char* what, std::uint64_t estimate, const ArenaUsage& usage) {
    QString text = QStringLiteral("%1: estimated %2, used %3, at most %4; by use")
                       .arg(what)
                       .arg(estimate)
                       .arg(usage.used_bytes)
                       .arg(usage.high_water_bytes);
    for (const std::uint64_t bytes : usage.by_use) text += QStringLiteral(" %1").arg(bytes);
    return text;
}

}  // namespace

class TestMemoryEstimate : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;

    // The arenas' bytes: in use now, and (after the load) the most that ever was.
    static void compare(const FitEstimate& estimate, LoadedModel& model, bool with_most) {
        const bool shared = model.device().shares_host_memory();
        if (!shared) {
            const ArenaUsage vram = model.device().memory().usage();
            const std::uint64_t used = with_most ? vram.high_water_bytes : vram.used_bytes;
            QVERIFY2(holds(estimate.vram.used(), used), qPrintable(textOf("VRAM", estimate.vram.used(), vram)));
        }
        const ArenaUsage ram = model.ram().usage();
        const std::uint64_t used = with_most ? ram.high_water_bytes : ram.used_bytes;
        const std::uint64_t told = with_most ? estimate.peak_ram_bytes : estimate.ram.used();
        QVERIFY2(used == 0 || holds(told, used), qPrintable(textOf("RAM", told, ram)));
    }

  private Q_SLOTS:
    void estimate_isWhatIsUsed_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("vram");
        QTest::addColumn<int>("ram");
        QTest::addColumn<QString>("format");
        const auto rows = [](const char* model, int vram, int ram) {
            for (const char* const format : {"", "hqq4"}) {
                // A window changes only the KV cache, for every format of the weights.
                const bool windowed = QString(model).contains(QStringLiteral("window"));
                if ((offstage::test::kSanitized || windowed) && *format == 0)
                    continue;  // which all do that the others do, and pack as well
                const auto row = [&](const char* device, int vram_mib, int ram_mib) {
                    QTest::addRow("%s on %s %s, %d and %d MiB", model, device, format, vram_mib, ram_mib)
                        << QString(model) << QString(device) << vram_mib << ram_mib << QString(format);
                };
                row("cpu", 0, 0);
                if (vram < 900) row("emulated:fiddler-env1", vram, 0);
                row("emulated:fiddler-env1", vram, ram);
            }
        };
        rows("demo", 20, 24);
        rows("synthetic:fine?layers=2", 220, 270);
        rows("synthetic:fine?layers=2&window=128", 220, 270);
        rows("synthetic:mixtral-mini?layers=1", 900, 500);
    }
    void estimate_isWhatIsUsed() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        QFETCH(int, vram);
        QFETCH(int, ram);
        QFETCH(QString, format);
        LoadRequest request;
        request.model =
            model == QStringLiteral("demo") ? OFFSTAGE_SOURCE_DIR "/resources/demo-model" : model.toStdString();
        request.device = device.toStdString();
        request.vram_bytes = static_cast<std::uint64_t>(vram) * kMiB;
        request.ram_bytes = static_cast<std::uint64_t>(ram) * kMiB;
        request.context = 1024;
        request.learn_placement = false;
        request.cache_directory = request.quant_cache_directory = m_cache.path().toStdString();
        request.checks_costs = false;
        if (!format.isEmpty()) {
            request.quant.experts = request.quant.dense = parse_format(format.toStdString());
            request.quant.method = QuantMethod::kNearest;
        }
        const FitEstimate estimate = FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request);
        QVERIFY2(estimate.fits, estimate.problem.english().c_str());
        LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
        compare(estimate, loaded, false);
        if (QTest::currentTestFailed()) return;
        KvSequence sequence = loaded.new_sequence();
        std::vector<TokenId> tokens(100, TokenId{7});
        for (int i = 0; i < 3; ++i) {
            const Segment segment{
                &sequence, i == 0 ? std::span<const TokenId>(tokens) : std::span<const TokenId>(tokens).first(1)};
            QCOMPARE(loaded.forward().step({&segment, 1}, Forward::Logits::kLast, {}), Forward::Outcome::kDone);
        }
        compare(estimate, loaded, true);
    }

    void estimateAtRealSize_isWhatIsUsed_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("vram");
        for (const char* const model :
             {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite", "dbrx", "qwen3-30b-a3b?window=128",
              "dbrx?window=1024", "qwen3.5-35b-a3b", "gemma4-26b-a4b"}) {
            for (const int gib : {6, 11, 20}) {
                QTest::addRow("%s in %d GiB", model, gib) << QStringLiteral("synthetic:%1").arg(model) << gib;
            }
        }
    }
    void estimateAtRealSize_isWhatIsUsed() {
        QFETCH(QString, model);
        QFETCH(int, vram);
        LoadRequest request;
        request.model = model.toStdString();
        request.device = "emulated:fiddler-env1";
        request.vram_bytes = static_cast<std::uint64_t>(vram) * 1024 * kMiB;
        request.context = 4096;
        request.dry = true;
        request.learn_placement = false;
        const FitEstimate estimate = FitEstimator(request.model).estimate(request);
        if (!estimate.fits) {
            QVERIFY_THROWS_EXCEPTION(std::exception, LoadedModel(request, LoadedModel::Text::kNotNeeded, {}, {}));
            return;
        }
        LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
        static_cast<void>(run_bench(loaded, {64, 4, 1}, {}));
        compare(estimate, loaded, true);
    }
};

QTEST_GUILESS_MAIN(TestMemoryEstimate)
#include "tst_memory_estimate.moc"
