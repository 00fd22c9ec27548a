#include <QTest>

#include "kernels/machine_limits.h"

using namespace offstage::kernels;

// The figures depend on the machine. The tests check only that they have a possible size,
// and that the compiler did not remove the loops (which would show as an impossible
// speed).
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
    // Pieces of the caller's memory; less than a grain at their ends is left out.
    const std::vector<std::byte> memory(std::size_t{3} << 20);
    const std::span all(memory);
    ReadBandwidthProbe pieces(pool, {all.first(1 << 20), all.subspan(1 << 20, 5000), all.last(1 << 20)});
    QVERIFY(pieces.measure_gbps() > 0.0);
    ReadBandwidthProbe nothing(pool, {all.first(100)});
    QCOMPARE(nothing.measure_gbps(), 0.0);
}

void TestMachineLimits::peaks_are_plausible() {
    ThreadPool pool(2);
    for (const auto measure : {measure_peak_gflops_f32, measure_peak_gflops_bf16, measure_peak_gops_int8}) {
        const double gflops = measure(pool);
        // Lower limit: two slow cores with only scalar units; upper limit: 64 operations
        // per lane and cycle on two fast ones.
        QVERIFY2(gflops > 0.05 && gflops < 40000.0, qPrintable(QString::number(gflops)));
    }
    // Four bytes instead of one float, by the same units. Loops that a compiler has
    // shortened are twelve times as fast in every round; other programs' load can cause
    // that in one round.
    constexpr int kRounds = 20;
    double int8_by_f32 = 0;
    for (int round = 0; round < kRounds && (round == 0 || int8_by_f32 >= 8); ++round) {
        int8_by_f32 = measure_peak_gops_int8(pool) / measure_peak_gflops_f32(pool);
    }
    QVERIFY2(int8_by_f32 < 8, qPrintable(QString::number(int8_by_f32)));
}

QTEST_GUILESS_MAIN(TestMachineLimits)
#include "tst_machine_limits.moc"
