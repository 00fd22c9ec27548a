// Every device passes the same checks (tests/engine/parity).

#include <memory>

#include <QTest>

#include "engine/device/open_device.h"
#include "engine/error.h"
#include "kernels/thread_pool.h"
#include "tests/engine/parity/backend_parity.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;
// With and without a host that is accounted as well: two kinds of clock.
constexpr const char* kDevices[] = {"cpu", "emulated:rtx-3060", "emulated:fiddler-env1", "cuda"};

}  // namespace

class TestBackend : public QObject {
    Q_OBJECT

  private slots:
    void keeps_the_contract_data();
    void keeps_the_contract();

  private:
    kernels::ThreadPool pool_{3};
    CpuOperations operations_{pool_, kernels::GemmMode::kF32};
};

void TestBackend::keeps_the_contract_data() {
    QTest::addColumn<QString>("device");
    QTest::addColumn<int>("check");
    for (const char* device : kDevices) {
        // The same code as with an accounted host.
        if (test::kSanitized && device == kDevices[1]) continue;
        for (std::size_t i = 0; i < parity::all_checks().size(); ++i) {
            const QString row = QString(device) + ' ' + parity::all_checks()[i].name;
            QTest::newRow(qPrintable(row)) << QString(device) << static_cast<int>(i);
        }
    }
}

void TestBackend::keeps_the_contract() {
    QFETCH(QString, device);
    QFETCH(int, check);
    std::unique_ptr<Backend> backend;
    try {
        backend = open_device(device.toStdString(), kBudget, operations_);
    } catch (const Error& error) {
        if (device != "cuda" || error.kind() != ErrorKind::kUnsupported) throw;
        QSKIP(error.what());
    }
    parity::Promise promise;
    if (device == "cuda") {
        promise.batched_tolerance = 4e-3;  // inputs rounded to bfloat16: half a unit of 8 bits, twice
        promise.bit_exact = false;
    }
    parity::run_check(parity::all_checks()[static_cast<std::size_t>(check)], *backend, promise);
}

QTEST_GUILESS_MAIN(TestBackend)
#include "tst_backend.moc"
