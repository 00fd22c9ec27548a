#include <cmath>
#include <fstream>

#include <QDirIterator>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/model/expert_strips.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/plan/planner.h"
#include "engine/plan/sensitivity.h"
#include "engine/quant/expert_source.h"
#include "engine/quant/quantizer.h"
#include "tests/engine/test_models.h"
#include "tests/fuzz/plan_files.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::WeightType;

namespace {

constexpr WeightType kPacked[] = {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2};

// Normally distributed, by Box and Muller's method.
std::vector<float> normal(std::size_t n) {
    std::vector<float> values(n);
    std::uint64_t state = 42;
    const auto uniform = [&state] {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (static_cast<double>(state >> 11) + 0.5) * 0x1p-53;
    };
    for (std::size_t i = 0; i + 1 < n; i += 2) {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        const double angle = 6.283185307179586 * uniform();
        values[i] = static_cast<float>(0.02 * radius * std::cos(angle));
        values[i + 1] = static_cast<float>(0.02 * radius * std::sin(angle));
    }
    return values;
}

Sensitivity small() {
    Sensitivity s;
    s.n_layers = 2;
    s.n_experts = 3;
    s.source = "by hand";
    s.formats = {{WeightType::kHqq4, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}}, {WeightType::kHqq2, {1, 1, 1, 1, 1, 0.125}}};
    return s;
}

std::string document(const std::string& errors) {
    return R"({"source": "s", "n_layers": 1, "n_experts": 2, "errors": )" + errors + "}";
}

// Of all experts in one format.
double loss_in(WeightType format, const Sensitivity& sensitivity, const Popularity& popularity) {
    const auto n = static_cast<std::size_t>(sensitivity.n_layers * sensitivity.n_experts);
    return predicted_loss(std::vector(n, format), sensitivity, popularity);
}

}  // namespace

class TestSensitivity : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void typicalErrors_areThoseOfNormalWeights() {
        const std::vector<float> weights = normal(64 * 4096);
        const Sensitivity typical = Sensitivity::typical(3, 5);
        kernels::ThreadPool pool(2);
        for (const WeightType format : kPacked) {
            std::vector<std::byte> out(64 * kernels::row_bytes(format, 4096));
            const double measured =
                Quantizer(pool).quantize({weights.data(), WeightType::kF32, 64, 4096}, format, out.data()).relative();
            const double expected = typical.error(format, 2, 4);
            QVERIFY2(std::abs(measured / expected - 1) < 0.02,
                     qPrintable(QString("%1: %2").arg(kernels::name_of(format)).arg(measured)));
        }
        QCOMPARE(typical.error(WeightType::kBf16, 0, 0), 0.0);
    }

    void loss_isErrorSquaredByUse() {
        const Sensitivity s = small();
        Popularity popularity = Popularity::uniform(2, 3, 2);
        QVERIFY(std::abs(loss_in(WeightType::kHqq4, s, popularity) - 0.91 / 6) < 1e-12);
        popularity.counts = {0, 50, 50, 10, 40, 50};
        const double used = 0.02 / 2 + 0.045 / 2 + 0.016 * 0.1 * 5 + 0.25 * 0.2 + 0.36 * 0.25;
        QVERIFY(std::abs(loss_in(WeightType::kHqq4, s, popularity) - used) < 1e-12);
        QCOMPARE(loss_in(WeightType::kBf16, s, popularity), 0.0);
        // A plan with every expert in one format of error e has loss e^2.
        const Sensitivity typical = Sensitivity::typical(2, 3);
        const double whole = loss_in(WeightType::kHqq3, typical, popularity);
        QVERIFY(std::abs(whole - std::pow(typical.error(WeightType::kHqq3, 0, 0), 2)) < 1e-12);
    }

    void measured_onASample_isNearTheWholeExpert() {
        kernels::ThreadPool pool(2);
        ModelSpec spec = read_model_spec(test::demoModel());
        const auto master = open_weights(Checkpoint::open(test::demoModel()), spec, false, pool);
        std::int64_t told = 0;
        const Sensitivity measured =
            measure_sensitivity(spec.experts, *master, pool, [&](std::int64_t done, std::int64_t all) {
                QCOMPARE(done, ++told);
                QCOMPARE(all, 64);
            });
        QCOMPARE(told, 64);
        QCOMPARE(measured.formats.size(), Sensitivity::typical(1, 1).formats.size());
        ExpertSource source(spec.experts, *master, nullptr);
        for (const WeightType format : kPacked) {
            for (const std::int32_t i : {0, 27, 63}) {
                std::vector<std::byte> block(source.expert_bytes(format));
                const double whole =
                    source.pack(LayerIndex{i / 8}, ExpertIndex{i % 8}, format, block.data(), pool).relative_error;
                QVERIFY(std::abs(measured.error(format, i / 8, i % 8) / whole - 1) < 0.02);
            }
        }
        const Sensitivity typical = Sensitivity::typical(8, 8);
        for (std::int64_t i = 0; i < 64; ++i) {
            QVERIFY(std::abs(measured.error(WeightType::kHqq3, i / 8, i % 8) / typical.error(WeightType::kHqq3, 0, 0) -
                             1) < 0.15);
        }
    }

    void measuring_stops() {
        kernels::ThreadPool pool(1);
        const SyntheticModel model = parse_synthetic("synthetic:fine?layers=1");
        const auto master = draw_weights(model, pool);
        std::stop_source stop;
        std::int64_t n = 0;
        try {
            measure_sensitivity(
                model.spec.experts, *master, pool,
                [&](std::int64_t done, std::int64_t) {
                    n = done;
                    if (done == 2) stop.request_stop();
                },
                stop.get_token());
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kCancelled);
            QCOMPARE(n, 2);
        }
    }

    void kept_isTheSame() {
        const QTemporaryDir folder;
        const MeasurementStore store(folder.path().toStdString(), "sensitivity");
        Sensitivity s = small();
        s.formats[0].errors[3] = 0.1 + 0.2;
        s.source = "quotes \"";
        QCOMPARE(store.store("a", s), std::string());
        Sensitivity kept;
        QVERIFY(!store.load("b", kept));
        QVERIFY(store.load("a", kept));
        QCOMPARE(kept.source, s.source);
        QCOMPARE(kept.formats.size(), s.formats.size());
        for (const WeightType format : {WeightType::kHqq4, WeightType::kHqq2}) {
            for (std::int64_t i = 0; i < 6; ++i) {
                QCOMPARE(kept.error(format, i / 3, i % 3), s.error(format, i / 3, i % 3));
            }
        }
    }

    void modelFingerprints_differ_andAreTheModels() {
        kernels::ThreadPool pool(1);
        std::vector<Fingerprint> seen;
        for (const std::string& folder : {test::demoModel(), test::tinyModel("grouped_bf16")}) {
            ModelSpec spec = read_model_spec(folder);
            const auto one = open_weights(Checkpoint::open(folder), spec, false, pool)->model_fingerprint();
            const auto two = open_weights(Checkpoint::open(folder), spec, false, pool)->model_fingerprint();
            QVERIFY(one.has_value() && one == two);
            seen.push_back(*one);
        }
        for (const char* name :
             {"synthetic:fine", "synthetic:fine?seed=2", "synthetic:fine?layers=3", "synthetic:fine?vocab=500"}) {
            seen.push_back(*draw_weights(parse_synthetic(name), pool)->model_fingerprint());
        }
        std::sort(seen.begin(), seen.end());
        QVERIFY(std::unique(seen.begin(), seen.end()) == seen.end());
    }

    void modelFingerprint_seesEachExpertsMatrices() {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath(QStringLiteral("m.gguf")).toStdString();
        std::filesystem::copy_file(
            test::sourcePath(QStringLiteral("tests/engine/data/gguf/qwen3_moe_bf16.gguf")).toStdString(), file);
        kernels::ThreadPool pool(1);
        ModelSpec spec = read_model_spec(file);
        const auto source = open_weights(Checkpoint::open(file), spec, false, pool);
        const auto& experts = dynamic_cast<const FileExperts&>(*source);
        const Fingerprint whole = *source->model_fingerprint();
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        const auto turn = [&](std::uint64_t offset) {  // one bit, and back
            bytes.seekg(static_cast<std::streamoff>(offset));
            const int byte = bytes.get();
            bytes.seekp(static_cast<std::streamoff>(offset));
            bytes.put(static_cast<char>(byte ^ 1)).flush();
        };
        QCOMPARE(spec.experts.n_experts, 16);
        for (std::int32_t layer = 0; layer < spec.experts.n_layers; ++layer) {
            for (std::int32_t expert = 0; expert < spec.experts.n_experts; ++expert) {
                const auto strips = experts.expert_strips(LayerIndex{layer}, ExpertIndex{expert}, 1 << 30);
                QCOMPARE(strips.size(), std::size_t{3});
                for (const ExpertStrip& strip : strips) {
                    turn(strip.weights.offset);
                    QVERIFY(*source->model_fingerprint() != whole);
                    turn(strip.weights.offset);
                }
            }
        }
        QVERIFY(*source->model_fingerprint() == whole);
    }

    void damaged_isRefused_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("key");
        const auto row = [](const char* name, const std::string& text, const char* key) {
            QTest::newRow(name) << QString::fromStdString(text) << QString(key);
        };
        row("no errors", R"({"source": "s", "n_layers": 1, "n_experts": 1})", "errors");
        row("errors no object", document("[]"), "errors");
        row("an expert too many", document(R"({"HQQ4": [1, 1, 1]})"), "errors.HQQ4");
        row("an expert too few", document(R"({"HQQ4": [1]})"), "errors.HQQ4");
        row("a text", document(R"({"HQQ4": [1, "1"]})"), "errors.HQQ4");
        row("negative", document(R"({"HQQ4": [1, -1]})"), "errors.HQQ4");
        row("too large", document(R"({"HQQ4": [1, 11]})"), "errors.HQQ4");
    }
    void damaged_isRefused() {
        QFETCH(QString, text);
        QFETCH(QString, key);
        try {
            tests::parse_stored<Sensitivity>(text.toStdString(), "s.json");
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kInvalidModel);
            QVERIFY2(QString(error.what()).startsWith("s.json: "), error.what());
            QVERIFY2(QString(error.what()).contains("\"" + key + "\""), error.what());
        }
    }

    void storedInputs_keepTheReadersPromises() {
        QDirIterator files(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/sensitivity", QDir::Files);
        int n = 0;
        for (; files.hasNext(); ++n) {
            QFile file(files.next());
            QVERIFY(file.open(QFile::ReadOnly));
            const std::string broken = tests::check_sensitivity(file.readAll().toStdString());
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + ": " + QString::fromStdString(broken)));
        }
        QVERIFY(n > 0);
    }
};

QTEST_GUILESS_MAIN(TestSensitivity)
#include "tst_sensitivity.moc"
