// The command palette: search results for typed text, and that choosing does the same as
// the menu's entry.

#include <QLineEdit>
#include <QMenuBar>

#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/widgets/command_palette.h"

using namespace offstage::test;
using namespace offstage::ui;

class TestCommandPalette : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void matchScore_wantsTheLettersInOrder() {
        QCOMPARE(matchScore(QStringLiteral("xq"), QStringLiteral("Reset layout")), -1);
        QCOMPARE(matchScore(QStringLiteral("tuo"), QStringLiteral("out")), -1);
        QCOMPARE(matchScore(QString(), QStringLiteral("anything")), 0);
        QVERIFY(matchScore(QStringLiteral("RL"), QStringLiteral("Reset layout")) > 0);
        // Beginnings of words and letters side by side win.
        QVERIFY(matchScore(QStringLiteral("lay"), QStringLiteral("Reset layout")) >
                matchScore(QStringLiteral("lay"), QStringLiteral("Allow any")));
    }

    void ctrlK_findsAndRuns_andGivesTheFocusBack() {
        WindowFixture f;
        f.openAndWait();
        f.window->activateWindow();
        part<ChatPage>(*f.window).input().setFocus();
        CommandPalette& palette = part<CommandPalette>(*f.window);
        QTest::keyClick(f.window.get(), Qt::Key_K, Qt::ControlModifier);
        QTRY_VERIFY(palette.isVisible());
        const qsizetype all = palette.listed().size();
        QVERIFY(all > 8);
        QTest::keyClicks(&palette.input(), QStringLiteral("theme dark"));
        QVERIFY(palette.listed().size() < all);
        QVERIFY2(palette.listed().first().endsWith(QStringLiteral("Dark")), qPrintable(palette.listed().first()));
        QTest::keyClick(&palette.input(), Qt::Key_Return);
        QVERIFY(!palette.isVisible());
        QVERIFY(isDark(qApp->palette()));
        applyTheme(*qApp, Theme::System);
    }

    void keys_moveAndLeave() {
        WindowFixture f;
        CommandPalette& palette = part<CommandPalette>(*f.window);
        palette.open();
        QTest::keyClicks(&palette.input(), QStringLiteral("zzzzzz"));
        QVERIFY(palette.listed().isEmpty());
        QTest::keyClick(&palette.input(), Qt::Key_Return);
        QVERIFY2(palette.isVisible(), "Nothing found: nothing is chosen");
        QTest::keyClick(&palette.input(), Qt::Key_Escape);
        QVERIFY(!palette.isVisible());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestCommandPalette)
#include "tst_command_palette.moc"
