// The command palette: search results for typed text, and that choosing does the same as
// the menu's entry.

#include <QDockWidget>
#include <QLineEdit>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QTabWidget>

#include "tests/ui/find_widget.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/settings/sampling_panel.h"
#include "ui/settings/settings_dialog.h"
#include "ui/widgets/command_palette.h"
#include "ui/window/panel_docks.h"

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

    void wordScore_wantsBeginningsOfWords() {
        const QString text = QStringLiteral("View › Text size › Larger zoom in");
        QVERIFY(wordScore(QStringLiteral("size zoo"), text) > wordScore(QStringLiteral("size"), text));
        QCOMPARE(wordScore(QStringLiteral("size oom"), text), -1);
        QCOMPARE(wordScore(QStringLiteral(" "), text), 0);
        // Signs alone are no word: not every command is found by them.
        QCOMPARE(wordScore(QStringLiteral("?"), text), -1);
        QCOMPARE(wordScore(QStringLiteral("size ?"), text), wordScore(QStringLiteral("size"), text));
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

    void settingsAndSynonyms_areFound_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QString>("first");
        QTest::newRow("a setting") << QStringLiteral("system prompt")
                                   << QStringLiteral("Instructions and sampling › System prompt");
        QTest::newRow("a language by its English name")
            << QStringLiteral("german") << QStringLiteral("View › Language › Deutsch");
        QTest::newRow("a synonym") << QStringLiteral("exit") << QStringLiteral("File › Quit");
        QTest::newRow("two words") << QStringLiteral("font size") << QStringLiteral("View › Text size › Larger");
        QTest::newRow("a page") << QStringLiteral("hotkeys") << QStringLiteral("Settings › Keys");
        QTest::newRow("a value") << QStringLiteral("temperat")
                                 << QStringLiteral("Instructions and sampling › Temperature, top-p, seed");
        QTest::newRow("a name before synonyms")
            << QStringLiteral("find") << QStringLiteral("Edit › Find in this conversation…");
    }
    void settingsAndSynonyms_areFound() {
        QFETCH(QString, typed);
        QFETCH(QString, first);
        QSettings().clear();
        WindowFixture f;
        f.openAndWait();
        CommandPalette& palette = part<CommandPalette>(*f.window);
        QTest::keyClick(f.window.get(), Qt::Key_K, Qt::ControlModifier);
        QTRY_VERIFY(palette.isVisible());
        QVERIFY2(palette.listed().first() == QStringLiteral("File › New conversation"),  // what is common
                 qPrintable(palette.listed().first()));
        QTest::keyClicks(&palette.input(), typed);
        QCOMPARE(palette.listed().value(0), first);
    }

    void pagesOfPanels_areFoundAndShown() {
        QSettings().clear();
        WindowFixture f;
        f.openAndWait();
        CommandPalette& palette = part<CommandPalette>(*f.window);
        for (QDockWidget* dock : part<PanelDocks>(*f.window).all()) {
            for (auto* tabs : dock->findChildren<QTabWidget*>()) {
                for (int i = 0; i < tabs->count(); ++i) {
                    palette.open();
                    QTest::keyClicks(&palette.input(), tabs->tabText(i) + u' ' + dock->windowTitle());
                    QCOMPARE(palette.listed().value(0), dock->windowTitle() + QStringLiteral(" › ") + tabs->tabText(i));
                    QTest::keyClick(&palette.input(), Qt::Key_Return);
                    QTRY_VERIFY2(tabs->isVisible(), qPrintable(dock->objectName()));
                    QCOMPARE(tabs->currentIndex(), i);
                }
            }
        }
        palette.open();
        QTest::keyClicks(&palette.input(), QStringLiteral("two plans"));
        QCOMPARE(palette.listed().value(0), QStringLiteral("Benchmark › Two plans"));
    }

    void personas_areFoundAndChosen() {
        QSettings().clear();
        WindowFixture f;
        f.openAndWait();
        CommandPalette& palette = part<CommandPalette>(*f.window);
        palette.open();
        QTest::keyClicks(&palette.input(), QStringLiteral("persona"));
        for (const char* each : {"Persona › Teacher", "Persona › New persona…", "Persona › Import personas…"}) {
            QVERIFY2(palette.listed().contains(QString::fromUtf8(each)), qPrintable(palette.listed().join(u'|')));
        }
        QTest::keyClicks(&palette.input(), QStringLiteral(" teach"));
        QCOMPARE(palette.listed(), QStringList{QStringLiteral("Persona › Teacher")});
        QTest::keyClick(&palette.input(), Qt::Key_Return);
        QCOMPARE(f.window->core().chat.persona(), QStringLiteral("teacher"));
    }

    void setting_chosen_isShown() {
        WindowFixture f;
        f.openAndWait();
        CommandPalette& palette = part<CommandPalette>(*f.window);
        palette.open();
        QTest::keyClicks(&palette.input(), QStringLiteral("system prompt"));
        QTest::keyClick(&palette.input(), Qt::Key_Return);
        QPlainTextEdit& prompt = find<QPlainTextEdit>(part<SamplingPanel>(*f.window), "System prompt");
        QTRY_VERIFY(prompt.isVisible() && prompt.hasFocus());
        palette.open();
        QTest::keyClicks(&palette.input(), QStringLiteral("api port"));
        QTest::keyClick(&palette.input(), Qt::Key_Return);
        auto* dialog = f.window->findChild<SettingsDialog*>();
        QVERIFY(dialog != nullptr && dialog->isVisible());
        QCOMPARE(dialog->page(), SettingsDialog::Page::Server);
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

    // The name of a panel brings it to the front, whether it is there already or not.
    void panel_thatIsOpen_staysOpen() {
        QSettings().clear();
        WindowFixture f;
        f.openAndWait();
        CommandPalette& palette = part<CommandPalette>(*f.window);
        const QDockWidget& experts = *part<PanelDocks>(*f.window).dock(QStringLiteral("experts"));
        QTRY_VERIFY(experts.isVisible());
        for (const char* typed : {"heat map", "experts", "cache", "heat map"}) {
            QTest::keyClick(f.window.get(), Qt::Key_K, Qt::ControlModifier);
            QTRY_VERIFY(palette.isVisible());
            QTest::keyClicks(&palette.input(), QString::fromLatin1(typed));
            QTest::keyClick(&palette.input(), Qt::Key_Return);
            QTRY_VERIFY2(experts.isVisible() != (qstrcmp(typed, "cache") == 0), typed);
        }
        QVERIFY(experts.isAncestorOf(QApplication::focusWidget()));
    }

    // Letters scattered over a long name are no hit beside real ones.
    void scatteredLetters_areNoHitsBesideOthers() {
        QSettings().clear();
        WindowFixture f;
        f.openAndWait();
        CommandPalette& palette = part<CommandPalette>(*f.window);
        for (const char* typed : {"heat map", "budget", "system prompt", "theme"}) {
            palette.open();
            QTest::keyClicks(&palette.input(), QString::fromLatin1(typed));
            QVERIFY(!palette.listed().isEmpty());
            for (const QString& each : palette.listed()) {
                QVERIFY2(!each.contains(QStringLiteral("mulated")), qPrintable(QLatin1String(typed) + u' ' + each));
            }
        }
        palette.open();
        QTest::keyClicks(&palette.input(), QStringLiteral("nwcv"));  // no word has these: New conversation
        QVERIFY2(palette.listed().value(0).contains(QStringLiteral("New conversation")),
                 qPrintable(palette.listed().join(u'|')));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestCommandPalette)
#include "tst_command_palette.moc"
