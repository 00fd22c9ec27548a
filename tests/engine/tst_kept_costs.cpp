// Measured costs on disk: what is written is what is read, damaged files are named, keys
// tell apart what differs.

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <QDirIterator>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/files/cache_folders.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan_messages.h"
#include "kernels/thread_pool.h"
#include "tests/engine/calibration_fixture.h"
#include "tests/fuzz/plan_files.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;
using namespace offstage::tests;

namespace {

CostTable fullTable() {
    CostTable t;
    t.device = "a \"device\"";
    t.weight_type = "BF16";
    t.hidden_dim = 4096;
    t.ffn_dim = 14336;
    t.expert_bytes = 352321536;
    t.pinned = true;
    t.weight_copy_us = 28000.25;
    t.activation_copy = {{1, 20.5}, {4, 21}};
    t.gpu_expert = {{1, 600.125}, {2, 601}};
    t.cpu_expert = {{1, 0.1 + 0.2}, {2, 9000}};
    t.sparse_cpu = {{0.25, 0.5}, {0.75, 1.125}};
    t.measured_at = 1795839671;
    t.disturbed = true;
    t.doubt = CostDoubt::kAnswered;
    t.sync_us = 12.5;
    t.cpu_slowdown = 1.25;
    t.copy_slowdown = 1.125;
    t.emulated = true;
    return t;
}

// An environment variable as it was, at the end.
class Variable {
  public:
    Variable(const char* name, const QByteArray& value) : name_(name), was_set_(qEnvironmentVariableIsSet(name)) {
        old_ = qgetenv(name);
        if (value.isNull())
            qunsetenv(name);
        else
            qputenv(name, value);
    }
    ~Variable() {
        if (was_set_)
            qputenv(name_, old_);
        else
            qunsetenv(name_);
    }

  private:
    const char* name_;
    bool was_set_;
    QByteArray old_;
};

}  // namespace

class TestKeptCosts : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---- quantizing and disks
    void quantizing_isMeasuredOnce_perFormat() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        const QuantizingSpeeds speeds = quantizing_speeds(kHidden, cache, {});
        for (int i = 0; i < kernels::kWeightTypes; ++i) {
            QCOMPARE(speeds[static_cast<std::size_t>(i)] > 0, kernels::is_packed(static_cast<kernels::WeightType>(i)));
        }
        // Twice the same to the last bit is kept, not measured.
        QVERIFY(quantizing_speeds(kHidden, cache, {}) == speeds);
        QVERIFY(quantizing_speeds(kHidden * 2, cache, {}) != speeds);
        QVERIFY(quantizing_speeds(kHidden + 8, cache, {}) == QuantizingSpeeds{});  // cannot be packed
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(quantizing_speeds(kHidden, cache, stop.get_token()) == speeds);
        QVERIFY_THROWS_EXCEPTION(Error, quantizing_speeds(kHidden, MeasurementStore(""), stop.get_token()));
    }

    void quantizingSpeeds_writtenAndParsed_areTheSame() {
        QuantizingSpeeds speeds{};
        speeds[static_cast<std::size_t>(kernels::WeightType::kHqq4)] = 1234567.125;
        speeds[static_cast<std::size_t>(kernels::WeightType::kInt8)] = 0.1 + 0.2;
        const std::string text = stored_text(speeds);
        QVERIFY(parse_stored<QuantizingSpeeds>(text, "s.json") == speeds);
        QVERIFY(parse_stored<QuantizingSpeeds>("{}", "s.json") == QuantizingSpeeds{});
        for (const char* damaged : {"", "[", "{\"HQQ4\": -1}", "{\"HQQ4\": 1e300}", "{\"HQQ4\": \"fast\"}"}) {
            try {
                parse_stored<QuantizingSpeeds>(damaged, "s.json");
                QFAIL(damaged);
            } catch (const Error& error) {
                QVERIFY2(QString(error.what()).startsWith("s.json"), error.what());
            }
        }
        // A table and speeds under one key are not taken for each other.
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        cache.store("a", speeds);
        QuantizingSpeeds found{};
        CostTable table;
        QVERIFY(cache.load("a", found) && found == speeds);
        QVERIFY(!cache.load("a", table) && !cache.load("b", found));
        cache.store("a", fullTable());
        QVERIFY(!cache.load("a", found) && cache.load("a", table));
    }

    // Costs that were stored before one of their parts was measured are measured anew.
    void diskReads_areKeptWithTheirParts() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        cache.store("a", DiskReadCost{1500, 120, 70, 1560, 86400, CostDoubt::kAnswered});
        DiskReadCost found;
        QVERIFY(cache.load("a", found));
        QCOMPARE(found.us, 1500.0);
        QCOMPARE(found.cpu_us, 120.0);
        QCOMPARE(found.latency_us, 70.0);
        QCOMPARE(found.check_us, 1560.0);
        QCOMPARE(found.measured_at, std::int64_t{86400});
        QCOMPARE(found.doubt, CostDoubt::kAnswered);
        QDirIterator files(folder.path(), QDir::Files, QDirIterator::Subdirectories);
        QVERIFY(files.hasNext());
        QFile file(files.next());
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.readAll();
        file.close();
        for (const QByteArray part : {"\"cpu_us\"", "\"latency_us\"", "\"check_us\"", "\"measured_at\""}) {
            QVERIFY(text.contains(part));
            QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
            file.write(QByteArray(text).replace(part, "\"other\""));
            file.close();
            DiskReadCost old;
            QVERIFY(!cache.load("a", old));
        }
    }

    void habits_areKept_andOldOnesCountLess() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        RoutingHabits habits;
        QCOMPARE(habits.guess_recall(), 0.8);
        QVERIFY(!habits.hit_rate(3).has_value());
        habits.add({{1, 7}, 3000, 900, {100, 300, 0, 600}});
        QCOMPARE(habits.guess_recall(), 0.3);
        QCOMPARE(habits.hit_rate(0).value(), 0.0);
        QCOMPARE(habits.hit_rate(1.5).value(), 0.25);
        QCOMPARE(habits.hit_rate(9).value(), 1.0);
        cache.store("a", habits);
        RoutingHabits found;
        QVERIFY(cache.load("a", found));
        QCOMPARE(found.guessable, 3000.0);
        QCOMPARE(found.guessed, 900.0);
        QCOMPARE(found.reused, habits.reused);
        QCOMPARE(found.calls, (std::vector<double>{1, 7}));
        const double most = RoutingHabits::kMostCalled;
        habits.add({{most, most}, most, most, {most, 0}});
        QVERIFY(habits.guessable <= most && habits.guess_recall() > 0.9);
        QVERIFY(habits.reused.front() <= most && habits.hit_rate(1).value() > 0.99);
        cache.store("a", habits);
        QVERIFY(cache.load("a", found));
        QCOMPARE(found.guess_recall(), habits.guess_recall());
        QCOMPARE(found.reused, habits.reused);
    }

    // ---- JSON
    void table_writtenAndParsed_isTheSame() {
        const CostTable t = fullTable();
        QVERIFY(same(parse_stored<CostTable>(stored_text(t), "t.json"), t));
        QVERIFY(!same(parse_stored<CostTable>(stored_text(t), "t.json"), CostTable{}));
        CostTable cpu = fullTable();
        cpu.gpu_expert.clear();
        cpu.activation_copy.clear();
        QVERIFY(same(parse_stored<CostTable>(stored_text(cpu), "t.json"), cpu));
    }

    void table_damaged_namesFileAndKey_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* from, const char* to, const char* message) {
            QTest::newRow(name) << from << to << message;
        };
        row("no JSON", "{", "(", "not valid JSON");
        row("a key is missing", "\"weight_copy_us\"", "\"weight_copy\"", "\"weight_copy_us\" is missing");
        row("a negative time", "28000.25", "-1", "\"weight_copy_us\" is -1");
        row("a time without end", "28000.25", "1e300", "\"weight_copy_us\"");
        row("a speed-up", "1.25", "0.5", "\"cpu_slowdown\" is 0.5");
        row("no tokens", "600.125", "-1", "\"gpu_expert_us\"");
        row("not ascending", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[2, 1],", "\"cpu_expert_us\"");
        row("falling", "0.30000000000000004", "9000.5", "\"cpu_expert_us\"");
        row("a share above 1", "0.75", "1.75", "\"sparse_cpu\"");
        row("no age", "\"measured_at\"", "\"measured\"", "\"measured_at\" is missing");
        row("no pair", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[1],", "\"cpu_expert_us\"");
        row("a fraction of a token", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[0.5, 1],", "\"cpu_expert_us\"");
        row("tokens beyond all bounds", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[18446744073709551615, 1],",
            "\"cpu_expert_us\"");
        row("a size of nothing", "352321536", "0", "\"expert_bytes\" is 0");
    }
    void table_damaged_namesFileAndKey() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, message);
        QString text = QString::fromStdString(stored_text(fullTable()));
        QVERIFY(text.contains(from));
        text.replace(text.indexOf(from), from.size(), to);
        try {
            parse_stored<CostTable>(text.toStdString(), "t.json");
            QFAIL("no error");
        } catch (const Error& error) {
            QVERIFY2(QString(error.what()).startsWith("t.json: "), error.what());
            QVERIFY2(QString(error.what()).contains(message), error.what());
        }
    }

    // ---- cache
    void cache_keepsTablesByKey() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString() + "/new/cache");
        CostTable found;
        QVERIFY(!cache.load("a", found));
        cache.store("a", fullTable());
        CostTable other = fullTable();
        other.weight_copy_us = 1;
        cache.store("b", other);
        QVERIFY(cache.load("a", found) && same(found, fullTable()));
        QVERIFY(cache.load("b", found) && same(found, other));
        QVERIFY(!cache.load("c", found));
        cache.store("a", other);
        QVERIFY(cache.load("a", found) && same(found, other));
    }

    void cache_withADamagedFile_hasNone_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::newRow("cut") << "\"version\""
                             << "";
        QTest::newRow("another version") << "\"version\": 5"
                                         << "\"version\": 1";
        QTest::newRow("another format") << "offstage-calibration"
                                        << "offstage";
        QTest::newRow("another key under the same hash") << "\"a key\""
                                                         << "\"another key\"";
        QTest::newRow("a damaged table") << "28000.25"
                                         << "null";
    }
    void cache_withADamagedFile_hasNone() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        cache.store("a key", fullTable());
        const auto file = std::filesystem::directory_iterator(folder.path().toStdString() + "/calibration")->path();
        QFile on_disk(QString::fromStdString(file.string()));
        QVERIFY(on_disk.open(QFile::ReadOnly));
        QString text = QString::fromUtf8(on_disk.readAll());
        on_disk.close();
        QVERIFY(text.contains(from));
        if (to.isEmpty())
            text.truncate(text.indexOf(from));
        else
            text.replace(from, to);
        QVERIFY(on_disk.open(QFile::WriteOnly));
        on_disk.write(text.toUtf8());
        on_disk.close();
        CostTable found;
        QVERIFY(!cache.load("a key", found));
        cache.store("a key", fullTable());
        QVERIFY(cache.load("a key", found));
    }

    void cache_withoutADirectory_keepsNothing_andOneThatCannotBeWrittenIsNoError() {
        CostTable found;
        for (const char* directory : {"", "/proc/none"}) {
            const MeasurementStore cache{std::filesystem::path(directory)};
            cache.store("a", fullTable());
            QVERIFY(!cache.load("a", found));
        }
    }

    void key_namesEverythingThatChangesTheTimes() {
        Fixture f;
        const auto key = [&](const Backend& device, const CpuOperations& host, kernels::WeightType type,
                             std::int64_t ffn) { return cost_key(place_of(device, host), type, grid(ffn)); };
        const std::string base = key(f.device, f.operations, kernels::WeightType::kBf16, kFfn);
        QVERIFY2(base.find("BF16 256x512") != std::string::npos, base.c_str());
        QVERIFY2(base.find(" x2 ") != std::string::npos, base.c_str());
        QVERIFY(base != key(f.device, f.operations, kernels::WeightType::kF16, kFfn));
        QVERIFY(base != key(f.device, f.operations, kernels::WeightType::kBf16, kFfn + 1));
        const std::string pageable =
            cost_key(place_of(f.device, f.operations), kernels::WeightType::kBf16, grid(), false);
        QCOMPARE(pageable, base + "|pageable");
        ExpertGrid clamped = grid();
        clamped.expert.activation = kernels::Activation::kClamped;
        ExpertGrid biased = clamped;
        biased.expert.biases = true;
        const std::string with = cost_key(place_of(f.device, f.operations), kernels::WeightType::kBf16, clamped);
        QVERIFY(base != with);
        QVERIFY(with != cost_key(place_of(f.device, f.operations), kernels::WeightType::kBf16, biased));
        kernels::ThreadPool three(3);
        CpuOperations more(three, kernels::GemmMode::kF32);
        QVERIFY(base != key(f.device, more, kernels::WeightType::kBf16, kFfn));
        CpuOperations bf16(f.pool, kernels::GemmMode::kBf16);
        QVERIFY(base != key(f.device, bf16, kernels::WeightType::kBf16, kFfn));
        HardwareProfile faster = profile();
        faster.bus_gbps = 2;
        Fixture other(std::uint64_t{64} << 20, faster);
        QVERIFY(base != key(other.device, f.operations, kernels::WeightType::kBf16, kFfn));
        QCOMPARE(base, key(f.device, f.operations, kernels::WeightType::kBf16, kFfn));
    }

    void cacheDirectory_followsTheEnvironment() {
        {
            const Variable xdg("XDG_CACHE_HOME", "/x");
            QCOMPARE(cache_directory(), std::filesystem::path("/x/offstage"));
        }
        const Variable home("HOME", "/h");
        {
            const Variable xdg("XDG_CACHE_HOME", "relative");
            QCOMPARE(cache_directory(), std::filesystem::path("/h/.cache/offstage"));
        }
        const Variable xdg("XDG_CACHE_HOME", QByteArray());
        QCOMPARE(cache_directory(), std::filesystem::path("/h/.cache/offstage"));
        const Variable none("HOME", QByteArray());
        QVERIFY(cache_directory().empty());
    }

    void storedInputs_keepTheReadersPromises() {
        QDirIterator files(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/cost_table", QDir::Files);
        int n = 0;
        for (; files.hasNext(); ++n) {
            QFile file(files.next());
            QVERIFY(file.open(QFile::ReadOnly));
            const std::string broken = offstage::tests::check_cost_table(file.readAll().toStdString());
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + ": " + QString::fromStdString(broken)));
        }
        QVERIFY(n > 0);
    }
};

QTEST_GUILESS_MAIN(TestKeptCosts)
#include "tst_kept_costs.moc"
