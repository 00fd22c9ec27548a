// The help in the program: every panel has its page, F1 opens the page of the widget with
// the focus, and its words are found.

#include <algorithm>

#include <QAction>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTextBrowser>

#include "engine/model/model_finder.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/help/help_answers.h"
#include "ui/help/help_desk.h"
#include "ui/help/help_dialog.h"
#include "ui/help/help_html.h"
#include "ui/help/help_pages.h"
#include "ui/load/open_model_dialog.h"
#include "ui/settings/key_bindings.h"
#include "ui/settings/settings_dialog.h"
#include "ui/widgets/menu_commands.h"
#include "ui/widgets/panel_action.h"
#include "ui/window/panel_docks.h"

namespace engine = offstage::engine;
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
    part<HelpDesk>(*f.window).open(page);
    return *part<HelpDesk>(*f.window).dialog();
}

// Words of the search that are marked on the page shown.
int nMarks(const HelpDialog& help) {
    return static_cast<int>(help.view().extraSelections().size());
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
            QVERIFY2(help.showPage(helpPageOf(dock)), qPrintable(nameOf(*dock)));
            QVERIFY2(help.text().startsWith(dock->windowTitle()), qPrintable(help.text()));
            QVERIFY2(help.text().size() > 150, qPrintable(help.text()));
        }
    }

    void everyPage_isListedOnce_andIsWhole() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        const QStringList ids = help.listed();
        const QStringList files =
            QDir(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/help/en")).entryList({QStringLiteral("*.md")});
        QCOMPARE(ids.size(), files.size() - 1);  // README.md is the list
        for (const QString& id : ids) {
            QVERIFY2(help.showPage(id), qPrintable(id));
            QCOMPARE(help.page(), id);
            QVERIFY(help.text().startsWith(child<QListWidget>(help).currentItem()->text()));
            QVERIFY2(help.text().size() > 150, qPrintable(id));
            // The shown text contains no Markdown.
            QVERIFY2(!help.text().contains(QStringLiteral("**")) && !help.text().contains(QStringLiteral("](")),
                     qPrintable(help.text()));
        }
    }

    // Links to headings too.
    void everyLink_leadsToAPage() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        static const QRegularExpression link(QStringLiteral("href=\"([^\"]+)\""));
        int n = 0;
        for (const HelpPage& page : helpPages(*f.window->menuBar())) {
            for (auto it = link.globalMatch(helpHtml(page.text)); it.hasNext();) {
                const QUrl url(it.next().captured(1));
                QVERIFY(help.showPage(page.id));
                QVERIFY2(help.follow(url), qPrintable(page.id + QStringLiteral(": ") + url.toString()));
                QCOMPARE(help.page(), url.path().chopped(3));
                ++n;
            }
        }
        QVERIFY(n > 30);
    }

    void link_leadsToItsHeading_andBackToWhereOneWas() {
        const WindowFixture f;
        HelpDialog& help = open(f, QStringLiteral("cache"));
        help.resize(560, 320);
        QCoreApplication::processEvents();
        QVERIFY(!find<QPushButton>(help, "Back").isEnabled());
        QTextCursor link = help.view().document()->find(QStringLiteral("How a model runs"));
        QVERIFY(!link.isNull());
        help.view().setTextCursor(link);
        help.view().ensureCursorVisible();
        const int scrolled = help.view().verticalScrollBar()->value();
        link.setPosition(link.selectionStart() + 2);
        QTest::mouseClick(help.view().viewport(), Qt::LeftButton, {}, help.view().cursorRect(link).center());
        QCOMPARE(help.page(), QStringLiteral("running"));
        const QTextCursor heading = help.view().document()->find(QStringLiteral("Expert cache"));
        QTRY_VERIFY(help.view().viewport()->rect().contains(help.view().cursorRect(heading).center()));
        QVERIFY(help.view().verticalScrollBar()->value() > 0);
        QTest::mouseClick(&find<QPushButton>(help, "Back"), Qt::LeftButton);
        QCOMPARE(help.page(), QStringLiteral("cache"));
        QTRY_COMPARE(help.view().verticalScrollBar()->value(), scrolled);
        QVERIFY(!find<QPushButton>(help, "Back").isEnabled());
        QVERIFY(!help.follow(QUrl(QStringLiteral("nowhere.md"))));
        QCOMPARE(help.page(), QStringLiteral("cache"));
        // Back does not return to pages that only a search has shown.
        search(help, QStringLiteral("persona"));
        QCOMPARE(help.page(), QStringLiteral("chat"));
        QVERIFY(!find<QPushButton>(help, "Back").isEnabled());
    }

    // Lines of code and tables are broken where there is too little room.
    void pages_areNeverWiderThanTheirWindow() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        help.resize(620, 500);
        for (const QString& id : help.listed()) {
            help.showPage(id);
            QCoreApplication::processEvents();
            QVERIFY2(help.view().horizontalScrollBar()->maximum() == 0, qPrintable(id));
        }
    }

    void f1_inAPanel_opensItsPage() {
        WindowFixture f;
        f.window->resize(1280, 800);
        f.openAndWait();
        int focused = 0;
        for (QDockWidget* dock : docksOf(f)) {
            part<PanelDocks>(*f.window).show(nameOf(*dock));
            QTRY_VERIFY(PanelAction::of(*dock).isInFront());
            QApplication::setActiveWindow(f.window.get());
            QWidget* inside = focusableIn(*dock);
            if (inside != nullptr) {
                QCursor::setPos(f.window->mapToGlobal(QPoint(640, 400)));  // over the conversation
                ++focused;
            } else {  // nothing to see yet: under the pointer
                inside = &part<ChatPage>(*f.window).input().edit();
                QCursor::setPos(dock->mapToGlobal(QPoint(3, dock->height() / 2)));  // where the widget was before
            }
            inside->setFocus();
            QCOMPARE(QApplication::focusWidget(), inside);
            pressF1(inside);
            QVERIFY(part<HelpDesk>(*f.window).dialog() != nullptr);
            QCOMPARE(part<HelpDesk>(*f.window).dialog()->page(), helpPageOf(dock));
            QVERIFY(part<HelpDesk>(*f.window).dialog()->isVisible());
            part<HelpDesk>(*f.window).dialog()->close();
        }
        QVERIFY(focused >= 6);
    }

    void f1_inTheChat_theSettings_andAModalDialog_opensTheirPages() {
        const WindowFixture f;
        part<ChatPage>(*f.window).input().edit().setFocus();
        pressF1(&part<ChatPage>(*f.window).input().edit());
        QCOMPARE(part<HelpDesk>(*f.window).dialog()->page(), QStringLiteral("chat"));
        QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
        SettingsDialog* settings = f.window->findChild<SettingsDialog*>();
        QVERIFY(settings != nullptr && settings->isVisible());
        settings->showPage(SettingsDialog::Page::Server);
        QApplication::setActiveWindow(settings);
        settings->pages().setFocus();
        pressF1(&settings->pages());
        QCOMPARE(part<HelpDesk>(*f.window).dialog()->page(), QStringLiteral("settings"));
        settings->close();
        f.window->opener().openWithOptions({});
        auto* const options = f.window->findChild<OpenModelDialog*>();
        QVERIFY(options != nullptr && options->isModal());
        QApplication::setActiveWindow(options);
        QTest::keyClick(options, Qt::Key_F1);
        QCOMPARE(part<HelpDesk>(*f.window).dialog()->page(), QStringLiteral("models"));
        QCOMPARE(part<HelpDesk>(*f.window).dialog()->parentWidget(), options);  // which else would block it
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
        part<KeyBindings>(*f.window).set(QStringLiteral("palette"), QKeySequence(QStringLiteral("Ctrl+Shift+F9")));
        shown = rowsOf();
        QVERIFY(shown.contains(QStringLiteral("Ctrl+Shift+F9")));
    }

    // The manual's page shows the keys that the program begins with.
    void keysPage_ofTheManual_hasTheKeysOfAFreshProgram() {
        const WindowFixture f;
        const QList<HelpPage> pages = helpPages(*f.window->menuBar());
        const auto keys = std::find_if(pages.begin(), pages.end(),
                                       [](const HelpPage& page) { return page.id == QStringLiteral("keys"); });
        QVERIFY(keys != pages.end());
        QFile file(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/help/en/keys.md"));
        QVERIFY(file.open(QFile::ReadOnly));
        QVERIFY2(QString::fromUtf8(file.readAll()) == keys->text, qPrintable(keys->text));  // what it should be
    }

    void search_findsWords_marksThem_andSaysWhereThereAreNone() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        const qsizetype all = help.listed().size();
        search(help, QStringLiteral("token bearer budget xylophone"));
        QVERIFY(help.listed().isEmpty());
        search(help, QStringLiteral("prometheus metrics"));
        QCOMPARE(help.listed(), QStringList{QStringLiteral("server")});
        QCOMPARE(help.page(), QStringLiteral("server"));
        QVERIFY(nMarks(help) >= 2);
        search(help, QStringLiteral("BUDGET"));  // the title goes before the texts
        QCOMPARE(help.page(), QStringLiteral("budget"));
        QVERIFY(help.listed().size() > 1);
        QTest::keyClick(&help.searchEdit(), Qt::Key_Down);
        QVERIFY(help.page() != QStringLiteral("budget"));
        search(help, QStringLiteral("experts"));
        QVERIFY(nMarks(help) >= 3);
        int before = help.view().textCursor().position();
        for (int mark = 1; mark < nMarks(help); ++mark) {  // Enter goes to the next one, at last to the first
            QTest::keyClick(&help.searchEdit(), Qt::Key_Return);
            QVERIFY(help.view().textCursor().position() > before);
            before = help.view().textCursor().position();
        }
        QTest::keyClick(&help.searchEdit(), Qt::Key_Return);
        QVERIFY(help.view().textCursor().position() < before);
        search(help, QStringLiteral("xylophone"));
        QVERIFY(help.listed().isEmpty());
        QVERIFY2(help.text().contains(QStringLiteral("xylophone")), qPrintable(help.text()));
        QCOMPARE(nMarks(help), 0);
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
        QCOMPARE(nMarks(help), 0);
    }

    void search_showsTheFirstHit_ofALongPage() {
        const WindowFixture f;
        HelpDialog& help = open(f);
        help.resize(help.minimumSize());
        search(help, QStringLiteral("underlined letter"));
        QCOMPARE(help.page(), QStringLiteral("keys"));
        const auto* view = help.findChild<QTextBrowser*>();
        QTRY_VERIFY(view->verticalScrollBar()->value() > 0);
        QVERIFY(view->viewport()->rect().contains(view->cursorRect().center()));
    }

    void questionAboutTheProgram_isKnown_data() {
        QTest::addColumn<QString>("page");
        for (const char* asked : {"Can you open GGUF files?", "which file formats do you read",
                                  "Which models can this program open?", "Does Offstage support safetensors?"}) {
            QTest::newRow(asked) << QStringLiteral("models");
        }
        for (const char* asked : {"Do you send my data anywhere?", "Does this program need an internet connection?",
                                  "Can you work offline?"}) {
            QTest::newRow(asked) << QStringLiteral("privacy");
        }
        for (const char* asked : {"Can I attach a PDF?", "What kinds of files can I attach?"}) {
            QTest::newRow(asked) << QStringLiteral("chat");
        }
        for (const char* asked : {"Which panels are there?", "Is there a panel for machines?"}) {
            QTest::newRow(asked) << QStringLiteral("start");
        }
        QTest::newRow("Can you use other computers?") << QStringLiteral("machines");
        for (const char* asked :
             {"What is an expert?", "Can you open the window?", "Write a story about how you open a GGUF file.",
              "What is GGUF?", "Do you know a poem?", "Can you read Shakespeare?", "How do you send data in Python?",
              "Can you open GGUF files?\nAnswer in French.",
              "Can you explain to me in a few words that a child understands how one would go about it to open "
              "GGUF?"}) {
            QTest::newRow(asked) << QString();
        }
    }
    void questionAboutTheProgram_isKnown() {
        QFETCH(const QString, page);
        const QList<HelpAnswer> answers = helpAnswers();
        const HelpAnswer* answer = answerOf(answers, QString::fromUtf8(QTest::currentDataTag()));
        QCOMPARE(answer != nullptr ? answer->page : QString(), page);
    }

    // The demo model would answer it falsely. Other models get what is typed.
    void questionToTheDemoModel_isAnsweredFromTheManual() {
        const QString question = QStringLiteral("Can you open GGUF files?");
        WindowFixture f({}, QStringLiteral("/models/demo"));
        f.openAndWait(QStringLiteral("/models/demo"));
        f.ask(question);
        QCOMPARE(f.last().problem.title, question);
        QVERIFY(part<ChatPage>(*f.window).input().text().isEmpty());
        QVERIFY(f.stage->requests().empty());
        auto& view = part<ChatPage>(*f.window).view();
        QLabel* text = nullptr;
        for (QLabel* label : view.findChildren<QLabel*>()) {
            text = label->text().contains(QStringLiteral("Qwen3Moe")) ? label : text;
        }
        QVERIFY(text != nullptr);  // names families
        for (const std::string& family : engine::family_names()) {
            QVERIFY2(text->text().contains(QString::fromStdString(family)), family.c_str());
        }
        picture(*f.window, QStringLiteral("help-card"), {620, 1280}, 800);
        // Its link leads to the other page, by keys.
        text->setFocus();
        QTest::keyClick(text, Qt::Key_Tab);
        QTest::keyClick(text, Qt::Key_Return);
        QTRY_COMPARE(part<HelpDialog>(*f.window).page(), QStringLiteral("measuring"));
        part<HelpDialog>(*f.window).close();

        QTest::mouseClick(&find<QPushButton>(view, "Ask the model anyway"), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages().first().text, question);

        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        f.openAndWait();  // another model
        f.ask(question);
        QTRY_COMPARE(f.messages().size(), 4);
        QTRY_COMPARE(f.last().state, Message::State::Done);
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
        HelpDialog& help = open(f);
        for (const char* page : {"budget", "running", "command-line", "keys"}) {
            help.showPage(QLatin1String(page));
            picture(help, QStringLiteral("help-") + QLatin1String(page), {560, 900}, 640);
        }
        search(help, QStringLiteral("experts"));
        picture(help, QStringLiteral("help-search"), {900}, 640);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestHelp)
#include "tst_help.moc"
