// A program that is ended in the middle of writing: data reported as saved is there at
// the next start, and the file is whole. The age of lost text is printed here;
// bench_history_crash has its distribution. tst_history_store tests, without a clock,
// that a change is committed soon.
#include <QTest>

#include "tests/ui/history_crash.h"
#include "tests/ui/window_fixture.h"

using offstage::test::CrashResult;

class TestHistoryCrash : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void endedWhileStreaming_losesNothingThatWasSaved() {
        constexpr int kAtOnce = 4;
        int kept = 0;
        std::size_t lost = 0;
        double oldestMs = 0;
        for (int round = 0; round < 2; ++round) {
            for (const CrashResult& crash : offstage::test::crashWhileStreaming(kAtOnce)) {
                QVERIFY2(crash.fault.isEmpty(), qPrintable(crash.fault));
                QVERIFY(crash.nKept > 20);
                kept += crash.nKept;
                lost += crash.lostMs.size();
                oldestMs = std::max(oldestMs, crash.oldestLostMs());
            }
        }
        qInfo("%d crashes: %d pieces were found again, %zu were not, the oldest of them %.0f ms old", 2 * kAtOnce, kept,
              lost, oldestMs);
    }

    // No moment between a report and the end: a report before its commit is found each
    // time.
    void endedAtTheReport_allThatWasReportedIsThere_data() {
        QTest::addColumn<int>("report");
        for (const int report : {1, 2, 3, 5}) {
            QTest::addRow("report %d", report) << report;
        }
    }
    void endedAtTheReport_allThatWasReportedIsThere() {
        QFETCH(int, report);
        const QString fault = offstage::test::crashAtReport(report);
        QVERIFY2(fault.isEmpty(), qPrintable(fault));
    }
};

int main(int argc, char** argv) {
    if (const std::optional<int> status = offstage::test::crashChild(argc, argv)) {
        return *status;
    }
    return offstage::test::runHeadless(argc, argv, [](int n, char** v) {
        TestHistoryCrash test;
        return QTest::qExec(&test, n, v);
    });
}
#include "tst_history_crash.moc"
