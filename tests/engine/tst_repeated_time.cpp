// Times measured on a computer that does other work as well.

#include <chrono>
#include <thread>

#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "kernels/thread_pool.h"
#include "tests/engine/calibration_fixture.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

class TestRepeatedTime : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // An expert of a tiny model takes less than a microsecond.
    void timesInMessages_haveTwoDigits() {
        const auto said = [](double now_us, double kept_us) {
            return QString::fromStdString(
                cost_measured_again({messages::an_expert_on_the_cpu, kept_us, now_us}).english());
        };
        QVERIFY2(said(0.31, 4.2).endsWith(QStringLiteral("took 0.00031 ms, and 0.0042 ms were kept.")),
                 qPrintable(said(0.31, 4.2)));
        QVERIFY2(said(123.4, 45678).endsWith(QStringLiteral("took 0.123 ms, and 45.7 ms were kept.")),
                 qPrintable(said(123.4, 45678)));
        QVERIFY(said(0, 10).endsWith(QStringLiteral("took 0.000 ms, and 0.010 ms were kept.")));
    }

    // ---- other work on the machine
    void repeatedTime_leavesOutWhatOtherWorkAdded() {
        RepeatedTime time;
        QCOMPARE(time.us(), 0.0);
        time.add(900);
        QCOMPARE(time.us(), 900.0);  // the only one
        for (const double us : {100.0, 5000.0, 102.0, 0.0, 3000.0, 98.0}) time.add(us);
        QVERIFY(!time.is_settled());
        QCOMPARE(time.us(), 100.0);
        for (const double us : {104.0, 2500.0, 103.0}) time.add(us);
        QVERIFY(time.is_settled());
        QCOMPARE(time.us(), 102.0);
        // One that is much too short does not count either.
        time.add(1);
        QCOMPARE(time.us(), 102.0);
        RepeatedTime quiet;
        for (const double us : {7.0, 10.0, 11.0, 12.0, 10.5, 11.5}) quiet.add(us);
        QCOMPARE(quiet.us(), 11.0);  // the median
    }

    // Two short times, when other machines did not use the memory, are not what a run
    // takes.
    void repeatedTime_onAQuietComputer_isTheMedian() {
        RepeatedTime time;
        QCOMPARE(time.quiet_us(), 0.0);
        time.add(900);
        QCOMPARE(time.quiet_us(), 900.0);
        for (const double us : {58.0, 95.0, 96.0, 57.0, 94.0, 95.0, 97.0}) time.add(us);
        QCOMPARE(time.us(), 57.5);
        QCOMPARE(time.quiet_us(), 95.0);
    }

    // Other work has emptied the caches most of the time.
    void repeatedTime_withColdCaches_countsTheOthers() {
        RepeatedTime time;
        for (const double us : {126.0, 125.0, 124.0, 102.0, 123.0, 125.0, 100.0, 122.0, 101.0}) time.add(us);
        QVERIFY(!time.is_settled());
        time.add(103);
        QVERIFY(time.is_settled());
        QCOMPARE(time.us(), 101.5);
    }

    // Times that agree may all be those of a thread that waited for its core.
    void repeatedTime_ofWorkThatWaited_countsOnlyWhereNothingElseDoes() {
        RepeatedTime time;
        for (int i = 0; i < 8; ++i) time.add(4000 + i, 3000);
        QVERIFY(time.all_disturbed() && !time.is_settled());
        QCOMPARE(time.us(), 4004.0);
        for (const double us : {1000.0, 1010.0, 1020.0}) time.add(us, 10);
        QVERIFY(!time.all_disturbed() && !time.is_settled());
        QCOMPARE(time.us(), 1010.0);
        time.add(1030, 0);
        QVERIFY(time.is_settled());
        QVERIFY(waited_us() >= 0);
    }

    // What the thread waits is not the work's, on systems that report no waits either.
    void workOfOneThread_takesTheTimeThatItRan() {
        constexpr auto kWait = std::chrono::milliseconds(50);
        const double kWaitUs = 50'000;
        kernels::ThreadPool pool(1);
        CpuBackend cpu(pool, kernels::GemmMode::kF32, std::uint64_t{1} << 20);
        const auto timed_us = [&](bool thread_time) {
            cpu.use_thread_time(thread_time);
            return cpu.run_on_host(HostWork{}, [&] { std::this_thread::sleep_for(kWait); });
        };
        const double before = own_wait_us();
        QVERIFY(timed_us(false) >= kWaitUs);
        QVERIFY(own_wait_us() - before > 0.9 * kWaitUs);
        QVERIFY(timed_us(true) < 0.5 * kWaitUs);
    }

    void costs_ofFewerTokens_areNeverMore() {
        std::vector<CostPoint> points = {{1, 1339}, {2, 145}, {4, 150}, {8, 149}, {16, 200}};
        const auto worst = falling_cost(points);
        QVERIFY(worst && worst->before == 0 && worst->after == 1);
        make_rising(points);
        QVERIFY(same(points, {{1, 145}, {2, 145}, {4, 149}, {8, 149}, {16, 200}}));
        QVERIFY(!falling_cost(points));
        QVERIFY(!falling_cost({}));
    }

    // Weights are read once, however many tokens there are.
    void costs_ofAnotherTime_changeByTheSame() {
        std::vector<CostPoint> points = {{1, 50}, {2, 60}, {512, 4000}};
        retime(points, 62);
        QVERIFY(same(points, {{1, 62}, {2, 72}, {512, 4012}}));
        retime(points, 0);  // not measured
        QVERIFY(same(points, {{1, 62}, {2, 72}, {512, 4012}}));
        std::vector<CostPoint> none;
        retime(none, 62);
        QVERIFY(none.empty());
    }

    void keptCosts_drift_data() {
        QTest::addColumn<double>("now");
        QTest::addColumn<bool>("disturbed");
        QTest::addColumn<bool>("drifted");
        QTest::newRow("the same") << 100.0 << false << false;
        QTest::newRow("a little slower") << 125.0 << false << false;
        QTest::newRow("slower") << 135.0 << false << true;
        QTest::newRow("slower beside other work") << 1000.0 << true << false;
        QTest::newRow("faster") << 70.0 << false << true;
        QTest::newRow("faster, in spite of other work") << 70.0 << true << true;
        QTest::newRow("not measured") << 0.0 << false << false;
    }
    void keptCosts_drift() {
        QFETCH(double, now);
        QFETCH(bool, disturbed);
        QFETCH(bool, drifted);
        QCOMPARE(has_drifted(100, now, disturbed), drifted);
    }

    // Checks one after the other, the last one again and again: s: quiet, slower; f: quiet,
    // faster; h: quiet, and the cost holds; d: disturbed, which looks as if it held.
    void keptCosts_lastingDrift_data() {
        QTest::addColumn<QString>("checks");
        QTest::addColumn<double>("now");  // 0: they hold
        QTest::addColumn<int>("asked");   // checks; 0: as many as the time allows
        QTest::newRow("hold") << "h" << 0.0 << 1;
        QTest::newRow("disturbed at once") << "d" << 0.0 << 1;
        QTest::newRow("faster") << "f" << 50.0 << 1;
        QTest::newRow("slower") << "s" << 200.0 << 0;
        QTest::newRow("slower for a moment") << "sssh" << 0.0 << 4;
        QTest::newRow("slower, then disturbed") << "sd" << 200.0 << 0;
        QTest::newRow("slower, disturbed between") << "sdsddsd" << 200.0 << 0;
        QTest::newRow("slower for a moment, disturbed between") << "sddsdh" << 0.0 << 6;
        QTest::newRow("slower, then faster") << "sdf" << 50.0 << 3;
    }
    void keptCosts_lastingDrift() {
        QFETCH(QString, checks);
        QFETCH(double, now);
        QFETCH(int, asked);
        int n = 0;
        bool quiet = false;
        const auto drift = engine::lasting_drift(
            [&](bool& was_quiet) -> std::optional<engine::CostDrift> {
                const char result = checks[std::min(n++, static_cast<int>(checks.size()) - 1)].toLatin1();
                was_quiet = result != 'd';
                if (result == 's') return engine::CostDrift{{}, 100, 200};
                if (result == 'f') return engine::CostDrift{{}, 100, 50};
                return {};
            },
            quiet);
        QCOMPARE(drift ? drift->now_us : 0.0, now);
        QVERIFY(asked == 0 ? n > static_cast<int>(checks.size()) : n == asked);
    }
};

QTEST_GUILESS_MAIN(TestRepeatedTime)
#include "tst_repeated_time.moc"
