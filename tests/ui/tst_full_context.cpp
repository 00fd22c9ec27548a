// What the card of a full context says of a larger one.

#include <QSignalSpy>

#include "tests/ui/replan_session.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/full_context.h"

using namespace offstage;
using namespace offstage::ui;

class TestFullContext : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // Without measured costs a forecast has no speed. It is known nevertheless where no
    // expert moves.
    void offer_saysWhatALargerContextCosts_data() {
        QTest::addColumn<double>("before");
        QTest::addColumn<double>("after");
        QTest::addColumn<quint64>("moved");
        QTest::addColumn<QString>("says");
        QTest::newRow("known, slower") << 20.0 << 11.0 << quint64{1 << 20}
                                       << QStringLiteral("about 11.0 tokens/s instead of 20.0");
        QTest::newRow("known, the same") << 20.0 << 20.0 << quint64{0} << QStringLiteral("the speed stays the same");
        QTest::newRow("unknown, nothing moves")
            << 0.0 << 0.0 << quint64{0} << QStringLiteral("the speed stays the same");
        QTest::newRow("unknown, experts move")
            << 0.0 << 0.0 << quint64{1 << 20} << QStringLiteral("costs in speed is not known yet");
    }
    void offer_saysWhatALargerContextCosts() {
        QFETCH(double, before);
        QFETCH(double, after);
        QFETCH(quint64, moved);
        QFETCH(QString, says);
        const auto stage = std::make_shared<test::Stage>();
        const auto replans = std::make_shared<test::ReplanStage>();
        replans->speedBefore = before;
        replans->speedAfter = after;
        replans->bytesToMove = moved;
        EngineController engine([&] { return std::make_unique<test::ReplanSession>(stage, replans); });
        engine.openModel({});
        QTRY_COMPARE(engine.state(), EngineController::State::Ready);
        FullContext context(engine, nullptr);
        QSignalSpy offered(&context, &FullContext::offered);
        context.offer(1, {}, 3000, false);
        QTRY_COMPARE(offered.size(), 1);
        const auto problem = offered.first().at(1).value<Problem>();
        QVERIFY2(problem.sentence.contains(says), qPrintable(problem.sentence));
        QCOMPARE(problem.actions, QList<ProblemAction>{ProblemAction::LargerContext});
    }
};

OFFSTAGE_UI_TEST_MAIN(TestFullContext)
#include "tst_full_context.moc"
