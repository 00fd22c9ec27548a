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
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <QToolButton>
#include <QTranslator>

#include "engine/model/model_finder.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/gguf_writer.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/help/help_answers.h"
#include "ui/help/help_desk.h"
#include "ui/help/help_dialog.h"
#include "ui/help/help_html.h"
#include "ui/help/help_pages.h"
#include "ui/history/conversation_files.h"
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

// Until what it returns goes.
auto spoken(const QString& language) {
    auto restores = qScopeGuard([before = QLocale()] {
        qDeleteAll(qApp->findChildren<QTranslator*>());
        QLocale::setDefault(before);
    });
    speak(*qApp, language);
    return restores;
}

// In the folder: as a folder, or its vocabulary in a GGUF file.
std::string copyOfTheDemoModel(const QTemporaryDir& folder, bool isGguf) {
    const QDir source(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model"));
    if (!isGguf) {
        for (const QString& file : source.entryList({QStringLiteral("*.json"), QStringLiteral("tokenizer.model")})) {
            QFile::copy(source.filePath(file), folder.filePath(file));
        }
        return folder.path().toStdString();
    }
    constexpr engine::TokenId kTokens = 2048;
    const auto tokenizer = engine::Tokenizer::open(source.path().toStdString(), kTokens);
    std::vector<std::string> names;
    std::vector<float> scores;
    std::vector<std::int32_t> types;
    for (engine::TokenId token = 0; token < kTokens; ++token) {
        names.push_back(tokenizer->piece_name(token));
        scores.push_back(-static_cast<float>(token));
        types.push_back(token == 0 ? 2 : tokenizer->is_control(token) ? 3 : 1);
    }
    const std::string path = folder.filePath(QStringLiteral("copy.gguf")).toStdString();
    offstage::tests::GgufWriter()
        .add("general.architecture", "llama")
        .add("tokenizer.ggml.model", "llama")
        .add("tokenizer.ggml.tokens", names)
        .add("tokenizer.ggml.scores", scores)
        .add("tokenizer.ggml.token_type", types)
        .add("tokenizer.ggml.unknown_token_id", std::uint32_t{0})
        .add_floats("t", {2}, {1, 2})
        .write(path);
    return path;
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

    // Who reads another language learns at once that the pages are in English.
    void pages_sayTheirLanguage_inTheReaders_data() {
        QTest::addColumn<QString>("note");
        QTest::newRow("en") << QString();
        QTest::newRow("de") << QStringLiteral("mit ihren englischen Namen");
        QTest::newRow("vi") << QStringLiteral("tiếng Anh");
    }
    void pages_sayTheirLanguage_inTheReaders() {
        QFETCH(QString, note);
        const QString language = QString::fromLatin1(QTest::currentDataTag());
        const auto restores = spoken(language);
        const WindowFixture f;
        HelpDialog& help = open(f);
        QCOMPARE(help.text().section(u'\n', 0, 0).contains(QStringLiteral("First steps")), note.isEmpty());
        QVERIFY2(help.text().section(u'\n', 0, 0).contains(note), qPrintable(help.text().left(80)));
        picture(help, QStringLiteral("help-") + language, {480, 900}, 640);
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

    // By its topic: the translation's words need not be known.
    void offeredQuestion_isAnsweredInEachLanguage_data() {
        QTest::addColumn<int>("question");
        QTest::addColumn<QString>("page");
        QTest::addColumn<QString>("words");
        for (const char* language : {"en", "de", "vi"}) {
            QTest::addRow("%s models", language) << 0 << QStringLiteral("models") << QStringLiteral("A GGUF file");
            QTest::addRow("%s privacy", language)
                << 1 << QStringLiteral("privacy") << QStringLiteral("makes outbound connections");
        }
    }
    void offeredQuestion_isAnsweredInEachLanguage() {
        QFETCH(const int, question);
        QFETCH(const QString, page);
        QFETCH(const QString, words);
        const QStringList english = HelpAnswers::offered();
        const QString language = QString::fromLatin1(QTest::currentDataTag()).left(2);
        const auto restores = spoken(language);
        const QStringList offered = HelpAnswers::offered();
        QCOMPARE(offered.size(), 2);
        QCOMPARE(offered[question] == english[question], language == QStringLiteral("en"));
        WindowFixture f;
        Q_EMIT part<ChatPage>(*f.window).emptyState().questionChosen(question);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages().first().text, offered[question]);
        QCOMPARE(f.last().helpPage, page);
        QVERIFY2(f.last().text.contains(words), qPrintable(f.last().text));
        // In another language its first line says that the pages, and menus in them, are in
        // English.
        const QString first =
            language == QStringLiteral("de")
                ? QStringLiteral("Die Hilfe gibt es nur auf Englisch, mit den englischen Namen von Menüs und Knöpfen.")
            : language == QStringLiteral("vi")
                ? QStringLiteral("Phần trợ giúp chỉ có bằng tiếng Anh, với tên tiếng Anh của trình đơn và nút.")
                : QString();
        QVERIFY2(f.last().text.startsWith(first), qPrintable(f.last().text));
        QCOMPARE(f.last().text.startsWith(QStringLiteral("The help is in English")), false);
    }

    // The demo model would answer it falsely, wherever its files lie. Other models get
    // what is typed.
    void questionToTheDemoModel_isAnsweredFromTheManual_data() {
        QTest::addColumn<bool>("isGguf");
        QTest::newRow("a copy of its folder") << false;
        QTest::newRow("as a GGUF file") << true;
    }
    void questionToTheDemoModel_isAnsweredFromTheManual() {
        QFETCH(const bool, isGguf);
        QTemporaryDir folder;
        Script script;
        script.tokenizerOf = copyOfTheDemoModel(folder, isGguf);
        const QString question = QStringLiteral("Can you open GGUF files?");
        WindowFixture f(script, QStringLiteral("/models/demo"));
        f.openAndWait(QStringLiteral("/elsewhere/a-copy"));
        f.ask(question);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages().first().text, question);
        QCOMPARE(f.last().helpPage, QStringLiteral("models"));
        QVERIFY(part<ChatPage>(*f.window).input().text().isEmpty());
        QVERIFY(f.stage->requests().empty());
        for (const std::string& family : engine::family_names()) {
            QVERIFY2(f.last().text.contains(QString::fromStdString(family)), family.c_str());
        }
        picture(*f.window, QStringLiteral("help-answer"), {620, 1280}, 800);
        auto& view = part<ChatPage>(*f.window).view();
        QVERIFY(view.messageWidget(f.last().id)->caption().contains(QStringLiteral("sees neither")));

        QTest::mouseClick(&find<QToolButton>(view, "Open this page of the help"), Qt::LeftButton);
        QTRY_COMPARE(part<HelpDialog>(*f.window).page(), QStringLiteral("models"));
        part<HelpDialog>(*f.window).close();

        // The model's own answer is a branch beside it.
        QTest::mouseClick(&find<QToolButton>(view, "Let the model answer this: a new branch"), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        QCOMPARE(f.last().branches, 2);
        QVERIFY(f.last().helpPage.isEmpty());
        QCOMPARE(f.stage->requests().back().messages.back().content, question.toStdString());

        f.stage->setScript({});
        f.openAndWait();  // another model
        f.ask(question);
        QTRY_COMPARE(f.messages().size(), 4);
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }

    // It stays what it is, over a restart and in files, and no model is given it.
    void answerFromTheHelp_isKept() {
        QTemporaryDir kept, folder;
        Script script;
        script.tokenizerOf = copyOfTheDemoModel(folder, false);
        ConversationId id = 0;
        QString text;
        {
            WindowFixture f(script, {}, kept.path());
            f.openAndWait();
            f.ask(QStringLiteral("Kann man hier GGUF-Dateien laden?"));
            QCOMPARE(f.messages().size(), 2);
            text = f.last().text;
            id = f.window->core().chat.current();
            QCOMPARE(f.window->core().history.info(id).title, QStringLiteral("Kann man hier GGUF-Dateien laden?"));
            QVERIFY(!f.window->core().chat.editAnswer(f.last().id, QStringLiteral("mine")));
            QVERIFY(!f.window->core().chat.canContinue(f.last().id));
        }
        WindowFixture f(script, {}, kept.path(), WindowFixture::Start::WithLastConversation);
        QCOMPARE(f.window->core().chat.current(), id);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.last().helpPage, QStringLiteral("models"));
        QCOMPARE(f.last().text, text);
        QVERIFY(!f.last().figures);

        const StoredConversation stored = *f.window->core().history.stored(id);
        QVERIFY(conversationToMarkdown(stored).contains(QStringLiteral("## From the help\n\n") + text.trimmed()));
        const ImportedConversations read = conversationsFromJson(conversationsToJson({stored}), QStringLiteral("x"));
        QCOMPARE(read.error, QString());
        QCOMPARE(read.conversations.first().messages.last().helpPage, QStringLiteral("models"));
        const QList<SearchHit> hits = f.window->core().history.search(QStringLiteral("metadata"));
        QVERIFY(std::any_of(hits.begin(), hits.end(), [&](const SearchHit& hit) { return hit.conversation == id; }));

        f.openAndWait();
        f.ask(QStringLiteral("hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.stage->requests().back().messages.size(), size_t(1));
        // An edited question is looked up as a typed one is.
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        auto& view = part<ChatPage>(*f.window).view();
        view.startEditing(f.messages()[2].id);
        auto& edit = view.messageWidget(f.messages()[2].id)->editor()->edit();
        edit.selectAll();
        QTest::keyClicks(&edit, QStringLiteral("Can I attach a PDF?"));
        QTest::keyClick(&edit, Qt::Key_Return);
        QTRY_COMPARE(f.last().helpPage, QStringLiteral("chat"));
        QCOMPARE(f.messages()[2].branches, 2);
        QCOMPARE(f.stage->requests().size(), size_t(1));
    }

    // The model sees no turn above a cut, and its summary, also when the prompt with it was
    // edited into a question that the manual answers.
    void answerFromTheHelp_inPlaceOfASummary_leavesItForTheNext() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("one"));
        ChatController& chat = f.window->core().chat;
        Message two;
        two.kind = Message::Kind::Prompt;
        two.text = QStringLiteral("two");
        two.cut = QStringLiteral("What was said before.");
        two.parent = f.last().id;
        const MessageId cut = f.window->core().history.add(chat.current(), two);
        chat.openConversation(chat.current());
        QVERIFY(chat.answerFromHelp(QStringLiteral("Can I attach a PDF?"), QStringLiteral("Yes."),
                                    QStringLiteral("chat"), cut));
        QCOMPARE(f.last().helpPage, QStringLiteral("chat"));
        for (const char* prompt : {"three", "four"}) {
            f.askAndWait(QString::fromLatin1(prompt));
            const std::vector<engine::ChatMessage> seen = f.stage->requests().back().messages;
            QVERIFY2(seen.front().content.find("What was said before.") != std::string::npos &&
                         seen.front().content.ends_with("three"),
                     seen.front().content.c_str());
        }
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
