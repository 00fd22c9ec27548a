#include <filesystem>
#include <fstream>

#include <QTemporaryDir>
#include <QTest>

#include "engine/device/hardware.h"

using namespace offstage::engine;

class TestHardware : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void this_machine_hasSaneValues();
    void cuda_saysWhyOrWhat();
    void cuda_hiddenDevices_areNoError();
    void memory_isReadFromMeminfo();
    void memory_isLoweredByControlGroups_data();
    void memory_isLoweredByControlGroups();
    void memory_brokenFiles_giveZero();
};

namespace {

constexpr std::int64_t kMib = 1024 * 1024;

void write(const QTemporaryDir& root, const char* path, const char* text) {
    const std::filesystem::path whole = std::filesystem::path(root.path().toStdString()) / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
}

}  // namespace

void TestHardware::this_machine_hasSaneValues() {
    const Hardware hardware = detect_hardware();
    QVERIFY(!hardware.cpu_model.empty());
    QVERIFY(hardware.n_cores >= 1);
    QVERIFY(!hardware.instruction_set.empty());
    QVERIFY(hardware.ram.total_bytes > 64 * kMib);
    QVERIFY(hardware.ram.available_bytes > 0);
    QVERIFY(hardware.ram.available_bytes <= hardware.ram.total_bytes);
}

void TestHardware::cuda_saysWhyOrWhat() {
    const auto cuda = detect_hardware().cuda;
    QCOMPARE(cuda.devices.empty(), !cuda.none_because.empty());
    if (cuda.devices.empty()) QSKIP(("no GPU to describe: " + cuda.none_because).c_str());
    for (const auto& device : cuda.devices) {
        QVERIFY(!device.name.empty());
        QVERIFY(device.pci_bus_id.size() >= 12);  // 0000:65:00.0
        QVERIFY(device.compute_major >= 5);
        QVERIFY(device.total_bytes > 256 * kMib);
        QVERIFY(device.free_bytes >= -1 && device.free_bytes <= device.total_bytes);
    }
    QVERIFY(!cuda.driver_version.empty());
    QVERIFY(!cuda.runtime_version.empty());
}

void TestHardware::cuda_hiddenDevices_areNoError() {
    // The CUDA runtime may have read the variable already; either way the answer must agree with itself.
    qputenv("CUDA_VISIBLE_DEVICES", "");
    const auto cuda = detect_hardware().cuda;
    QCOMPARE(cuda.devices.empty(), !cuda.none_because.empty());
    qunsetenv("CUDA_VISIBLE_DEVICES");
}

void TestHardware::memory_isReadFromMeminfo() {
    const QTemporaryDir root;
    write(root, "proc/meminfo", "MemTotal:       24576000 kB\nMemFree:         1000 kB\nMemAvailable:   20480000 kB\n");
    const MemorySize memory = memory_size(root.path().toStdString());
    QCOMPARE(memory.total_bytes, 24000 * kMib);
    QCOMPARE(memory.available_bytes, 20000 * kMib);
}

void TestHardware::memory_isLoweredByControlGroups_data() {
    QTest::addColumn<QByteArray>("group");   // line of proc/self/cgroup
    QTest::addColumn<QByteArray>("folder");  // where the limit stands
    QTest::addColumn<QByteArray>("limit");
    QTest::addColumn<qint64>("total_mib");
    QTest::addColumn<qint64>("available_mib");
    const auto row = [](const char* name, const char* group, const char* folder, const char* limit, qint64 total,
                        qint64 available) {
        QTest::newRow(name) << QByteArray(group) << QByteArray(folder) << QByteArray(limit) << total << available;
    };
    // In the group with the limit: 3072 MiB used, 1024 of them cached files.
    row("container", "0::/\n", "", "4294967296\n", 4096, 2048);
    row("own group", "0::/a.slice/b.service\n", "a.slice/b.service", "4294967296\n", 4096, 2048);
    row("group above", "0::/a.slice/b.service\n", "a.slice", "4294967296\n", 4096, 2048);
    row("group seen from outside the container", "0::/../../x\n", "", "4294967296\n", 4096, 2048);
    row("no limit", "0::/a.slice\n", "a.slice", "max\n", 8192, 6144);
    row("limit above the machine", "0::/a.slice\n", "a.slice", "1099511627776\n", 8192, 6144);
    row("used up", "0::/a.slice\n", "a.slice", "1073741824\n", 1024, 0);
    row("version 1 only", "5:memory:/a\n", "a", "4294967296\n", 8192, 6144);
    row("another's group", "0::/a.slice\n", "b.slice", "4294967296\n", 8192, 6144);
}

void TestHardware::memory_isLoweredByControlGroups() {
    QFETCH(QByteArray, group);
    QFETCH(QByteArray, folder);
    QFETCH(QByteArray, limit);
    QFETCH(qint64, total_mib);
    QFETCH(qint64, available_mib);
    const QTemporaryDir root;
    write(root, "proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\n");
    write(root, "proc/self/cgroup", group.constData());
    const QByteArray at = "sys/fs/cgroup/" + folder;
    write(root, (at + "/memory.max").constData(), limit.constData());
    write(root, (at + "/memory.current").constData(), "3221225472\n");
    write(root, (at + "/memory.stat").constData(), "anon 1\ninactive_file 536870912\nactive_file 536870912\n");
    const MemorySize memory = memory_size(root.path().toStdString());
    QCOMPARE(memory.total_bytes, total_mib * kMib);
    QCOMPARE(memory.available_bytes, available_mib * kMib);
}

void TestHardware::memory_brokenFiles_giveZero() {
    const QTemporaryDir root;
    QCOMPARE(memory_size(root.path().toStdString()).total_bytes, std::int64_t{0});
    write(root, "proc/meminfo", "MemTotal: lots\nMemAvailable\n");
    write(root, "proc/self/cgroup", "0::/\n0::");
    write(root, "sys/fs/cgroup/memory.max", "");
    QCOMPARE(memory_size(root.path().toStdString()).total_bytes, std::int64_t{0});
}

QTEST_GUILESS_MAIN(TestHardware)
#include "tst_hardware.moc"
