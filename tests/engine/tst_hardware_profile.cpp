#include <filesystem>
#include <fstream>

#include <QTemporaryDir>
#include <QTest>

#include "engine/device/hardware_profile.h"
#include "engine/error.h"

using namespace offstage::engine;

namespace {

constexpr const char* kGood = R"({
    "name": "Some GPU", "memory_bytes": 8000, "reserved_bytes": 1000, "memory_gbps": 100.0, "memory_efficiency": 0.5,
    "tflops": 10, "compute_efficiency": 0.25, "bus_gbps": 16.0, "bus_efficiency": 0.75, "launch_us": 5, "sync_us": 10,
    "copy_latency_us": 7, "source": "made up",
    "host": {"name": "Some CPU", "read_gbps": 40, "dram_gbps": 50, "gflops": 500}
})";

std::string error_of(const std::string& json) {
    try {
        static_cast<void>(parse_hardware_profile(json, "dir/gpu.json"));
    } catch (const Error& error) {
        return error.kind() == ErrorKind::kInvalidInput ? error.what() : "another kind of error";
    }
    return {};
}

}  // namespace

class TestHardwareProfile : public QObject {
    Q_OBJECT

  private slots:
    void parse_whole_profile();
    void parse_without_host();
    void error_names_file_and_key_data();
    void error_names_file_and_key();
    void operation_is_launch_and_roofline();
    void shipped_profiles_are_whole_data();
    void shipped_profiles_are_whole();
    void find_reads_file_and_id();
    void find_unknown_lists_those_there_are();
};

void TestHardwareProfile::parse_whole_profile() {
    const HardwareProfile profile = parse_hardware_profile(kGood, "dir/gpu.json");
    QCOMPARE(profile.id, std::string("gpu"));
    QCOMPARE(profile.name, std::string("Some GPU"));
    QCOMPARE(profile.memory_bytes, 8000u);
    QCOMPARE(profile.reserved_bytes, 1000u);
    QCOMPARE(profile.bus_efficiency, 0.75);
    QCOMPARE(profile.source, std::string("made up"));
    QVERIFY(profile.host.has_value());
    QCOMPARE(profile.host->name, std::string("Some CPU"));
    QCOMPARE(profile.host->read_gbps, 40.0);
    QCOMPARE(profile.host->dram_gbps, 50.0);
    QCOMPARE(profile.host->gflops, 500.0);
}

void TestHardwareProfile::parse_without_host() {
    std::string json = kGood;
    json.replace(json.find(",\n    \"host\""), std::string::npos, "}");
    QVERIFY(!parse_hardware_profile(json, "gpu.json").host.has_value());
}

void TestHardwareProfile::error_names_file_and_key_data() {
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("to");
    QTest::addColumn<QString>("named");
    const auto add = [](const char* row, const char* from, const char* to, const char* named) {
        QTest::addRow("%s", row) << from << to << named;
    };
    add("missing", "\"tflops\": 10,", "", "tflops");
    add("zero rate", "\"tflops\": 10", "\"tflops\": 0", "tflops");
    add("negative rate", "\"bus_gbps\": 16.0", "\"bus_gbps\": -1", "bus_gbps");
    add("not finite", "\"tflops\": 10", "\"tflops\": 1e999", "not valid JSON");
    add("text for a number", "\"launch_us\": 5", "\"launch_us\": \"5\"", "launch_us");
    add("negative latency", "\"sync_us\": 10", "\"sync_us\": -0.1", "sync_us");
    add("share above one", "\"memory_efficiency\": 0.5", "\"memory_efficiency\": 1.5", "memory_efficiency");
    add("no memory", "\"memory_bytes\": 8000", "\"memory_bytes\": 0", "memory_bytes");
    add("fraction of a byte", "\"memory_bytes\": 8000", "\"memory_bytes\": 1.5", "memory_bytes");
    add("more reserved than there is", "\"reserved_bytes\": 1000", "\"reserved_bytes\": 8000", "reserved_bytes");
    add("unknown key", "\"source\"", "\"sauce\"", "sauce");
    add("unknown key of the host", "\"gflops\"", "\"tflops\"", "host.tflops");
    add("host incomplete", ", \"gflops\": 500", "", "host.gflops");
    add("host no object", R"({"name": "Some CPU", "read_gbps": 40, "dram_gbps": 50, "gflops": 500})", "7", "host");
    add("memory slower than its reader", "\"dram_gbps\": 50", "\"dram_gbps\": 39", "host.dram_gbps");
    add("key twice", "\"source\"", "\"name\"", "name");
    add("cut short", "\"source\": \"made up\",", "", "source");
}

void TestHardwareProfile::error_names_file_and_key() {
    QFETCH(QString, from);
    QFETCH(QString, to);
    QFETCH(QString, named);
    QString json = kGood;
    QVERIFY(json.contains(from));
    json.replace(from, to);
    const QString error = QString::fromStdString(error_of(json.toStdString()));
    QVERIFY2(error.startsWith("dir/gpu.json: "), qPrintable(error));
    QVERIFY2(error.contains(named), qPrintable(error));
}

void TestHardwareProfile::operation_is_launch_and_roofline() {
    const HardwareProfile profile = parse_hardware_profile(kGood, "gpu.json");
    // 100 GB/s, half of it reached: 50,000 bytes a microsecond; 10 TFLOPS, a quarter
    // reached: 2.5e6 operations.
    QCOMPARE(profile.operation_us(0, 0), 5.0);
    QCOMPARE(profile.operation_us(500'000, 0), 15.0);
    QCOMPARE(profile.operation_us(500'000, 2.5e7), 15.0);
    QCOMPARE(profile.operation_us(500'000, 5e7), 25.0);
    QCOMPARE(profile.copy_us(0), 7.0);
    QCOMPARE(profile.copy_us(120'000), 17.0);
}

void TestHardwareProfile::shipped_profiles_are_whole_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<int>("gib");
    QTest::addColumn<double>("bus_gbps");
    QTest::addColumn<bool>("host");
    QTest::addRow("t4") << "t4" << 16 << 15.75 << false;
    QTest::addRow("rtx-3060") << "rtx-3060" << 12 << 31.5 << false;
    QTest::addRow("rtx-3090-ti") << "rtx-3090-ti" << 24 << 31.5 << false;
    QTest::addRow("rtx-4090") << "rtx-4090" << 24 << 31.5 << false;
    QTest::addRow("rtx-6000") << "rtx-6000" << 24 << 15.75 << false;
    QTest::addRow("rtx-6000-ada") << "rtx-6000-ada" << 48 << 31.5 << false;
    QTest::addRow("a100") << "a100" << 80 << 31.5 << false;
    QTest::addRow("h200") << "h200" << 141 << 63.0 << false;
    QTest::addRow("rtx-3070-laptop") << "rtx-3070-laptop" << 8 << 31.5 << false;
    QTest::addRow("rtx-3070") << "rtx-3070" << 8 << 31.5 << false;
    QTest::addRow("rtx-3080") << "rtx-3080" << 10 << 31.5 << false;
    QTest::addRow("rtx-3090") << "rtx-3090" << 24 << 31.5 << false;
    QTest::addRow("rtx-4060-laptop") << "rtx-4060-laptop" << 8 << 15.75 << false;
    QTest::addRow("rtx-4060-ti-16gb") << "rtx-4060-ti-16gb" << 16 << 15.75 << false;
    QTest::addRow("rtx-4060") << "rtx-4060" << 8 << 15.75 << false;
    QTest::addRow("rtx-4070") << "rtx-4070" << 12 << 31.5 << false;
    QTest::addRow("rtx-4080") << "rtx-4080" << 16 << 31.5 << false;
    QTest::addRow("rtx-4090-laptop") << "rtx-4090-laptop" << 16 << 31.5 << false;
    QTest::addRow("rtx-5060-ti-16gb") << "rtx-5060-ti-16gb" << 16 << 31.5 << false;
    QTest::addRow("rtx-5060") << "rtx-5060" << 8 << 31.5 << false;
    QTest::addRow("rtx-5070-ti-laptop") << "rtx-5070-ti-laptop" << 12 << 63.0 << false;
    QTest::addRow("rtx-5070") << "rtx-5070" << 12 << 63.0 << false;
    QTest::addRow("rtx-5080") << "rtx-5080" << 16 << 63.0 << false;
    QTest::addRow("rtx-5090-laptop") << "rtx-5090-laptop" << 24 << 63.0 << false;
    QTest::addRow("rtx-5090") << "rtx-5090" << 32 << 63.0 << false;
    QTest::addRow("rtx-4060-laptop-i7") << "rtx-4060-laptop-i7" << 8 << 15.75 << true;
    QTest::addRow("rtx-3060-desktop") << "rtx-3060-desktop" << 12 << 15.75 << true;
    QTest::addRow("rtx-3090-desktop") << "rtx-3090-desktop" << 24 << 31.5 << true;
    QTest::addRow("rtx-4090-desktop") << "rtx-4090-desktop" << 24 << 31.5 << true;
    QTest::addRow("corm") << "corm" << 24 << 31.5 << true;
    QTest::addRow("fiddler-env1") << "fiddler-env1" << 24 << 15.75 << true;
    QTest::addRow("fiddler-env2") << "fiddler-env2" << 48 << 31.5 << true;
}

void TestHardwareProfile::shipped_profiles_are_whole() {
    QFETCH(QString, id);
    QFETCH(int, gib);
    QFETCH(double, bus_gbps);
    QFETCH(bool, host);
    const HardwareProfile profile = find_hardware_profile(id.toStdString());
    QCOMPARE(profile.id, id.toStdString());
    QCOMPARE(profile.memory_bytes, static_cast<std::uint64_t>(gib) << 30);
    QCOMPARE(profile.bus_gbps, bus_gbps);
    QCOMPARE(profile.host.has_value(), host);
    QVERIFY(!profile.source.empty());
    const std::vector<std::string> ids = hardware_profile_ids();
    QVERIFY(std::find(ids.begin(), ids.end(), profile.id) != ids.end());
}

void TestHardwareProfile::find_reads_file_and_id() {
    const QTemporaryDir dir;
    const std::filesystem::path path = dir.filePath("hardware/mine.json").toStdString();
    std::filesystem::create_directory(path.parent_path());
    std::ofstream(path) << kGood;
    QCOMPARE(find_hardware_profile(path.string()).id, std::string("mine"));
    qputenv("OFFSTAGE_RESOURCES", dir.path().toUtf8());
    const auto restore = qScopeGuard([] { qunsetenv("OFFSTAGE_RESOURCES"); });
    QCOMPARE(find_hardware_profile("mine").id, std::string("mine"));
    QCOMPARE(hardware_profile_ids(), std::vector<std::string>{"mine"});
}

void TestHardwareProfile::find_unknown_lists_those_there_are() {
    for (const char* name : {"rtx-9999", "", "../hardware/t4", "no/such.json"}) {
        try {
            static_cast<void>(find_hardware_profile(name));
            QFAIL("a profile that is not there was found");
        } catch (const Error& error) {
            QVERIFY(error.kind() == ErrorKind::kNotFound);
            const bool is_file = QString(name).endsWith(".json");
            QCOMPARE(QString(error.what()).contains("rtx-4090"), !is_file);
        }
    }
}

QTEST_GUILESS_MAIN(TestHardwareProfile)
#include "tst_hardware_profile.moc"
