// Every device passes the same checks (backend_parity.h); and what only some of them promise.

#include <memory>

#include <QTest>

#include "backend_parity.h"
#include "engine/device/cpu_backend.h"
#include "kernels/thread_pool.h"

using namespace offstage;
using namespace offstage::engine;

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;

}  // namespace

class TestBackend : public QObject {
    Q_OBJECT

  private slots:
    void keeps_the_contract_data();
    void keeps_the_contract();

  private:
    kernels::ThreadPool pool_{3};
};

void TestBackend::keeps_the_contract_data() {
    QTest::addColumn<QString>("device");
    QTest::addColumn<int>("check");
    for (const char* device : {"cpu"}) {
        for (std::size_t i = 0; i < std::size(parity::kChecks); ++i) {
            QTest::addRow("%s %s", device, parity::kChecks[i].name) << QString(device) << static_cast<int>(i);
        }
    }
}

void TestBackend::keeps_the_contract() {
    QFETCH(QString, device);
    QFETCH(int, check);
    const auto open = [&]() -> std::unique_ptr<Backend> {
        return std::make_unique<CpuBackend>(pool_, kernels::GemmMode::kF32, kBudget);
    };
    parity::run_check(parity::kChecks[check], open, {});
}

QTEST_GUILESS_MAIN(TestBackend)
#include "tst_backend.moc"
