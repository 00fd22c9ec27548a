// The form of products by default: chosen once per machine, and not by noise.

#include <filesystem>
#include <fstream>
#include <random>

#include <QtTest>

#include "engine/device/cuda_backend.h"
#include "engine/plan/product_choice.h"
#include "engine/run/loaded_model.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::kernels::GemmMode;
using offstage::kernels::ProductForm;
using offstage::kernels::TrialProduct;
using offstage::kernels::WeightType;
using Origin = ComputeChoice::Origin;

namespace {

// A machine on which bf16 and inputs of 8 bits (for few and for many tokens) are this
// many times as fast, and which runs much other work: each timing is between slightly and
// many times too long; one of twenty is almost undisturbed.
class BusyMachine {
  public:
    // unpacking: float products with a file's blocks take this many times as long.
    explicit BusyMachine(double bf16_speed, double bytes_speed = 1, double prompts_speed = 1, double unpacking = 1)
        : bf16_us_(1000 / bf16_speed),
          bytes_us_(200 / bytes_speed),
          prompts_us_(1000 / prompts_speed),
          unpacking_(unpacking) {}

    ProductTimer timer() {
        return [this](TrialProduct product) {
            ++n_timings;
            const double us = product == TrialProduct::kManyF32          ? 1000.0
                              : product == TrialProduct::kManyBf16       ? bf16_us_
                              : product == TrialProduct::kManyBlocksF32  ? 1000.0 * unpacking_
                              : product == TrialProduct::kManyBlocksBf16 ? bf16_us_ * unpacking_
                              : product == TrialProduct::kManyByteInputs ? prompts_us_
                              : product == TrialProduct::kFewFloatInputs ? 200.0
                                                                         : bytes_us_;
            std::uniform_real_distribution<double> part(0, 1);
            const double disturbed = part(random_);
            return us * (1 + 2 * disturbed * disturbed + (part(random_) < 0.2 ? 10 * part(random_) : 0.0));
        };
    }

    int n_timings = 0;

  private:
    double bf16_us_;
    double bytes_us_;
    double prompts_us_;
    double unpacking_;
    std::mt19937_64 random_{11};
};

LoadRequest demo(const QTemporaryDir& caches) {
    LoadRequest request;
    request.model = demoModel();
    request.n_threads = 1;
    request.context = 64;
    request.cache_directory = caches.path().toStdString();
    return request;
}

std::string loadedWith(const LoadRequest& request, std::string* origin = nullptr) {
    const LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
    if (origin != nullptr) *origin = model.summary().compute_origin;
    return model.summary().compute;
}

}  // namespace

class TestComputeChoice : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void noise_doesNotDecide_data() {
        QTest::addColumn<double>("bf16_speed");
        QTest::addColumn<double>("bytes_speed");
        QTest::addColumn<double>("prompts_speed");
        QTest::addColumn<QString>("chosen");
        QTest::addColumn<double>("unpacking");
        QTest::newRow("half as fast") << 0.5 << 0.5 << 0.5 << "f32" << 1.0;
        QTest::newRow("nearly as fast") << 0.97 << 0.97 << 0.97 << "f32" << 1.0;
        QTest::newRow("as fast") << 1.0 << 1.0 << 1.0 << "f32" << 1.0;
        QTest::newRow("a little faster") << 1.06 << 1.06 << 1.06 << "f32" << 1.0;
        QTest::newRow("bf16 twice as fast") << 2.0 << 1.0 << 1.0 << "bf16" << 1.0;
        QTest::newRow("bytes twice as fast") << 1.0 << 2.0 << 2.0 << "f32 and int8" << 1.0;
        QTest::newRow("bytes of few tokens alone") << 1.0 << 2.0 << 1.06 << "f32, int8 for few tokens" << 1.0;
        QTest::newRow("bytes of many tokens alone") << 1.0 << 1.06 << 4.0 << "f32" << 1.0;
        QTest::newRow("bf16 as fast as bytes of many") << 3.0 << 2.0 << 3.0 << "bf16, int8 for few tokens" << 1.0;
        QTest::newRow("bf16 as fast until it unpacks blocks") << 3.0 << 2.0 << 3.0 << "bf16 and int8" << 2.0;
        QTest::newRow("all faster") << 2.0 << 2.0 << 4.0 << "bf16 and int8" << 1.0;
    }
    // Thirty machines alike, each measured for the first time under load.
    void noise_doesNotDecide() {
        QFETCH(double, bf16_speed);
        QFETCH(double, bytes_speed);
        QFETCH(double, prompts_speed);
        QFETCH(QString, chosen);
        QFETCH(double, unpacking);
        BusyMachine machine(bf16_speed, bytes_speed, prompts_speed, unpacking);
        for (int i = 0; i < 30; ++i) {
            const QTemporaryDir caches;
            const MeasurementStore cache{std::filesystem::path(caches.path().toStdString())};
            const ComputeChoice choice = choose_compute({}, WeightType::kBf16, cache, machine.timer());
            QCOMPARE(QString::fromStdString(name_of(choice.form)), chosen);
            QCOMPARE(choice.origin, Origin::kMeasured);
        }
        QCOMPARE(machine.n_timings, 30 * 7 * kProductTurns);
    }

    void thirtyLoads_areOneChoice_andOneMeasurement() {
        const QTemporaryDir caches;
        BusyMachine machine(2.0);
        LoadRequest request = demo(caches);
        request.times_product = machine.timer();
        std::string origin;
        for (int load = 0; load < 30; ++load) {
            request.n_threads = 1 + load % 2;  // no other choice for other threads
            QCOMPARE(loadedWith(request, &origin), std::string("bf16"));
            QVERIFY2(origin.find("measured on 2") == 0, origin.c_str());
            QCOMPARE(machine.n_timings, 7 * kProductTurns);
        }
    }

    void unwritableCache_isF32_howeverFastBf16Looks() {
        const QTemporaryDir folder;
        const std::string file = (folder.path() + QStringLiteral("/file")).toStdString();
        std::ofstream(file) << "no folder";
        BusyMachine machine(2.0);
        LoadRequest request = demo(folder);
        request.cache_directory = file;
        request.times_product = machine.timer();
        std::string origin;
        QCOMPARE(loadedWith(request, &origin), std::string("f32"));
        QVERIFY2(origin.find("could not be kept") != std::string::npos, origin.c_str());
    }

    void damagedFile_isMeasuredAgain() {
        const QTemporaryDir caches;
        const std::filesystem::path folder(caches.path().toStdString());
        const MeasurementStore cache{folder};
        BusyMachine machine(2.0);
        QCOMPARE(choose_compute({}, WeightType::kBf16, cache, machine.timer()).origin, Origin::kMeasured);
        QCOMPARE(choose_compute({}, WeightType::kBf16, cache, machine.timer()).origin, Origin::kKept);
        int n_files = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
            if (!entry.is_regular_file()) continue;
            ++n_files;
            std::ofstream(entry.path(), std::ios::trunc) << "{\"format\": \"offstage-calibration\"";
        }
        QCOMPARE(n_files, 1);
        QVERIFY(!kept_compute(WeightType::kBf16, cache).has_value());
        QCOMPARE(choose_compute({}, WeightType::kBf16, cache, machine.timer()).origin, Origin::kMeasured);
        QCOMPARE(machine.n_timings, 2 * 7 * kProductTurns);
    }

    void whatIsAskedFor_andFloat32Weights_areNotMeasured() {
        const QTemporaryDir caches;
        const MeasurementStore cache{std::filesystem::path(caches.path().toStdString())};
        BusyMachine machine(2.0);
        const ComputeChoice asked =
            choose_compute(ProductForm(GemmMode::kBf16), WeightType::kF32, cache, machine.timer());
        QVERIFY(asked.form == ProductForm(GemmMode::kBf16) && asked.origin == Origin::kAskedFor);
        const ComputeChoice weights = choose_compute({}, WeightType::kF32, cache, machine.timer());
        QVERIFY(weights.form == ProductForm() && weights.origin == Origin::kWeights);
        QCOMPARE(machine.n_timings, 0);
        QVERIFY(QDir(caches.path()).isEmpty());
    }

    // A GPU (here without one: tests/cuda_host) on which 8 bits are faster only for some
    // types, and for different ones with few rows and with many.
    void aDevice_roundsWhereThatIsFaster() {
        using offstage::kernels::ByteInputTypes;
        using offstage::kernels::ProductRows;
        using DeviceOrigin = DeviceProducts::Origin;
        cuda_host::reset();
        const QTemporaryDir caches;
        const MeasurementStore cache{std::filesystem::path(caches.path().toStdString())};
        const auto device = make_cuda_backend(offstage::kernels::open_cuda_context_on_host(0), 0, 1 << 20);
        const std::string fingerprint = device->info().fingerprint;
        int n_timings = 0;
        const DeviceProductTimer timer = [&](WeightType type, ProductRows rows, bool bytes) {
            ++n_timings;
            const bool faster = type == WeightType::kQ4K || (type == WeightType::kQ6K && rows == ProductRows::kMany) ||
                                (type == WeightType::kQ8_0 && rows == ProductRows::kManyOfSmallExperts);
            if (!bytes) return 100.0 + n_timings % 3;
            if (faster) return 50.0;
            // A little faster is enough for few rows, and not for many.
            return rows == ProductRows::kFew && type != WeightType::kQ8_0 ? 105.0 : 95.0;
        };
        const auto chosen = [&](ComputeMode mode, WeightType weights = WeightType::kQ4K) {
            return choose_device_products(*device, mode, weights, cache, timer);
        };
        QCOMPARE(chosen(ComputeMode::kAuto, WeightType::kBf16).origin, DeviceOrigin::kNoChoice);
        QCOMPARE(chosen(ComputeMode::kF32).types == ByteInputTypes(), true);
        QCOMPARE(device->info().fingerprint, fingerprint);
        QCOMPARE(chosen(ComputeMode::kInt8).types == ByteInputTypes::all(), true);
        QVERIFY(device->info().fingerprint != fingerprint);
        QCOMPARE(known_device_products(*device, ComputeMode::kAuto, WeightType::kQ4K, cache).origin,
                 DeviceOrigin::kNotYet);
        QCOMPARE(n_timings, 0);

        const DeviceProducts first = chosen(ComputeMode::kAuto);
        QCOMPARE(first.origin, DeviceOrigin::kMeasured);
        QCOMPARE(first.types.few, ByteInputTypes::bit(WeightType::kQ4K) | ByteInputTypes::bit(WeightType::kQ8_0));
        QCOMPARE(first.types.many, ByteInputTypes::bit(WeightType::kQ4K) | ByteInputTypes::bit(WeightType::kQ6K));
        QCOMPARE(first.types.small_experts,
                 ByteInputTypes::bit(WeightType::kQ4K) | ByteInputTypes::bit(WeightType::kQ8_0));
        QCOMPARE(name_of(first), std::string("int8 inputs with Q8_0 Q4_K, of many tokens with Q6_K Q4_K, of many "
                                             "tokens with small experts with Q8_0 Q4_K"));
        const auto inputs = [&](WeightType type, ProductRows rows) {
            return std::string(inputs_of(first, type, rows));
        };
        QCOMPARE(inputs(WeightType::kQ4K, ProductRows::kFew), std::string("int8"));
        QCOMPARE(inputs(WeightType::kQ6K, ProductRows::kFew), std::string("f32"));
        QCOMPARE(inputs(WeightType::kQ6K, ProductRows::kMany), std::string("int8"));
        QCOMPARE(inputs(WeightType::kQ8_0, ProductRows::kMany), std::string("f32"));
        QCOMPARE(inputs(WeightType::kQ8_0, ProductRows::kManyOfSmallExperts), std::string("int8"));
        QVERIFY(device->info().fingerprint != fingerprint);
        const int once = n_timings;
        QVERIFY(once > 0);
        const DeviceProducts second = chosen(ComputeMode::kAuto, WeightType::kQ6K);
        QCOMPARE(second.origin, DeviceOrigin::kKept);
        QVERIFY(second.types == first.types);
        QCOMPARE(describe(second), describe(first));
        QCOMPARE(n_timings, once);

        // A file of before the third choice.
        for (const auto& entry : std::filesystem::recursive_directory_iterator(caches.path().toStdString())) {
            if (!entry.is_regular_file()) continue;
            QFile file(QString::fromStdString(entry.path().string()));
            QVERIFY(file.open(QIODevice::ReadOnly));
            QByteArray text = file.readAll();
            file.close();
            QVERIFY(text.contains("small_experts_float_us"));
            text.replace("small_experts_float_us", "other");
            QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate) && file.write(text) == text.size());
        }
        QCOMPARE(chosen(ComputeMode::kAuto).origin, DeviceOrigin::kMeasured);
        QCOMPARE(n_timings, 2 * once);

        const MeasurementStore none{std::filesystem::path()};
        QCOMPARE(choose_device_products(*device, ComputeMode::kAuto, WeightType::kQ4K, none, timer).origin,
                 DeviceOrigin::kCannotKeep);
        QCOMPARE(device->info().fingerprint, fingerprint);
        // Its own products, which have no room here.
        const MeasurementStore other{std::filesystem::path((caches.path() + QStringLiteral("/other")).toStdString())};
        QCOMPARE(choose_device_products(*device, ComputeMode::kAuto, WeightType::kQ4K, other).origin,
                 DeviceOrigin::kNoRoom);
        QVERIFY(device->ok());
    }

    // Its own products, of a size that threads in the place of a GPU's take.
    void aDevicesOwnProducts_areMeasured() {
        using namespace offstage::kernels;
        cuda_host::reset();
        const auto device = make_cuda_backend(open_cuda_context_on_host(0), 0, 64 << 20);
        constexpr DeviceTrialShape kSmall{.n_rows = 16,
                                          .n_columns = 256,
                                          .n_inputs = 9,
                                          .hidden_dim = 256,
                                          .ffn_dim = 256,
                                          .n_experts = 1,
                                          .n_rows_of_each = 9,
                                          .wide_hidden_dim = 512,
                                          .wide_ffn_dim = 256,
                                          .n_wide = 2,
                                          .n_narrow = 3,
                                          .weight_bytes = 24 << 10,
                                          .n_turns = 1,
                                          .n_few_turns = 1,
                                          .n_products = 1};
        const std::string fingerprint = device->info().fingerprint;
        const auto times = measure_device_products(*device, kSmall);
        QVERIFY2(device->ok() && times, device->failure().english().c_str());
        // The products of a token are timed in a graph, as they are decoded: of each type
        // with either inputs, and one more at first.
        const std::uint64_t n_sequences = 2 * times->types.size() + 1;
        QCOMPARE(device->replays().n_graphs, n_sequences);
        QCOMPARE(device->replays().n_replayed, 3 * n_sequences);
        for (const FormatTraits& format : kFormats) {
            QCOMPARE(times->types.contains(format.type), format.is_blocks());
            if (!format.is_blocks()) continue;
            for (const DeviceProductTimes::Pair& pair : times->types.at(format.type)) {
                QVERIFY2(pair.float_us > 0 && pair.bytes_us > 0, format.name);
            }
        }
        QCOMPARE(device->info().fingerprint, fingerprint);  // it rounds nothing now
    }

    // On this machine, with any result.
    void realProducts_areMeasuredOnce() {
        const QTemporaryDir caches;
        const MeasurementStore cache{std::filesystem::path(caches.path().toStdString())};
        const ComputeChoice first = choose_compute({}, WeightType::kBf16, cache);
        const ComputeChoice second = choose_compute({}, WeightType::kBf16, cache);
        QCOMPARE(first.origin, Origin::kMeasured);
        QCOMPARE(second.origin, Origin::kKept);
        QVERIFY(second.form == first.form);
        QVERIFY(first.times.f32_us > 0 && first.times.bf16_us > 0);
        QVERIFY(first.times.float_inputs_us > 0 && first.times.byte_inputs_us > 0 && first.times.byte_prompts_us > 0);
        QCOMPARE(second.times.f32_us, first.times.f32_us);
        QCOMPARE(describe(second), describe(first));
    }
};

QTEST_GUILESS_MAIN(TestComputeChoice)
#include "tst_compute_choice.moc"
