// What a new user meets in the first ten minutes, by real keys and clicks: what belongs
// to which conversation, where typed text goes, what menus and keys mean.

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QLineEdit>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTest>
#include <QToolButton>
#include <QTranslator>

#include "engine/run/run_messages.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/context_counter.h"
#include "ui/chat/conversation_find.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/find_bar.h"
#include "ui/chat/message_attachments.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/persona_bar.h"
#include "ui/chat/problem_card.h"
#include "ui/chat/suggested_prompts.h"
#include "ui/history/conversation_list_model.h"
#include "ui/load/fit_view.h"
#include "ui/load/open_model_dialog.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/log_panel.h"
#include "ui/settings/preset_bar.h"
#include "ui/settings/sampling_panel.h"
#include "ui/settings/settings_dialog.h"
#include "ui/widgets/file_choice.h"
#include "ui/window/panel_docks.h"
#include "ui/window/status_line.h"

using namespace offstage;
using namespace offstage::ui;
using test::part;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

class TestFirstMinutes : public QObject {
    Q_OBJECT

    static QPlainTextEdit& promptField(WindowFixture& f) {
        return test::find<QPlainTextEdit>(part<SamplingPanel>(*f.window), "System prompt");
    }
    static QToolButton& promptChip(WindowFixture& f) {
        return test::find<QToolButton>(part<PersonaBar>(*f.window), "System prompt of this conversation");
    }
    static QString text(WindowFixture& f) { return part<ChatPage>(*f.window).input().edit().toPlainText(); }
    static void keys(const QString& typed) {
        for (const QChar& key : typed) {
            QTest::keyClick(QApplication::focusWidget(), key.toLatin1());
        }
    }
    static QFileDialog& fileDialog(QWidget& window) {
        auto* dialog = window.findChild<QFileDialog*>();
        if (dialog == nullptr) {
            qFatal("no file dialog is open");
        }
        return *dialog;
    }

  private Q_SLOTS:
    void init() {
        QSettings().clear();
        QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    }

    // ---- which conversation something belongs to

    void systemPrompt_belongsToItsConversation_andAChipShowsIt() {
        {
            WindowFixture f;
            f.openAndWait();
            QVERIFY(!promptChip(f).isVisible());
            part<PanelDocks>(*f.window).show(QStringLiteral("sampling"));
            promptField(f).setFocus();
            keys(QStringLiteral("Talk like a pirate."));
            QTRY_VERIFY(promptChip(f).isVisible());
            QCOMPARE(promptChip(f).text(), QStringLiteral("System prompt: Talk like a pirate."));
            test::picture(*f.window, QStringLiteral("system-prompt-chip"), {620, 1280}, 800);
            f.askAndWait(QStringLiteral("ahoy"));
            QCOMPARE(f.stage->requests().back().messages.size(), std::size_t(2));
            const ConversationId pirates = f.window->core().chat.current();

            QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
            QTRY_VERIFY(!promptChip(f).isVisible());
            QCOMPARE(promptField(f).toPlainText(), QString());
            f.askAndWait(QStringLiteral("hello"));
            QCOMPARE(f.stage->requests().back().messages.size(), std::size_t(1));

            f.window->core().chat.openConversation(pirates);
            QTRY_VERIFY(promptChip(f).isVisible());
            part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
            QTest::mouseClick(&promptChip(f), Qt::LeftButton);
            QTRY_VERIFY(promptField(f).isVisible() && promptField(f).hasFocus());
            f.window->close();
        }
        WindowFixture f;  // the next start
        f.openAndWait();
        QVERIFY(!promptChip(f).isVisible());
        QCOMPARE(f.window->core().chat.systemPrompt(), QString());
    }

    void contextMeter_isTheShownConversations() {
        Script script;
        WindowFixture f(script);
        f.openAndWait();
        f.askAndWait(QStringLiteral("a short one"));
        const ConversationId first = f.window->core().chat.current();
        auto& status = part<StatusLine>(*f.window);
        QTRY_VERIFY(status.contextText() != QStringLiteral("0 of 2,048 tokens"));
        auto& counter = part<ChatPage>(*f.window).counter();
        QTRY_VERIFY(counter.isUpToDate());
        const QString ofFirst = status.contextText();

        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        QTRY_COMPARE(status.contextText(), QStringLiteral("0 of 2,048 tokens"));
        script.answer = std::string(40'000, 'x');
        script.tokensPerSecond = 100;
        f.stage->setScript(script);
        f.ask(QString(200, u'y'));
        QTRY_VERIFY(f.last().text.size() > 100);
        const ConversationId second = f.window->core().chat.current();
        const QString ofSecond = status.contextText();
        QVERIFY(ofSecond != ofFirst);
        f.window->core().chat.openConversation(first);
        QCOMPARE(status.contextText(), ofFirst);
        QTRY_VERIFY(counter.isUpToDate());  // the pause after the change is over
        QCOMPARE(status.contextText(), ofFirst);
        f.window->core().chat.newConversation();  // never counted
        QCOMPARE(status.contextText(), QStringLiteral("– of 2,048 tokens"));
        f.window->core().chat.openConversation(second);
        QTRY_VERIFY(status.contextText() != QStringLiteral("– of 2,048 tokens") && status.contextText() != ofFirst);
        f.window->core().chat.stop();
        QTRY_COMPARE(f.state(), State::Ready);
    }

    void searchHit_isMarkedInItsMessage() {
        Script script;
        script.answer = "The **quick brown** fox, and a fox's den.";
        test::HistoryFolder folder;
        WindowFixture f(script, {}, folder.path());
        f.openAndWait();
        f.askAndWait(QStringLiteral("tell me"));
        const MessageId answer = f.last().id;
        f.askAndWait(QStringLiteral("again"));
        const ConversationId found = f.window->core().chat.current();
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        auto& list = part<ConversationList>(*f.window);
        auto& search = test::find<QLineEdit>(list, "Search all conversations");
        search.setFocus();
        keys(QStringLiteral("brown fox"));
        auto& view = test::find<QListView>(list, "Conversations");
        QTRY_VERIFY(view.model()->rowCount() >= 2);
        QTest::keyClick(&search, Qt::Key_Down);
        for (int row = 0; row < view.model()->rowCount() && view.currentIndex().row() != view.model()->rowCount() - 1;
             ++row) {
            QTest::keyClick(&view, Qt::Key_Down);
        }
        QTest::keyClick(&view, Qt::Key_Return);
        QTRY_COMPARE(f.window->core().chat.current(), found);
        ConversationView& chat = part<ChatPage>(*f.window).view();
        const auto marks = [&](MessageId id, TextMark mark) {
            const MessageWidget* widget = chat.messageWidget(id);
            return widget != nullptr ? widget->body().marks().of(mark) : QList<QPair<int, int>>();
        };
        QCOMPARE(marks(answer, TextMark::Found), (QList<QPair<int, int>>{{12, 17}, {20, 23}, {31, 34}}));
        QCOMPARE(marks(answer, TextMark::FoundCurrent), (QList<QPair<int, int>>{{12, 17}}));
        test::picture(*f.window, QStringLiteral("search-hit"), {1280}, 800);
        search.setFocus();
        QTest::keyClick(&search, Qt::Key_Escape);  // the search is over
        QVERIFY(marks(answer, TextMark::Found).isEmpty() && marks(answer, TextMark::FoundCurrent).isEmpty());
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        f.window->core().chat.openConversation(found);
        QVERIFY(marks(answer, TextMark::Found).isEmpty());
    }

    // The first row of most searches: it marked nothing, neither in the list nor in the
    // chat.
    void searchHit_inAnAttachedFile_isShownInIt() {
        const test::HistoryFolder folder;
        WindowFixture f({}, {}, folder.path());
        f.openAndWait();
        const QString text = QStringLiteral("A line.\n").repeated(200) + QStringLiteral("One quince.\n") +
                             QStringLiteral("A line.\n").repeated(99) + QStringLiteral("A quince.\nThe last quince.\n");
        ChatController& chat = f.window->core().chat;
        QVERIFY(chat.send(QStringLiteral("see these"), {{QStringLiteral("other.txt"), 4, QStringLiteral("pear")},
                                                        {QStringLiteral("fruit.txt"), text.size(), text}}));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const MessageId prompt = f.messages().first().id;
        part<QAction>(*f.window, "newConversation").trigger();
        QVERIFY(f.window->core().history.flush());
        auto& list = part<ConversationList>(*f.window);
        QTest::keyClicks(&test::child<QLineEdit>(list), QStringLiteral("quince"));
        QTRY_COMPARE(list.model().rowCount(), 1);
        const QModelIndex hit = list.model().index(0);
        QTRY_COMPARE(hit.data(ConversationListModel::PlaceRole).toString(), QStringLiteral("Attached file"));
        QTest::mouseClick(list.view().viewport(), Qt::LeftButton, {}, list.view().visualRect(hit).center());
        MessageWidget* widget = part<ChatPage>(*f.window).view().messageWidget(prompt);
        QVERIFY(widget != nullptr && widget->attachments() != nullptr && widget->attachments()->isUnfolded());
        QPlainTextEdit* const shown = widget->attachments()->text();
        QCOMPARE(shown->toPlainText(), text.chopped(1));
        QCOMPARE(shown->extraSelections().size(), 3);
        QCOMPARE(shown->extraSelections().first().cursor.selectedText(), QStringLiteral("quince"));
        QTRY_VERIFY(shown->viewport()->rect().contains(shown->cursorRect().center()));
        test::picture(*f.window, QStringLiteral("hit-in-a-file"), {1280}, 800);
        // Which of how many, and the way to the others.
        auto& steps = test::child<HitSteps>(*widget->attachments());
        const auto lineOfHit = [shown] { return shown->textCursor().blockNumber(); };
        QVERIFY(steps.isVisible());
        QCOMPARE(steps.text(), QStringLiteral("1 / 3"));
        QCOMPARE(lineOfHit(), 200);
        QTest::mouseClick(&test::find<QToolButton>(steps, "Next hit (Enter)"), Qt::LeftButton);
        QCOMPARE(steps.text(), QStringLiteral("2 / 3"));
        QCOMPARE(lineOfHit(), 300);
        shown->setFocus();
        QTest::keyClick(shown, Qt::Key_F3);
        QCOMPARE(steps.text(), QStringLiteral("3 / 3"));
        QTRY_VERIFY(shown->viewport()->rect().contains(shown->cursorRect().center()));
        QTest::keyClick(shown, Qt::Key_Return);
        QCOMPARE(steps.text(), QStringLiteral("1 / 3"));
        QTest::keyClick(shown, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(steps.text(), QStringLiteral("3 / 3"));
        QCOMPARE(lineOfHit(), 301);
        QTest::keyClick(&test::child<QLineEdit>(list), Qt::Key_Escape);  // the search is over
        QVERIFY(shown->extraSelections().isEmpty() && !steps.isVisible());
    }

    void searchHit_inATitle_marksTheWordsOfItsConversation() {
        Script script;
        script.answer = test::longAnswer(400) + " A lantern.";
        test::HistoryFolder folder;
        WindowFixture f(script, {}, folder.path());
        f.openAndWait();
        f.askAndWait(QStringLiteral("a fox with a lantern"));
        const MessageId prompt = f.messages().first().id;
        const MessageId answer = f.last().id;
        auto& list = part<ConversationList>(*f.window);
        auto& search = test::find<QLineEdit>(list, "Search all conversations");
        QTest::mouseClick(&search, Qt::LeftButton);
        keys(QStringLiteral("lantern"));
        auto& view = test::find<QListView>(list, "Conversations");
        QTRY_COMPARE(view.model()->rowCount(), 3);
        const QModelIndex title = view.model()->index(0, 0);
        QCOMPARE(title.data(ConversationListModel::MessageRole).toULongLong(), 0U);
        QCOMPARE(title.data(ConversationListModel::TitleMarksRole).toList(), QVariantList{QPoint(13, 7)});
        QVERIFY(title.data(ConversationListModel::MarksRole).toList().isEmpty());
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.visualRect(title).center());
        QCOMPARE(view.currentIndex(), title);
        ConversationView& chat = part<ChatPage>(*f.window).view();
        QTRY_VERIFY(chat.messageWidget(prompt) != nullptr);
        const auto marks = [&](MessageId id, TextMark mark) { return chat.messageWidget(id)->body().marks().of(mark); };
        QCOMPARE(marks(prompt, TextMark::FoundCurrent), (QList<QPair<int, int>>{{13, 20}}));
        QVERIFY(chat.rect().contains(chat.messageWidget(prompt)->geometry().center()));
        test::picture(*f.window, QStringLiteral("search-title"), {1280}, 800);
        // The answer's hit is far below: it is scrolled to.
        for (int row = 0; row < 3; ++row) {
            const QModelIndex hit = view.model()->index(row, 0);
            if (hit.data(ConversationListModel::MessageRole).toULongLong() == answer) {
                QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.visualRect(hit).center());
            }
        }
        QTRY_VERIFY(chat.messageWidget(answer) != nullptr);
        QCOMPARE(marks(answer, TextMark::FoundCurrent).size(), 1);
        QTRY_VERIFY(chat.verticalScrollBar()->value() > 0);
    }

    // A word that stands everywhere: the first thousand places.
    void searchHit_inATitle_marksAThousandPlacesAtMost() {
        Script script;
        for (int i = 0; i < 400; ++i) {
            script.answer += "fox ";
        }
        script.answer += "end";
        WindowFixture f(script);
        f.openAndWait();
        for (int turn = 0; turn < 3; ++turn) {
            f.askAndWait(QStringLiteral("a fox"));
        }
        auto& list = part<ConversationList>(*f.window);
        QTest::mouseClick(&test::find<QLineEdit>(list, "Search all conversations"), Qt::LeftButton);
        keys(QStringLiteral("fox"));
        auto& view = test::find<QListView>(list, "Conversations");
        QTRY_VERIFY(view.model()->rowCount() > 0 &&
                    view.model()->index(0, 0).data(ConversationListModel::TitleMarksRole).toList().size() == 1);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.visualRect(view.model()->index(0, 0)).center());
        ConversationView& chat = part<ChatPage>(*f.window).view();
        qsizetype marked = 0;
        for (const Message& message : f.messages()) {
            chat.showSource(message.id, 0);  // far messages have no widget
            QTRY_VERIFY(chat.messageWidget(message.id) != nullptr);
            marked += chat.messageWidget(message.id)->body().marks().of(TextMark::Found).size();
        }
        QCOMPARE(marked, 1000);
    }

    // As the search of all conversations finds them.
    void searchHit_isMarked_whateverItsAccents() {
        Message message;
        message.kind = Message::Kind::Answer;
        message.text = QStringLiteral("Ein **Café** über Hà Nội, C++ -> x");
        using Places = QList<QPair<int, int>>;
        QCOMPARE(placesOfWords(message, QStringLiteral("uber cafe")), (Places{{6, 10}, {13, 17}}));
        QCOMPARE(placesOfWords(message, QStringLiteral("noi")), (Places{{21, 24}}));
        QCOMPARE(placesOfWords(message, QStringLiteral("->")), (Places{{30, 32}}));
        QCOMPARE(placesOfWords(message, QStringLiteral(" ")), Places());
        message.text = QStringLiteral("하고 한국 か が");  // syllables and marks that are letters of their own
        QCOMPARE(placesOfWords(message, QStringLiteral("한국")), (Places{{3, 5}}));
        QCOMPARE(placesOfWords(message, QStringLiteral("が")), (Places{{8, 9}}));
    }

    // Lines below words need the panel that says whose they are: they go and come with it.
    void underlinedWords_goWithTheirPanel() {
        Script script;
        script.answer = test::longAnswer(60);
        WindowFixture f(script);
        f.openAndWait();
        f.askAndWait(QStringLiteral("hi"));
        HeatMap& map = part<ExpertsPanel>(*f.window).map();
        QTRY_VERIFY(map.rows() > 0);
        const auto lines = [&] {
            return part<ChatPage>(*f.window).view().messageWidget(f.last().id)->body().marks().of(TextMark::Token);
        };
        for (int expert = 0; lines().isEmpty() && expert < map.columns(); ++expert) {
            QTest::mouseClick(&map, Qt::LeftButton, {}, map.rectOf({1, expert}).center());
        }
        QVERIFY(!lines().isEmpty());
        const auto press = [&] {  // of the panel of experts, the first
            QTest::keyClick(f.window.get(), Qt::Key_1, Qt::AltModifier);
        };
        press();
        QTRY_VERIFY(lines().isEmpty());
        press();
        QTRY_VERIFY(!lines().isEmpty());
        QVERIFY(map.selected());
        QTest::keyClick(f.window.get(), Qt::Key_2, Qt::AltModifier);  // another panel in its place
        QTRY_VERIFY(lines().isEmpty());
    }

    void editor_opensWholeInView() {
        Script script;
        script.answer = test::longAnswer(300);
        WindowFixture f(script);
        f.window->resize(900, 700);
        f.openAndWait();
        for (int i = 0; i < 3; ++i) {
            f.askAndWait(QStringLiteral("a prompt of its own").repeated(i == 1 ? 12 : 1));
        }
        ConversationView& view = part<ChatPage>(*f.window).view();
        const MessageId prompt = f.messages()[2].id;
        // Its bubble is cut by the lower end of the view, as after scrolling.
        view.showSource(prompt, 0);
        QTRY_VERIFY(view.messageWidget(prompt) != nullptr);
        MessageWidget* widget = view.messageWidget(prompt);
        const int top = widget->mapTo(view.viewport(), QPoint()).y();
        view.verticalScrollBar()->setValue(view.verticalScrollBar()->value() + top - view.viewport()->height() + 60);
        QTRY_VERIFY(view.messageWidget(prompt) != nullptr);
        widget = view.messageWidget(prompt);
        QTest::mouseMove(&widget->body(), {20, 10});
        QEnterEvent enter({20, 10}, {20, 10}, widget->mapToGlobal(QPointF(20, 10)));
        QApplication::sendEvent(widget, &enter);
        auto& edit = test::find<QToolButton>(*widget, "Edit this message: a new branch");
        QVERIFY(edit.isVisible());
        QTest::mouseClick(&edit, Qt::LeftButton);
        QVERIFY(widget->editor() != nullptr);
        const auto inView = [&] {
            const QRect place(widget->editor()->mapTo(view.viewport(), QPoint()), widget->editor()->size());
            return view.viewport()->rect().contains(place);
        };
        QTRY_VERIFY(inView());
        for (int line = 0; line < 8; ++line) {
            QTest::keyClick(&widget->editor()->edit(), Qt::Key_Return, Qt::ShiftModifier);
        }
        QTRY_VERIFY(inView());
        test::picture(*f.window, QStringLiteral("edit-in-view"), {900}, 700);
    }

    // ---- cards

    void card_ofAFailedModel_canBeClosed_andGoesWithTheNextModel() {
        Script script;
        script.loadError = engine::Error(engine::ErrorKind::kInvalidInput, engine::from_outside("No tensor."));
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/broken"));
        QTRY_COMPARE(f.messages().size(), 1);
        QCOMPARE(f.last().kind, Message::Kind::Problem);
        test::picture(*f.window, QStringLiteral("problem-card"), {620, 1280}, 700);
        auto* card = f.window->findChild<ProblemCard*>();
        QVERIFY(card != nullptr);
        QTest::mouseClick(&test::find<QToolButton>(*card, "Close this notice"), Qt::LeftButton);
        QTRY_VERIFY(f.messages().isEmpty());

        f.window->opener().open(QStringLiteral("/models/broken"));
        QTRY_COMPARE(f.messages().size(), 1);
        const ConversationId first = f.window->core().chat.current();
        f.stage->setScript({});
        f.openAndWait();
        QVERIFY(f.messages().isEmpty());
        QCOMPARE(f.window->core().chat.current(), first);
        // A card about an answer stays: it is no model's.
        script = {};
        script.generateError = engine::Error(engine::ErrorKind::kInternal, engine::from_outside("No."));
        f.stage->setScript(script);
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        f.openAndWait(QStringLiteral("/models/another"));
        QCOMPARE(f.last().kind, Message::Kind::Problem);
    }

    // A model without a chat template says so before the first message fails, and where
    // it fails; the choice is one click away.
    void modelWithoutChatTemplate_offersTheChoice() {
        Script script;
        script.hasTemplate = false;
        script.generateError =
            engine::Error(engine::ErrorKind::kUnsupported, engine::messages::model_without_template("x", "chatml"));
        WindowFixture f(script);
        f.openAndWait();
        const auto click = [&f] {
            QTest::mouseClick(&test::find<QPushButton>(*f.window->findChild<ProblemCard*>(), "Choose a chat template…"),
                              Qt::LeftButton);
            auto* dialog = f.window->findChild<OpenModelDialog*>();
            if (dialog == nullptr) {
                qFatal("no dialog");
            }
            return dialog;
        };
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QVERIFY2(f.last().problem.title.contains(QStringLiteral("has no chat template")),
                 qPrintable(f.last().problem.title));
        test::picture(*f.window, QStringLiteral("no-template"), {620, 1280}, 700);
        OpenModelDialog* dialog = click();
        QCOMPARE(dialog->focusWidget(), &dialog->view().chatTemplate());
        dialog->reject();
        QTRY_VERIFY(f.window->findChild<OpenModelDialog*>() == nullptr);

        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(f.last().problem.actions.contains(ProblemAction::TryAgain));
        QCOMPARE(f.last().problem.actions.first(), ProblemAction::ChooseTemplate);
        test::picture(*f.window, QStringLiteral("no-template-answer"), {620, 1280}, 700);
        dialog = click();
        QTest::keyClick(&dialog->view().chatTemplate(), Qt::Key_Down);
        script.generateError.reset();
        f.stage->setScript(script);
        f.window->opener().openAsChosen(dialog->request());
        dialog->reject();
        QTRY_COMPARE(f.stage->loads().size(), std::size_t{2});
        QTRY_COMPARE(f.state(), State::Ready);
        QTest::mouseClick(&test::find<QPushButton>(*f.window->findChild<ProblemCard*>(), "Try again"), Qt::LeftButton);
        QTRY_COMPARE(f.last().kind, Message::Kind::Answer);
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }

    // The card of a full context says nothing that it has no button for.
    void fullContext_asksInANewConversation() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("tell me"));
        const ConversationId full = f.window->core().chat.current();
        Script script;
        script.generateError =
            engine::Error(engine::ErrorKind::kInvalidInput,
                          engine::messages::prompt_longer_than_context(2'100, "fake-moe", std::int64_t{2'048}));
        f.stage->setScript(script);
        f.ask(QStringLiteral("and more"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        const Problem problem = f.last().problem;
        QVERIFY2(problem.sentence.contains(QStringLiteral("2,100")) &&
                     problem.sentence.contains(QStringLiteral("2,048")) &&
                     !problem.sentence.contains(QStringLiteral("new conversation")),
                 qPrintable(problem.sentence));
        test::picture(*f.window, QStringLiteral("full-context-card"), {620, 1280}, 700);
        f.stage->setScript({});
        QTest::mouseClick(&test::find<QPushButton>(*f.window->findChild<ProblemCard*>(), "Ask in a new conversation"),
                          Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.last().kind, Message::Kind::Answer);
        QCOMPARE(f.messages().first().text, QStringLiteral("and more"));
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(text(f), QString());
        QVERIFY(f.window->core().chat.current() != full);
        f.window->core().chat.openConversation(full);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages().first().text, QStringLiteral("tell me"));
    }

    void cardTitles_ofSuggestedPrompts_areInTheWindowsLanguage() {
        QCOMPARE(readSuggestedPrompts(test::demoModel()).value(0).domain, QStringLiteral("Stories"));
        QFile catalogue(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model/suggested_prompts.json"));
        QVERIFY(catalogue.open(QIODevice::ReadOnly));
        QTranslator german;
        speak(*qApp, QStringLiteral("en"));  // the catalogues are resources of the program
        QVERIFY(german.load(QStringLiteral(":/i18n/offstage_de.qm")));
        QApplication::installTranslator(&german);
        const auto prompts = readSuggestedPrompts(test::demoModel());
        QApplication::removeTranslator(&german);
        const QSet<QString> same = {QStringLiteral("Offstage"), QStringLiteral("Code")};
        const QString source = QString::fromUtf8(catalogue.readAll());
        for (const SuggestedPrompt& prompt : prompts) {
            const bool english = source.contains(u'"' + prompt.domain.toLower() + u'"');
            QVERIFY2(!english || same.contains(prompt.domain), qPrintable(prompt.domain));
        }
    }

    // ---- files

    void exported_titleWithDots_isMarkdownWithItsEnding() {
        QTemporaryDir target;
        settings::kLastExportFolder.set(target.path());
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("What is new in v1.5?"));
        auto& list = part<ConversationList>(*f.window);
        const ConversationId id = f.window->core().chat.current();
        for (const char* title : {"It ends.", "Release v1.5", "…"}) {
            f.window->core().history.setTitle(id, QString::fromUtf8(title));
            list.chooseExport(id);
            QFileDialog& dialog = fileDialog(list);
            QVERIFY(dialog.nameFilters().first().contains(QStringLiteral("*.md")));
            QCOMPARE(QFileInfo(dialog.directory().path()).canonicalFilePath(),
                     QFileInfo(target.path()).canonicalFilePath());
            QTest::keyClick(&dialog, Qt::Key_Return);
            QTRY_VERIFY(list.notice().contains(QStringLiteral("Saved")));
            delete &dialog;
        }
        const QStringList files = QDir(target.path()).entryList(QDir::Files, QDir::Name);
        QCOMPARE(files, (QStringList{QStringLiteral("It ends.md"), QStringLiteral("Release v1.5.md"),
                                     QStringLiteral("….md")}));
    }

    void saveDialogs_beginWhereAFileWasSavedLast() {
        WindowFixture f;
        f.openAndWait();
        QTemporaryDir target;
        settings::kLastExportFolder.set(target.path());
        part<PanelDocks>(*f.window).show(QStringLiteral("log"));
        auto& log = part<LogPanel>(*f.window);
        QTRY_VERIFY(log.isVisible());
        QTest::mouseClick(&test::find<QPushButton>(log, "Save…"), Qt::LeftButton);
        QFileDialog& dialog = fileDialog(log);
        QCOMPARE(dialog.directory().canonicalPath(), QDir(target.path()).canonicalPath());
        QCOMPARE(QFileInfo(dialog.selectedFiles().value(0)).fileName(), QStringLiteral("offstage-log.txt"));
    }

    void panels_areClosedAtFirst_withOneHint() {
        const auto hint = [](WindowFixture& f) {
            return &test::find<QToolButton>(part<ChatPage>(*f.window).emptyState(), "Do not show this again");
        };
        {
            WindowFixture f({}, {}, {}, WindowFixture::Start::First);
            f.openAndWait();
            for (QDockWidget* dock : part<PanelDocks>(*f.window).tabbed()) {
                QVERIFY2(!dock->isVisible(), qPrintable(dock->objectName()));
            }
            QVERIFY(part<PanelDocks>(*f.window).dock(QStringLiteral("conversations"))->isVisible());
            QTRY_VERIFY(hint(f)->isVisible());
            test::picture(*f.window, QStringLiteral("first-start"), {620, 1280}, 800);
            QTest::mouseClick(hint(f), Qt::LeftButton);
            QVERIFY(!hint(f)->isVisible());
            f.window->close();
        }
        {
            WindowFixture f;
            f.openAndWait();
            QVERIFY(!hint(f)->isVisible());
            QTest::keyClick(f.window.get(), Qt::Key_3, Qt::AltModifier);
            QTRY_VERIFY(part<BudgetPanel>(*f.window).isVisible());
            f.window->close();
        }
        WindowFixture f;  // what was opened is kept
        f.openAndWait();
        QTRY_VERIFY(part<BudgetPanel>(*f.window).isVisible());
    }

    // ---- starts

    void secondStart_besideAnAnswer_waitsInItsOwnConversation() {
        Script script;
        script.answer = test::longAnswer(2000);
        WindowFixture f(script);
        f.openAndWait();
        f.stage->heldFrom = 20;
        f.ask(QStringLiteral("a long story"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        const ConversationId first = f.window->core().chat.current();
        f.stage->setScript({});
        f.window->handle({{}, QStringLiteral("What is the time?"), false});
        QVERIFY(f.window->core().chat.current() != first);
        QCOMPARE(text(f), QString());
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.last().state, Message::State::Waiting);
        f.window->core().engine.stop();  // the story
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().first().text, QStringLiteral("What is the time?"));
    }

    void secondStart_withoutAModel_keepsItsPromptInTheInputBox() {
        WindowFixture f;
        f.type(QStringLiteral("a draft"));
        f.window->handle({{}, QStringLiteral("What is the time?"), false});
        QCOMPARE(text(f), QStringLiteral("What is the time?"));
        QCOMPARE(f.window->core().history.conversations().size(), 2);  // the draft is in another one
    }

    void secondStart_withAModel_orForANewConversation() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("one"));
        const ConversationId first = f.window->core().chat.current();
        f.window->handle({{}, {}, true});
        QVERIFY(f.window->core().chat.current() != first);
        f.window->handle({QStringLiteral("/models/other"), QStringLiteral("three"), true});
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().first().text, QStringLiteral("three"));
        QCOMPARE(f.stage->loads().back().model, std::string("/models/other"));
    }

    void lastConversation_isShownAtTheStart_atItsEnd() {
        const test::HistoryFolder folder;
        using Start = WindowFixture::Start;
        Script script;
        script.answer = test::longAnswer(1500);
        ConversationId last = 0;
        {
            WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
            QVERIFY(f.messages().isEmpty());  // the first start
            QVERIFY(part<ChatPage>(*f.window).emptyState().isVisible());
            f.openAndWait();
            f.askAndWait(QStringLiteral("one"));
            part<QAction>(*f.window, "newConversation").trigger();
            f.askAndWait(QStringLiteral("two"));
            last = f.window->core().chat.current();
            f.window->close();
        }
        {
            WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
            QCOMPARE(f.window->core().chat.current(), last);
            QCOMPARE(f.messages().size(), 2);
            QVERIFY(f.stage->loads().empty());  // that is not the conversation's to begin
            const QScrollBar& bar = *part<ChatPage>(*f.window).view().verticalScrollBar();
            QTRY_VERIFY(bar.maximum() > 0 && bar.value() == bar.maximum());
            f.openAndWait();
            QCOMPARE(f.stage->loads().size(), size_t(1));
            QTRY_VERIFY(bar.value() == bar.maximum());
            f.askAndWait(QStringLiteral("more"));
            QCOMPARE(f.messages().size(), 4);
            part<QAction>(*f.window, "newConversation").trigger();
            f.window->close();
        }
        {  // a new one was shown last: it is shown
            WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
            QVERIFY(f.messages().isEmpty());
            f.window->core().chat.openConversation(last);
            QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
            part<SettingsDialog>(*f.window).showPage(SettingsDialog::Page::Conversations);
            auto& choice =
                test::find<QCheckBox>(part<SettingsDialog>(*f.window), "Show the last conversation at the start");
            QVERIFY(choice.isChecked());
            choice.setFocus();
            QTest::keyClick(&choice, Qt::Key_Space);
            f.window->close();
        }
        const WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
        QVERIFY(f.messages().isEmpty());
    }

    // The list with folders, the rail, and both in German.
    void pictures_data() {
        QTest::addColumn<QString>("language");
        QTest::newRow("en") << QStringLiteral("en");
        QTest::newRow("de") << QStringLiteral("de");
    }
    void pictures() {
        QFETCH(const QString, language);
        speak(*qApp, language);
        WindowFixture f;
        f.openAndWait();
        ConversationFolders& folders = part<ConversationList>(*f.window).model().folders();
        for (const char* asked : {"A plan for the garden", "Quinces and pears", "What is an expert?"}) {
            f.window->core().chat.newConversation();
            f.askAndWait(QString::fromUtf8(asked));
            if (*asked != 'W') {
                folders.put(f.window->core().chat.current(), QStringLiteral("Garden & kitchen"));
            }
        }
        folders.rename(folders.create(), QStringLiteral("A closed one with a rather long name"));
        folders.setClosed(QStringLiteral("A closed one with a rather long name"), true);
        part<PanelDocks>(*f.window).show(QStringLiteral("dispatch"));
        test::picture(*f.window, QStringLiteral("folders-") + language, {620, 1280}, 800);
        for (QTranslator* each : qApp->findChildren<QTranslator*>()) {  // English is in the sources
            QApplication::removeTranslator(each);
        }
    }
};

OFFSTAGE_UI_TEST_MAIN(TestFirstMinutes)
#include "tst_first_minutes.moc"
