// The help in the program: every panel has its page, F1 opens the page of what has the focus, and its words are found.

#include <QAction>
#include <QDockWidget>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QScrollBar>
#include <QTextBrowser>

#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/help/help_desk.h"
#include "ui/help/help_dialog.h"
#include "ui/settings/key_bindings.h"
#include "ui/settings/settings_dialog.h"
#include "ui/widgets/menu_commands.h"
#include "ui/widgets/panel_action.h"

using namespace offstage::test;
using namespace offstage::ui;

namespace {

QList<QDockWidget*> docksOf(const WindowFixture& f) {
    return f.window->findChildren<QDockWidget*>();
}

QString nameOf(const QDockWidget& dock) {
    return dock.objectName().chopped(4);  // "budgetDock"
}

// Something in the panel that takes the keyboard.
QWidget* focusableIn(const QDockWidget& dock) {
    for (QWidget* each : dock.widget()->findChildren<QWidget*>()) {
        if (each->isVisible() && each->isEnabled() && (each->focusPolicy() & Qt::TabFocus) != 0 &&
            each->focusProxy() == nullptr) {
            return each;
        }
    }
    return nullptr;
}

void pressF1(QWidget* where) {
    QTest::keyClick(where, Qt::Key_F1);
}

HelpDialog& open(const WindowFixture& f, const QString& page = QStringLiteral("start")) {
    f.window->help().open(page);
    return *f.window->help().dialog();
}

void search(const HelpDialog& help, const QString& words) {
    help.searchEdit().setFocus();
    help.searchEdit().selectAll();
    QTest::keyClicks(&help.searchEdit(), words);
}

}  // namespace

class TestHelp : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void everyPanel_hasAPage() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        const QList<QDockWidget*> docks = docksOf(f);
        QCOMPARE(docks.size(), 10);
        for (const QDockWidget* dock : docks) {
            QVERIFY2(help.showPage(nameOf(*dock)), qPrintable(nameOf(*dock)));
            QCOMPARE(help.heading(), dock->windowTitle());
            QVERIFY2(help.text().size() > 150, qPrintable(help.text()));
        }
    }

    void everyPage_hasATitleAndItsText_once() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        const QStringList ids = help.listed();
        QCOMPARE(QSet<QString>(ids.begin(), ids.end()).size(), ids.size());
        for (const QString& id : {QStringLiteral("start"), QStringLiteral("models"), QStringLiteral("attachments"),
                                  QStringLiteral("thinking"), QStringLiteral("keys"), QStringLiteral("server"),
                                  QStringLiteral("settings"), QStringLiteral("privacy")}) {
            QVERIFY2(help.showPage(id), qPrintable(id));
            QVERIFY(!help.heading().isEmpty());
            QVERIFY(help.text().startsWith(help.heading()));
            QVERIFY2(!help.text().contains(QStringLiteral("**")), qPrintable(help.text()));  // Markdown that is none
        }
    }

    void f1_inAPanel_opensItsPage() {
        WindowFixture f;
        f.window->resize(1280, 800);
        f.openAndWait();
        int focused = 0;
        for (QDockWidget* dock : docksOf(f)) {
            f.window->showPanel(nameOf(*dock));
            QTRY_VERIFY(PanelAction::of(*dock).isInFront());
            QApplication::setActiveWindow(f.window.get());
            QWidget* inside = focusableIn(*dock);
            if (inside != nullptr) {
                QCursor::setPos(f.window->mapToGlobal(QPoint(640, 400)));  // over the conversation
                ++focused;
            } else {  // nothing to see yet: under the pointer
                inside = &f.window->page().input().edit();
                QCursor::setPos(dock->mapToGlobal(QPoint(3, dock->height() / 2)));  // where the screen still is
            }
            inside->setFocus();
            QCOMPARE(QApplication::focusWidget(), inside);
            pressF1(inside);
            QVERIFY(f.window->help().dialog() != nullptr);
            QCOMPARE(f.window->help().dialog()->page(), nameOf(*dock));
            QVERIFY(f.window->help().dialog()->isVisible());
            f.window->help().dialog()->close();
        }
        QVERIFY(focused >= 6);
    }

    void f1_elsewhere_opensTheFirstSteps_andTheSettingsTheirs() {
        const WindowFixture f;
        f.window->page().input().edit().setFocus();
        pressF1(&f.window->page().input().edit());
        QCOMPARE(f.window->help().dialog()->page(), QStringLiteral("start"));
        QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
        SettingsDialog* settings = f.window->settingsDialog();
        QVERIFY(settings != nullptr && settings->isVisible());
        settings->showPage(SettingsDialog::Page::Server);
        QApplication::setActiveWindow(settings);
        settings->pages().setFocus();
        pressF1(&settings->pages());
        QCOMPARE(f.window->help().dialog()->page(), QStringLiteral("settings"));
    }

    void keysPage_hasEveryShortcutOfTheMenus_asItIsNow() {
        const WindowFixture f;
        const auto rowsOf = [&f] {
            const HelpDialog& help = open(f, QStringLiteral("keys"));
            return help.text();
        };
        int n = 0;
        QString shown = rowsOf();
        for (const MenuCommand& command : menuCommands(*f.window->menuBar())) {
            if (const QKeySequence keys = command.action->shortcut(); !keys.isEmpty()) {
                QVERIFY2(shown.contains(command.path), qPrintable(command.path));
                QVERIFY2(shown.contains(keys.toString(QKeySequence::NativeText)), qPrintable(keys.toString()));
                ++n;
            }
        }
        QVERIFY(n >= 12);
        QVERIFY(!shown.contains(QStringLiteral("Ctrl+Shift+F9")));
        f.window->keys().set(QStringLiteral("palette"), QKeySequence(QStringLiteral("Ctrl+Shift+F9")));
        shown = rowsOf();
        QVERIFY(shown.contains(QStringLiteral("Ctrl+Shift+F9")));
    }

    void search_findsWords_marksThem_andSaysWhereThereAreNone() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        const qsizetype all = help.listed().size();
        search(help, QStringLiteral("token bearer api"));
        QVERIFY(help.listed().isEmpty());
        search(help, QStringLiteral("api key"));
        QCOMPARE(help.listed(), QStringList{QStringLiteral("server")});
        QCOMPARE(help.page(), QStringLiteral("server"));
        QVERIFY(help.nMarks() >= 2);
        search(help, QStringLiteral("BUDGET"));  // the title goes before the texts
        QCOMPARE(help.page(), QStringLiteral("budget"));
        QVERIFY(help.listed().size() > 1);
        const QString first = help.page();
        QTest::keyClick(&help.searchEdit(), Qt::Key_Down);
        QVERIFY(help.page() != first);
        search(help, QStringLiteral("xylophone"));
        QVERIFY(help.listed().isEmpty());
        QVERIFY2(help.text().contains(QStringLiteral("xylophone")), qPrintable(help.text()));
        QCOMPARE(help.nMarks(), 0);
        search(help, QStringLiteral("<b>xylophone</b>"));  // said as it was typed
        QVERIFY2(help.text().contains(QStringLiteral("<b>xylophone</b>")), qPrintable(help.text()));
        // Its link shows all pages again.
        QTextCursor end = help.view().textCursor();
        end.movePosition(QTextCursor::End);
        end.movePosition(QTextCursor::PreviousCharacter);
        QTest::mouseClick(help.view().viewport(), Qt::LeftButton, {}, help.view().cursorRect(end).center());
        QCOMPARE(help.listed().size(), all);
        search(help, QStringLiteral("xylophone"));
        help.searchEdit().selectAll();
        QTest::keyClick(&help.searchEdit(), Qt::Key_Delete);
        QCOMPARE(help.listed().size(), all);
        QCOMPARE(help.nMarks(), 0);
    }

    void search_showsTheFirstHit_ofALongPage() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        help.resize(help.minimumSize());
        search(help, QStringLiteral("underlined"));
        QCOMPARE(help.page(), QStringLiteral("keys"));
        const auto* view = help.findChild<QTextBrowser*>();
        QTRY_VERIFY(view->verticalScrollBar()->value() > 0);
        QVERIFY(view->viewport()->rect().contains(view->cursorRect().center()));
    }

    void escape_closesTheHelp_andStopsNoAnswer() {
        WindowFixture f;
        f.openAndWait();
        f.stage->heldBack = true;
        f.ask(QStringLiteral("Hello"));
        QTRY_VERIFY(f.stage->generating);
        const QPointer<HelpDialog> help = &open(f);
        QApplication::setActiveWindow(help);
        QTest::keyClick(&help->searchEdit(), Qt::Key_Escape);
        QTRY_VERIFY(help.isNull());
        QCOMPARE(f.state(), EngineController::State::Generating);
        f.stage->heldBack = false;
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }

    void pictures() {
        const WindowFixture f;
        HelpDialog& help = open(f, QStringLiteral("budget"));
        picture(help, QStringLiteral("help-budget"), {560, 820}, 600);
        help.showPage(QStringLiteral("keys"));
        picture(help, QStringLiteral("help-keys"), {820}, 600);
        search(help, QStringLiteral("experts"));
        picture(help, QStringLiteral("help-search"), {820}, 600);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestHelp)
#include "tst_help.moc"
