#include <QTest>

#include "engine/device/hardware.h"
#include "kernels/cpu_kernels.h"

using namespace offstage::engine;

class TestHardware : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void this_machine_hasSaneValues();
    void compiledForAnotherProcessor_isNoted();
    void cuda_saysWhyOrWhat();
    void cuda_hiddenDevices_areNoError();
};

namespace {

constexpr std::int64_t kMib = 1024 * 1024;

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

void TestHardware::compiledForAnotherProcessor_isNoted() {
    using enum offstage::kernels::InstructionSet;
    QVERIFY(instruction_set_note(kAvx2, kAvx2).empty());
    const std::string note = instruction_set_note(kScalar, kAvx512Bf16).english();
    QVERIFY2(note.find("with scalar where this one has avx512_bf16") != std::string::npos, note.c_str());
    // OFFSTAGE_ISA is no other processor.
    const QByteArray wanted = qgetenv("OFFSTAGE_ISA");
    const Message before = instruction_set_note();
    qputenv("OFFSTAGE_ISA", "scalar");
    QCOMPARE(instruction_set_note(), before);
    wanted.isEmpty() ? qunsetenv("OFFSTAGE_ISA") : qputenv("OFFSTAGE_ISA", wanted);
}

void TestHardware::cuda_saysWhyOrWhat() {
    const auto cuda = detect_hardware().cuda;
    QCOMPARE(cuda.devices.empty(), !cuda.none_because.none());
    if (cuda.devices.empty()) QSKIP(("no GPU to describe: " + detect_hardware().no_gpu_because().english()).c_str());
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
    // The CUDA runtime may have read the variable already; both calls must give the same
    // answer.
    qputenv("CUDA_VISIBLE_DEVICES", "");
    const auto cuda = detect_hardware().cuda;
    QCOMPARE(cuda.devices.empty(), !cuda.none_because.none());
    qunsetenv("CUDA_VISIBLE_DEVICES");
}

QTEST_GUILESS_MAIN(TestHardware)
#include "tst_hardware.moc"
