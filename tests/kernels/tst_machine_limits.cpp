#include <QTest>

#include "kernels/machine_limits.h"

using namespace offstage::kernels;

// The figures themselves depend on the machine; that they are of a possible order, and that the loops were not
// optimised away (which shows as an impossible speed), does not.
class TestMachineLimits : public QObject {
    Q_OBJECT

  private slots:
    void read_bandwidth_is_plausible();
    void peaks_are_plausible();
};

void TestMachineLimits::read_bandwidth_is_plausible() {
    ThreadPool pool(2);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{64} << 20}) {
        ReadBandwidthProbe probe(pool, bytes);
        const double gbps = probe.measure_gbps();
        QVERIFY2(gbps > 0.0 && gbps < 20000.0, qPrintable(QString::number(gbps)));
    }
}

void TestMachineLimits::peaks_are_plausible() {
    ThreadPool pool(2);
    for (const auto measure : {measure_peak_gflops_f32, measure_peak_gflops_bf16}) {
        const double gflops = measure(pool);
        // Below: two slow cores with nothing but scalar units; above: 64 operations per lane and cycle on two fast
        // ones.
        QVERIFY2(gflops > 0.05 && gflops < 40000.0, qPrintable(QString::number(gflops)));
    }
}

QTEST_GUILESS_MAIN(TestMachineLimits)
#include "tst_machine_limits.moc"
