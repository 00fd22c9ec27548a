#include <memory>

#include <QTest>

#include "engine/device/byte_size.h"
#include "engine/device/hardware.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "kernels/thread_pool.h"

using namespace offstage;
using namespace offstage::engine;

class TestOpenDevice : public QObject {
    Q_OBJECT

  private slots:
    void opens_what_is_named_data();
    void opens_what_is_named();
    void without_budget_takes_what_device_has();
    void budget_above_device_is_refused();
    void unknown_device_is_refused_data();
    void unknown_device_is_refused();
    void bytes_with_units_data();
    void bytes_with_units();
    void bytes_that_are_none_data();
    void bytes_that_are_none();

  private:
    kernels::ThreadPool pool_{1};
    CpuOperations operations_{pool_, kernels::GemmMode::kF32};
};

void TestOpenDevice::opens_what_is_named_data() {
    QTest::addColumn<QString>("device");
    QTest::addColumn<int>("kind");
    QTest::addColumn<bool>("emulated_host");
    QTest::newRow("cpu") << "cpu" << static_cast<int>(DeviceKind::kCpu) << false;
    QTest::newRow("profile") << "emulated:rtx-6000" << static_cast<int>(DeviceKind::kEmulated) << false;
    QTest::newRow("profile with host") << "emulated:fiddler-env2" << static_cast<int>(DeviceKind::kEmulated) << true;
    QTest::newRow("profile file") << "emulated:" OFFSTAGE_SOURCE_DIR "/resources/hardware/t4.json"
                                  << static_cast<int>(DeviceKind::kEmulated) << false;
}

void TestOpenDevice::opens_what_is_named() {
    QFETCH(QString, device);
    QFETCH(int, kind);
    QFETCH(bool, emulated_host);
    const auto opened = open_device(device.toStdString(), 1 << 20, operations_);
    QVERIFY(opened->ok());
    QCOMPARE(static_cast<int>(opened->info().kind), kind);
    QCOMPARE(opened->info().emulated, opened->info().kind == DeviceKind::kEmulated);
    QCOMPARE(opened->info().emulated_host, emulated_host);
    QCOMPARE(opened->memory().usage().budget_bytes, 1u << 20);
    QVERIFY(!opened->info().name.empty());
    QVERIFY(!opened->info().fingerprint.empty());
}

void TestOpenDevice::without_budget_takes_what_device_has() {
    const auto gpu = open_device("emulated:t4", 0, operations_);
    QCOMPARE(gpu->memory().usage().budget_bytes, gpu->info().available_bytes);
    QVERIFY(gpu->info().available_bytes < gpu->info().memory_bytes);
    const auto cpu = open_device("cpu", 0, operations_);
    QVERIFY(cpu->memory().usage().budget_bytes > 0);
    QVERIFY(cpu->memory().usage().budget_bytes <= static_cast<std::uint64_t>(memory_size().total_bytes));
}

void TestOpenDevice::budget_above_device_is_refused() {
    for (const char* device : {"cpu", "emulated:t4"}) {
        try {
            static_cast<void>(open_device(device, std::uint64_t{1} << 50, operations_));
            QFAIL("a budget beyond the device was taken");
        } catch (const Error& error) {
            QVERIFY(error.kind() == ErrorKind::kInvalidInput);
        }
    }
}

void TestOpenDevice::unknown_device_is_refused_data() {
    QTest::addColumn<QString>("device");
    QTest::addColumn<bool>("not_found");
    for (const char* device :
         {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999"}) {
        QTest::newRow(*device == '\0' ? "nothing" : device) << device << false;
    }
    QTest::newRow("no profile") << "emulated:" << true;
    QTest::newRow("unknown profile") << "emulated:voodoo-2" << true;
}

void TestOpenDevice::unknown_device_is_refused() {
    QFETCH(QString, device);
    QFETCH(bool, not_found);
    try {
        static_cast<void>(open_device(device.toStdString(), 0, operations_));
        QFAIL("a device that is not there was opened");
    } catch (const Error& error) {
        QVERIFY(error.kind() == (not_found ? ErrorKind::kNotFound : ErrorKind::kInvalidInput));
    }
}

void TestOpenDevice::bytes_with_units_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<qulonglong>("bytes");
    QTest::newRow("zero") << "0" << 0ull;
    QTest::newRow("plain") << "1000000" << 1'000'000ull;
    QTest::newRow("B") << "1000000B" << 1'000'000ull;
    QTest::newRow("KiB") << "3KiB" << 3072ull;
    QTest::newRow("MiB") << "512MiB" << (512ull << 20);
    QTest::newRow("GiB") << "6GiB" << (6ull << 30);
    QTest::newRow("fraction") << "1.5GiB" << (3ull << 29);
    QTest::newRow("blank") << "6 GiB" << (6ull << 30);
    QTest::newRow("small letters") << "6 gib" << (6ull << 30);
    QTest::newRow("a letter") << "1.5g" << (3ull << 29);
    QTest::newRow("GB") << "6GB" << 6'000'000'000ull;
    QTest::newRow("fraction of MB") << "0.5 mb" << 500'000ull;
    QTest::newRow("TiB") << "2TiB" << (2ull << 40);
    QTest::newRow("largest") << "18446744073709551615" << ~0ull;
}

void TestOpenDevice::bytes_with_units() {
    QFETCH(QString, text);
    QFETCH(qulonglong, bytes);
    QCOMPARE(parse_bytes(text.toStdString(), "--vram"), bytes);
}

void TestOpenDevice::bytes_that_are_none_data() {
    QTest::addColumn<QString>("text");
    for (const char* text : {"",
                             " ",
                             "GiB",
                             "-1",
                             "+1",
                             "1e9",
                             "1.5",
                             "1.5B",
                             "6Gi",
                             "6 GiBs",
                             "6 pounds",
                             "6GiB ",
                             " 6GiB",
                             "0x10",
                             ".",
                             "1.2.3GiB",
                             "nan",
                             "18446744073709551616",
                             "17179869184GiB",
                             "16777216TiB",
                             "16777216.0TiB",
                             "99999999999999999999.5GiB"}) {
        QTest::newRow(*text == '\0' ? "nothing" : text) << text;
    }
}

void TestOpenDevice::bytes_that_are_none() {
    QFETCH(QString, text);
    try {
        static_cast<void>(parse_bytes(text.toStdString(), "--vram"));
        QFAIL("taken for a number of bytes");
    } catch (const Error& error) {
        QVERIFY(error.kind() == ErrorKind::kInvalidInput);
        QVERIFY(QString(error.what()).startsWith("--vram"));
    }
}

QTEST_GUILESS_MAIN(TestOpenDevice)
#include "tst_open_device.moc"
