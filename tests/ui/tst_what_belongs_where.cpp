// What belongs to which conversation: cards, speeds, the tokens of an answer, what a
// second start brings, whose figures the panels show; and what is told as an error stands
// in the log. By real keys and clicks.

#include <algorithm>
#include <future>

#include <QComboBox>
#include <QDockWidget>
#include <QLineEdit>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QStyleOptionFrame>
#include <QTest>
#include <QToolButton>
#include <QTranslator>

#include "engine/run/run_messages.h"
#include "engine/serve/answer_queue.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"
#include "ui/history/conversation_list_model.h"
#include "ui/history/history_json.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/benchmark_runner.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/window/panel_docks.h"
#include "ui/window/status_line.h"

using namespace offstage;
using namespace offstage::ui;
using test::part;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

namespace {

void newConversation(WindowFixture& f) {
    QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
}

// By a click in the list.
void openInList(WindowFixture& f, ConversationId id) {
    auto& list = part<ConversationList>(*f.window);
    QListView& view = list.view();
    const QModelIndex row = list.model().index(list.model().rowOf(id));
    QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.visualRect(row).center());
}

ProblemCard* cardOf(WindowFixture& f) {
    return part<ChatPage>(*f.window).view().findChild<ProblemCard*>();
}

Script refused(std::int64_t tokens, std::int64_t context) {
    Script script;
    script.context = context;
    script.generateError = engine::Error(engine::ErrorKind::kInvalidInput,
                                         engine::messages::prompt_longer_than_context(tokens, "fake-moe", context));
    return script;
}

Script slow() {
    Script script;
    script.answer = test::longAnswer(20'000);
    script.tokensPerSecond = 200;
    return script;
}

QStringList problemsIn(const EventLog& log) {
    QStringList found;
    for (int row = 0; row < log.size(); ++row) {
        if (log.at(row).kind == LogKind::Problem) {
            found << log.at(row).text;
        }
    }
    return found;
}

}  // namespace

class TestWhatBelongsWhere : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    // ---- a refused prompt

    // A new conversation would not help where the prompt alone is too long.
    void firstPrompt_tooLong_isToldWhatHelps() {
        WindowFixture f(refused(3000, 2048));
        f.openAndWait();
        f.ask(QStringLiteral("a very long prompt"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        const Problem problem = f.last().problem;
        QVERIFY2(!problem.sentence.contains(QStringLiteral("new conversation")), qPrintable(problem.sentence));
        QVERIFY2(problem.sentence.contains(QStringLiteral("a shorter one")), qPrintable(problem.sentence));
        QVERIFY2(problem.sentence.contains(QStringLiteral("2,048 tokens are the most")), qPrintable(problem.sentence));
        QCOMPARE(problem.actions, QList<ProblemAction>{ProblemAction::EditPrompt});
        test::picture(*f.window, QStringLiteral("prompt-too-long"), {620, 1280}, 800);
    }

    // Not what would be refused again: to go on without the turns before it.
    void laterPrompt_tooLong_isToldWhatHelps() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hello"));
        f.stage->setScript(refused(6000, 2048));
        f.ask(QStringLiteral("a prompt that is longer than all before"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QCOMPARE(f.last().problem.actions, QList<ProblemAction>{ProblemAction::EditPrompt});
        QVERIFY(f.last().problem.sentence.contains(QStringLiteral("a shorter one")));
    }

    void conversation_tooLong_goesOnWithoutItsOldest() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hello"));
        f.stage->setScript(refused(2100, 2048));
        f.ask(QStringLiteral("and more"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QVERIFY(f.last().problem.actions.contains(ProblemAction::LeaveOutOldest));
        QVERIFY(f.last().problem.actions.contains(ProblemAction::AskAnew));
    }

    void card_ofARefusedPrompt_belongsToItsConversation() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hello"));
        const ConversationId first = f.window->core().chat.current();
        f.stage->setScript(refused(3000, 2048));
        f.ask(QStringLiteral("a very long prompt"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        newConversation(f);
        QVERIFY(f.messages().isEmpty());
        QVERIFY(f.window->core().chat.current() != first);
        openInList(f, first);
        QTRY_COMPARE(f.window->core().chat.current(), first);
        QCOMPARE(f.last().kind, Message::Kind::Problem);
        QTRY_VERIFY(cardOf(f) != nullptr);
        QTest::mouseClick(&test::find<QPushButton>(*cardOf(f), "Edit the prompt"), Qt::LeftButton);
        QCOMPARE(part<ChatPage>(*f.window).input().text(), QStringLiteral("a very long prompt"));
        QVERIFY(f.last().kind != Message::Kind::Problem);
    }

    // The prompt's own branch counts, not the one that is shown meanwhile.
    void prompt_tooLong_onABranchThatIsLeft_isToldWhatHelps() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hello"));
        QTest::keyClick(f.window.get(), Qt::Key_R, Qt::ControlModifier);  // a second answer
        QTRY_COMPARE(f.last().branches, 2);
        QTRY_COMPARE(f.state(), State::Ready);
        const MessageId second = f.last().id;
        f.stage->setScript(refused(6000, 2048));
        f.stage->heldBack = true;
        f.ask(QStringLiteral("a prompt that is longer than all before"));
        QTRY_VERIFY(f.stage->generating);
        MessageWidget* answer = part<ChatPage>(*f.window).view().messageWidget(second);
        QTest::mouseClick(&test::find<QToolButton>(*answer, "The branch before"), Qt::LeftButton);
        QTRY_COMPARE(f.messages().size(), 2);
        f.stage->heldBack = false;
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QVERIFY2(f.last().problem.sentence.contains(QStringLiteral("a shorter one")),
                 qPrintable(f.last().problem.sentence));
        QVERIFY(!f.last().problem.actions.contains(ProblemAction::LeaveOutOldest));
    }

    void card_ofARefusedPrompt_isThereAfterARestart() {
        const test::HistoryFolder folder;
        {
            WindowFixture f(refused(3000, 2048), {}, folder.path());
            f.openAndWait();
            f.ask(QStringLiteral("a very long prompt"));
            QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
            QTRY_VERIFY(f.window->close());
        }
        WindowFixture f({}, {}, folder.path(), WindowFixture::Start::WithLastConversation);
        QTRY_VERIFY(cardOf(f) != nullptr);
        QCOMPARE(f.last().problem.title, QStringLiteral("This prompt is too long"));
        QVERIFY(f.last().problem.sentence.contains(QStringLiteral("a shorter one")));
        f.openAndWait();
        const ConversationId first = f.window->core().chat.current();
        newConversation(f);
        openInList(f, first);
        QCOMPARE(f.messages().size(), 2);  // one card alone
        QTRY_VERIFY(cardOf(f) != nullptr);
        QTest::mouseClick(&test::find<QPushButton>(*cardOf(f), "Try again"), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.last().kind, Message::Kind::Answer);
        QVERIFY(f.last().problem.title.isEmpty());
        QCOMPARE(part<ChatPage>(*f.window).input().text(), QString());
    }

    void card_ofARefusedPrompt_isInTheLanguageOfNow() {
        const test::HistoryFolder folder;
        {
            WindowFixture f(refused(3000, 2048), {}, folder.path());
            f.openAndWait();
            f.ask(QStringLiteral("a very long prompt"));
            QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
            QTRY_VERIFY(f.window->close());
        }
        const QLocale before;
        const auto restore = qScopeGuard([&before] {
            qDeleteAll(qApp->findChildren<QTranslator*>());
            QLocale::setDefault(before);
        });
        speak(*qApp, QStringLiteral("de"));
        WindowFixture f({}, {}, folder.path(), WindowFixture::Start::WithLastConversation);
        QTRY_VERIFY(cardOf(f) != nullptr);
        QCOMPARE(f.last().problem.title, QStringLiteral("Dieser Prompt ist zu lang"));
        QVERIFY2(f.last().problem.sentence.contains(QStringLiteral("2.048")), qPrintable(f.last().problem.sentence));
        QVERIFY(!f.last().problem.sentence.contains(QStringLiteral("shorter")));
        QCOMPARE(noteText(f.messages().first().note), QStringLiteral("Nicht beantwortet"));
        QCOMPARE(noteText(QString::fromLatin1(kEndedAtLimit).arg(512)),
                 QStringLiteral("Endete an der Grenze von 512 Tokens (Anweisungen und Sampling)"));
        QCOMPARE(noteText(QStringLiteral("Ein alter Hinweis, 7")), QStringLiteral("Ein alter Hinweis, 7"));
        // As earlier versions kept it.
        Message old;
        readFiguresColumn({{QStringLiteral("refused"), QJsonArray{QStringLiteral("Too long"), QStringLiteral("Why")}}},
                          old);
        QCOMPARE(old.problem.title, QStringLiteral("Too long"));
        QCOMPARE(old.problem.sentence, QStringLiteral("Why"));
    }

    // ---- a second start

    void secondStart_withAPrompt_beginsAConversation_neverOverADraft() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("one"));
        const ConversationId first = f.window->core().chat.current();
        f.type(QStringLiteral("half a thou"));
        f.window->handle({{}, QStringLiteral("two"), false});
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages().first().text, QStringLiteral("two"));
        QCOMPARE(part<ChatPage>(*f.window).input().text(), QString());
        openInList(f, first);
        QTRY_COMPARE(f.messages().size(), 2);
        QCOMPARE(part<ChatPage>(*f.window).input().text(), QStringLiteral("half a thou"));

        newConversation(f);  // a draft without messages is one, too
        const ConversationId draft = f.window->core().chat.current();
        f.type(QStringLiteral("a draft"));
        f.window->handle({{}, QStringLiteral("three"), false});
        QVERIFY(f.window->core().chat.current() != draft);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(part<ChatPage>(*f.window).input().text(), QString());
        openInList(f, draft);
        QTRY_COMPARE(part<ChatPage>(*f.window).input().text(), QStringLiteral("a draft"));
        QVERIFY(f.messages().isEmpty());
    }

    // ---- the figures of an answer

    void continued_answer_hasItsOwnTokens() {
        WindowFixture f(slow());
        f.openAndWait();
        f.ask(QStringLiteral("a long story"));
        QTRY_VERIFY(f.last().text.size() > 60);
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        QTRY_COMPARE(f.state(), State::Ready);
        const AnswerFigures before = f.last().figures.value();
        QVERIFY(before.tokensIn > 0 && before.tokensOut > 0);
        Script rest;
        rest.answer = "twelve bytes";
        f.stage->setScript(rest);
        MessageWidget* answer = part<ChatPage>(*f.window).view().messageWidget(f.last().id);
        QTRY_VERIFY(std::ranges::any_of(answer->findChildren<QToolButton*>(), [](const QToolButton* button) {
            return button->accessibleName() == QStringLiteral("Continue this answer");
        }));  // once its last text is shown
        QTest::mouseClick(&test::find<QToolButton>(*answer, "Continue this answer"), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.last().figures->tokensIn, before.tokensIn);
        QCOMPARE(f.last().figures->tokensOut, before.tokensOut + 3);
        QCOMPARE(f.last().figures->ttftSeconds, before.ttftSeconds);
    }

    void speed_isOfTheShownConversation() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("one"));
        const auto& status = part<StatusLine>(*f.window);
        QVERIFY(!status.speedText().isEmpty());
        const ConversationId first = f.window->core().chat.current();
        openInList(f, first);  // it is shown already
        QVERIFY(!status.speedText().isEmpty());
        newConversation(f);
        QCOMPARE(status.speedText(), QString());
        // An answer that goes on meanwhile is the engine's work, until it ends.
        f.stage->setScript(slow());
        f.ask(QStringLiteral("a long story"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        newConversation(f);
        QTRY_VERIFY(!status.speedText().isEmpty());
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        QTRY_COMPARE(f.state(), State::Ready);
        QTRY_COMPARE(status.speedText(), QString());
    }

    // ---- whose figures the panels show

    void panels_showTheConversationThatTheEngineHas() {
        Script script;
        script.residents = 20;
        WindowFixture f(script);
        f.window->resize(1400, 900);
        f.openAndWait();
        auto& docks = part<PanelDocks>(*f.window);
        docks.show(QStringLiteral("dispatch"));
        docks.show(QStringLiteral("experts"));
        auto& experts = part<ExpertsPanel>(*f.window);
        auto& dispatch = part<DispatchPanel>(*f.window);
        auto& cache = part<CachePanel>(*f.window);
        const auto owner = [](const Panel& panel) {
            return test::textOf(panel, QStringLiteral("Whose figures these are"));
        };
        const auto hits = [&cache] { return test::find<LinePlot>(cache, "Hit rate over time").points(0).size(); };
        f.askAndWait(QStringLiteral("Quinces and pears"));
        const ConversationId first = f.window->core().chat.current();
        QTRY_VERIFY(experts.map().rows() > 0);
        docks.show(QStringLiteral("cache"));
        QTRY_VERIFY(hits() > 0);
        QTRY_COMPARE(dispatch.emptyText(), QString());
        for (const Panel* panel : std::initializer_list<const Panel*>{&experts, &dispatch, &cache}) {
            QCOMPARE(owner(*panel), QStringLiteral("This conversation"));
        }
        newConversation(f);  // all of them are empty then
        QCOMPARE(hits(), std::size_t{0});
        QVERIFY(!dispatch.emptyText().isEmpty());
        docks.show(QStringLiteral("experts"));
        QTRY_COMPARE(experts.map().rows(), 0);

        openInList(f, first);  // the engine has left it
        QTRY_COMPARE(f.messages().size(), 2);
        QVERIFY(!dispatch.emptyText().isEmpty());
        f.askAndWait(QStringLiteral("more"));
        QTRY_VERIFY(experts.map().rows() > 0);
        QCOMPARE(owner(experts), QStringLiteral("This conversation"));
        newConversation(f);
        f.askAndWait(QStringLiteral("something else"));
        openInList(f, first);
        QTRY_COMPARE(owner(experts), QStringLiteral("“something else”"));
        QCOMPARE(owner(dispatch), QStringLiteral("“something else”"));
        QVERIFY(dispatch.emptyText().isEmpty());
        test::picture(*f.window, QStringLiteral("whose-figures"), {1280, 1400}, 800);
    }

    void panels_sayThatFiguresAreABenchmarks() {
        WindowFixture f;
        f.openAndWait();
        part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
        f.askAndWait(QStringLiteral("hello"));
        auto& experts = part<ExpertsPanel>(*f.window);
        const auto owner = [&] { return test::textOf(experts, QStringLiteral("Whose figures these are")); };
        BenchmarkRunner& runner = part<BenchmarkPanel>(*f.window).runner();
        BenchmarkRunner::Scenario scenario;
        scenario.repeats = 2;
        QVERIFY(runner.runScenario(scenario));
        QCOMPARE(owner(), QStringLiteral("A benchmark"));
        QTRY_VERIFY(!runner.isRunning());
        QTRY_COMPARE(f.window->core().engine.snapshot()->conversation_tokens, std::int64_t{512 + 32});
        QCOMPARE(owner(), QStringLiteral("A benchmark"));
        // Nor is a channel called after a conversation then, or after more tokens than
        // there are.
        auto& channel = test::find<QComboBox>(experts, "What is shown of each expert");
        for (int i = 0; i < channel.count(); ++i) {
            QVERIFY2(!channel.itemText(i).contains(QStringLiteral("conversation")) &&
                         !channel.itemText(i).contains(QRegularExpression(QStringLiteral("\\d"))),
                     qPrintable(channel.itemText(i)));
        }
        f.askAndWait(QStringLiteral("hello"));  // its own alone
        QCOMPARE(owner(), QStringLiteral("This conversation"));
        QVERIFY(f.window->core().engine.snapshot()->conversation_tokens < 512);
    }

    // Neither a new conversation nor a prompt that waits makes another program's steps
    // its own.
    void panels_sayThatFiguresAreAnotherPrograms() {
        WindowFixture f;
        f.openAndWait();
        part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
        auto& experts = part<ExpertsPanel>(*f.window);
        const auto owner = [&] { return test::textOf(experts, QStringLiteral("Whose figures these are")); };
        f.askAndWait(QStringLiteral("hello"));
        const auto queue = std::make_shared<engine::AnswerQueue>(1);
        std::promise<void> end;
        queue->submit([ended = end.get_future().share()](engine::Session&, const std::stop_token&) { ended.wait(); });
        f.window->core().engine.serve(queue);
        QCOMPARE(owner(), QStringLiteral("Another program"));
        newConversation(f);
        QCOMPARE(owner(), QStringLiteral("Another program"));
        f.ask(QStringLiteral("mine"));
        QCOMPARE(owner(), QStringLiteral("Another program"));
        end.set_value();
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(owner(), QStringLiteral("This conversation"));
    }

    // ---- the list

    void search_saysWhatItIs_data() {
        QTest::addColumn<QString>("language");
        for (const char* language : {"en", "de", "vi"}) {
            QTest::newRow(language) << QString::fromLatin1(language);
        }
    }
    void search_saysWhatItIs() {
        QFETCH(const QString, language);
        speak(*qApp, language);
        WindowFixture f;
        f.window->resize(1280, 800);
        // As narrow as it becomes beside a panel that was drawn wide.
        f.window->resizeDocks({part<PanelDocks>(*f.window).dock(QStringLiteral("conversations"))}, {1}, Qt::Horizontal);
        QCoreApplication::processEvents();
        auto& field = test::child<QLineEdit>(part<ConversationList>(*f.window));
        constexpr int kInside = 2 * 2 + 1;  // between the text and the frame, and the cursor
        QStyleOptionFrame option;
        option.initFrom(&field);
        option.lineWidth = 1;
        const int room = field.style()->subElementRect(QStyle::SE_LineEditContents, &option, &field).width() - kInside;
        QVERIFY2(field.fontMetrics().horizontalAdvance(field.placeholderText()) <= room,
                 qPrintable(QStringLiteral("“%1” in %2 pixels").arg(field.placeholderText()).arg(room)));
        QVERIFY(field.toolTip().size() > field.placeholderText().size());
        for (QTranslator* each : qApp->findChildren<QTranslator*>()) {  // English is in the sources
            QApplication::removeTranslator(each);
        }
    }

    // ---- the log

    void errors_onCards_standInTheLogOnce() {
        WindowFixture f;
        f.openAndWait();
        const EventLog& log = f.window->core().log;
        QCOMPARE(problemsIn(log), QStringList());
        Script failing;
        failing.generateError = engine::Error(engine::ErrorKind::kInternal, engine::from_outside("It broke."));
        f.stage->setScript(failing);
        f.ask(QStringLiteral("hello"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QCOMPARE(problemsIn(log), QStringList{QStringLiteral("The answer could not be written: It broke.")});
        failing.loadError = engine::Error(engine::ErrorKind::kInvalidInput, engine::from_outside("No such thing."));
        f.stage->setScript(failing);
        f.window->opener().open(QStringLiteral("/models/broken"));
        QTRY_COMPARE(problemsIn(log).size(), 2);
        QCOMPARE(problemsIn(log)[1], QStringLiteral("“broken” could not be opened: No such thing."));
        // A choice of the person's is no error.
        Script loading;
        loading.loadMs = 20'000;
        f.stage->setScript(loading);
        f.window->opener().open(QStringLiteral("/models/slow"));
        QTRY_COMPARE(f.state(), State::Loading);
        f.window->core().engine.cancelLoad();
        QTRY_COMPARE(f.state(), State::NoModel);
        QTRY_COMPARE(f.last().problem.title, QStringLiteral("Loading “slow” was cancelled"));
        QCOMPARE(problemsIn(log).size(), 2);
    }

    void error_ofTheHistory_standsInTheLog() {
        WindowFixture f({}, {}, QStringLiteral("/proc/nothing"));
        const QString trouble = f.window->core().history.trouble();
        QVERIFY(!trouble.isEmpty());
        QCOMPARE(problemsIn(f.window->core().log), QStringList{trouble});
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWhatBelongsWhere)
#include "tst_what_belongs_where.moc"
