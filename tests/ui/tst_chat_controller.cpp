// The rules of the conversations, on the scripted engine: branches, the queue, continued
// answers, stored data.
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include "tests/ui/fake_session.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_controller.h"
#include "ui/engine/format.h"

using namespace offstage;
using namespace offstage::ui;
using test::HistoryFolder;
using test::Script;
using State = Message::State;

namespace {

struct Fixture {
    explicit Fixture(const QString& folder = {}, const Script& script = {}) : stage(std::make_shared<test::Stage>()) {
        stage->setScript(script);
        if (!folder.isEmpty()) {
            history.open(folder);
        }
        chat = std::make_unique<ChatController>(engine, model, history);
    }
    ~Fixture() { engine.shutdown(); }

    bool load() {
        engine.openModel({});
        return QTest::qWaitFor([this] { return engine.state() == EngineController::State::Ready; });
    }
    bool settled() {
        return QTest::qWaitFor(
            [this] { return engine.state() == EngineController::State::Ready && chat->queue().isEmpty(); });
    }
    bool ask(const QString& prompt) { return chat->send(prompt) && settled(); }
    bool streams() {
        return QTest::qWaitFor([this] { return last().state == State::Streaming && last().text.size() > 8; });
    }
    Message last() const { return model.messages().isEmpty() ? Message() : model.messages().last(); }
    QStringList texts() const {
        QStringList out;
        for (const Message& m : model.messages()) {
            out += m.text;
        }
        return out;
    }
    void answerWith(const std::string& text) {
        Script script;
        script.answer = text;
        stage->setScript(script);
    }
    // The shown model must equal the history.
    bool agrees() {
        const QList<Message> path = history.open(chat->current())->path();
        if (path.size() != model.rowCount()) {
            return false;
        }
        for (qsizetype i = 0; i < path.size(); ++i) {
            const Message& shown = model.messages()[i];
            if (shown.id != path[i].id || shown.text != path[i].text || shown.state != path[i].state ||
                shown.branch != path[i].branch || shown.branches != path[i].branches) {
                return false;
            }
        }
        return true;
    }

    std::shared_ptr<test::Stage> stage;
    EngineController engine{[this] { return test::makeFakeSession(stage); }};
    ConversationModel model;
    History history;
    std::unique_ptr<ChatController> chat;
};

Script slow() {
    Script script;
    script.answer = std::string(40'000, 'x');
    script.tokensPerSecond = 200;
    return script;
}

}  // namespace

class TestChatController : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---------------------------------------------------------------- branches

    void editPrompt_makesABranch_nothingIsLost() {
        Fixture f;
        QVERIFY(f.load());
        f.answerWith("first answer");
        QVERIFY(f.ask(QStringLiteral("first")));
        f.answerWith("second answer");
        QVERIFY(f.ask(QStringLiteral("second")));
        const MessageId first = f.model.messages()[0].id;
        f.answerWith("other answer");
        QVERIFY(f.chat->editPrompt(first, QStringLiteral("other")));
        QVERIFY(f.settled());
        QCOMPARE(f.texts(), QStringList({QStringLiteral("other"), QStringLiteral("other answer")}));
        QCOMPARE(f.model.messages()[0].branch, 1);
        QCOMPARE(f.model.messages()[0].branches, 2);
        QCOMPARE(f.stage->requests().back().messages.size(), size_t(1));
        QVERIFY(f.agrees());
        QVERIFY(f.chat->switchBranch(f.model.messages()[0].id, -1));
        QCOMPARE(f.texts(), QStringList({QStringLiteral("first"), QStringLiteral("first answer"),
                                         QStringLiteral("second"), QStringLiteral("second answer")}));
        QVERIFY(f.agrees());
        QVERIFY(!f.chat->switchBranch(first, -1));
        QVERIFY(f.chat->switchBranch(first, +1));
        QVERIFY(!f.chat->switchBranch(f.model.messages()[0].id, +1));
        QCOMPARE(f.texts().first(), QStringLiteral("other"));
    }

    void regenerate_makesABranch_laterMessagesStayInTheirs() {
        Fixture f;
        QVERIFY(f.load());
        f.answerWith("one");
        QVERIFY(f.ask(QStringLiteral("a")));
        f.answerWith("two");
        QVERIFY(f.ask(QStringLiteral("b")));
        const MessageId one = f.model.messages()[1].id;
        f.answerWith("uno");
        QVERIFY(f.chat->regenerate(one));
        QVERIFY(f.settled());
        QCOMPARE(f.texts(), QStringList({QStringLiteral("a"), QStringLiteral("uno")}));
        QCOMPARE(f.last().branch, 1);
        QCOMPARE(f.last().branches, 2);
        // The request contained only the prompt, not the answer beside it.
        QCOMPARE(f.stage->requests().back().messages.size(), size_t(1));
        QVERIFY(f.chat->switchBranch(f.last().id, -1));
        QCOMPARE(f.texts(),
                 QStringList({QStringLiteral("a"), QStringLiteral("one"), QStringLiteral("b"), QStringLiteral("two")}));
        QVERIFY(f.agrees());
        QVERIFY(!f.chat->regenerate(f.model.messages()[0].id));  // a prompt
        QVERIFY(!f.chat->editPrompt(one, QStringLiteral("x")));  // an answer
        QVERIFY(!f.chat->regenerate(12345));
    }

    void editAnswer_makesABranch_asksNothing_andIsSentWithTheNextPrompt() {
        Fixture f;
        QVERIFY(f.load());
        f.answerWith("one");
        QVERIFY(f.ask(QStringLiteral("a")));
        f.answerWith("two");
        QVERIFY(f.ask(QStringLiteral("b")));
        const MessageId prompt = f.model.messages()[0].id;
        const MessageId one = f.model.messages()[1].id;
        QVERIFY(f.model.messages()[1].figures);
        f.history.edit(f.chat->current(), one, [](Message& m) { m.thought.text = QStringLiteral("hm"); });
        const size_t requests = f.stage->requests().size();
        QSignalSpy waiting(f.chat.get(), &ChatController::waitingChanged);
        QVERIFY(!f.chat->editAnswer(one, QStringLiteral(" \n")));
        QVERIFY(!f.chat->editAnswer(prompt, QStringLiteral("x")));
        QVERIFY(!f.chat->editAnswer(12345, QStringLiteral("x")));
        QVERIFY(waiting.isEmpty());
        QVERIFY(f.chat->editAnswer(one, QStringLiteral("**mine**\n\nand more")));
        QVERIFY(f.chat->queue().isEmpty());
        QCOMPARE(waiting.size(), 1);  // the messages to be sent are counted anew
        QCOMPARE(f.texts(), QStringList({QStringLiteral("a"), QStringLiteral("**mine**\n\nand more")}));
        const Message mine = f.last();
        QCOMPARE(mine.branch, 1);
        QCOMPARE(mine.branches, 2);
        QCOMPARE(mine.author, f.history.open(f.chat->current())->find(one)->author);
        QVERIFY(mine.edited);
        QVERIFY(!mine.figures);
        QVERIFY(mine.thought.isEmpty());
        QVERIFY(f.agrees());
        f.answerWith("three");
        QVERIFY(f.ask(QStringLiteral("c")));
        QCOMPARE(f.stage->requests().size(), requests + 1);
        const auto request = f.stage->requests().back();
        QCOMPARE(request.messages.size(), size_t(3));
        QVERIFY(request.messages[1].role == engine::Role::kAssistant);
        QCOMPARE(request.messages[1].content, std::string("**mine**\n\nand more"));
        QCOMPARE(request.messages[1].thought, std::string());
        // The model's text is unchanged, with the messages after it.
        QVERIFY(f.chat->switchBranch(mine.id, -1));
        QCOMPARE(f.texts(),
                 QStringList({QStringLiteral("a"), QStringLiteral("one"), QStringLiteral("b"), QStringLiteral("two")}));
        QVERIFY(f.model.messages()[1].figures);
        QVERIFY(!f.model.messages()[1].edited);
        QVERIFY(f.agrees());
    }

    void editAnswer_goesOnFromTheEditedText() {
        Fixture f;
        QVERIFY(f.load());
        f.answerWith("one");
        QVERIFY(f.ask(QStringLiteral("a")));
        QVERIFY(f.chat->editAnswer(f.last().id, QStringLiteral("It begins")));
        QVERIFY(f.last().state == State::Stopped);  // its button goes on, as after Stop
        QVERIFY(f.chat->canContinue(f.last().id));
        f.answerWith(" and ends");
        QVERIFY(f.chat->continueAnswer(f.last().id));
        QVERIFY(f.settled());
        const auto request = f.stage->requests().back();
        QVERIFY(request.continue_last);
        QCOMPARE(request.messages.size(), size_t(2));
        QCOMPARE(request.messages.back().content, std::string("It begins"));
        QCOMPARE(f.last().text, QStringLiteral("It begins and ends"));
        QVERIFY(f.last().state == State::Done);
        QVERIFY(f.last().edited);
        QVERIFY(f.agrees());
    }

    void editAnswer_notWhileOneIsWritten_butWithoutAModel() {
        Fixture f({}, slow());
        const ConversationId id = f.chat->current();
        const MessageId prompt = f.history.add(id, test::prompt(QStringLiteral("a")));
        const MessageId answer = f.history.add(id, test::answer(QStringLiteral("one"), prompt));
        QVERIFY(f.chat->openConversation(id));
        QVERIFY(f.chat->editAnswer(answer, QStringLiteral("uno")));
        QCOMPARE(f.last().text, QStringLiteral("uno"));
        QVERIFY(f.load());
        QVERIFY(f.chat->send(QStringLiteral("b")));
        QVERIFY(f.streams());
        QVERIFY(!f.chat->editAnswer(answer, QStringLiteral("eins")));
        QVERIFY(!f.chat->editAnswer(f.last().id, QStringLiteral("eins")));
        QCOMPARE(f.model.messages()[1].branches, 2);
        f.chat->stop();
        QVERIFY(f.settled());
        QVERIFY(f.chat->editAnswer(f.last().id, QStringLiteral("eins")));
        QCOMPARE(f.last().text, QStringLiteral("eins"));
        QVERIFY(f.agrees());
    }

    void switchBranch_midStream_streamsOnInItsOwn() {
        Fixture f;
        QVERIFY(f.load());
        f.answerWith("one");
        QVERIFY(f.ask(QStringLiteral("a")));
        f.stage->setScript(slow());
        QVERIFY(f.chat->regenerate(f.last().id));
        QVERIFY(f.streams());
        const MessageId streaming = f.last().id;
        QVERIFY(f.chat->switchBranch(streaming, -1));
        QCOMPARE(f.last().text, QStringLiteral("one"));
        const qsizetype before = f.history.open(f.chat->current())->find(streaming)->text.size();
        QVERIFY(QTest::qWaitFor(
            [&] { return f.history.open(f.chat->current())->find(streaming)->text.size() > before + 20; }));
        QCOMPARE(f.last().text, QStringLiteral("one"));
        QVERIFY(f.chat->switchBranch(f.last().id, +1));
        QVERIFY(f.agrees());
        f.chat->stop();
        QVERIFY(f.settled());
        QVERIFY(f.last().state == State::Stopped);
        QVERIFY(f.agrees());
    }

    // ---------------------------------------------------------------- going on

    void continueAnswer_goesOnWhereItStopped() {
        Fixture f({}, slow());
        QVERIFY(f.load());
        QVERIFY(f.chat->send(QStringLiteral("a")));
        QVERIFY(f.streams());
        f.chat->stop();
        QVERIFY(f.settled());
        const QString begun = f.last().text;
        const qint64 tokens = f.last().figures->tokensOut;
        QVERIFY(f.last().state == State::Stopped);
        f.answerWith(" and the rest");
        QVERIFY(f.chat->canContinue(f.last().id));
        QVERIFY(f.chat->continueAnswer(f.last().id));
        QVERIFY(f.settled());
        QCOMPARE(f.last().text, begun + QStringLiteral(" and the rest"));
        QVERIFY(f.last().state == State::Done);
        QVERIFY(f.last().figures->tokensOut > tokens);
        QCOMPARE(f.model.rowCount(), 2);
        const auto request = f.stage->requests().back();
        QVERIFY(request.continue_last);
        QCOMPARE(request.messages.size(), size_t(2));
        QVERIFY(request.messages.back().role == engine::Role::kAssistant);
        QCOMPARE(QString::fromStdString(request.messages.back().content), begun);
        QVERIFY(f.agrees());
        QVERIFY(!f.chat->canContinue(f.model.messages()[0].id));
    }

    void continueAnswer_goesOnPastTheLimitOfTokens() {
        Fixture f;
        QVERIFY(f.load());
        Sampling sampling = f.chat->sampling();
        sampling.maxTokens = 3;
        f.chat->setSampling(sampling);
        QVERIFY(f.chat->send(QStringLiteral("a")));
        QVERIFY(f.settled());
        QVERIFY(f.last().state == State::Stopped);  // its button goes on, as after Stop
        QVERIFY2(f.last().note.contains(QStringLiteral("limit of 3 tokens")), qPrintable(f.last().note));
        const QString begun = f.last().text;
        f.answerWith("!");
        QVERIFY(f.chat->continueAnswer(f.last().id));
        QVERIFY(f.settled());
        QCOMPARE(f.last().text, begun + QStringLiteral("!"));
        QVERIFY(f.last().state == State::Done);
    }

    void figures_ofAnEmulatedDevice_sayThatTheyAre() {
        test::Script script;
        script.residents = 20;
        script.emulated = true;
        Fixture f({}, script);
        QVERIFY(f.load());
        QVERIFY(f.chat->send(QStringLiteral("a")));
        QVERIFY(f.settled());
        QVERIFY(f.last().figures->emulated);
        AnswerFigures figures;
        figures.tokensPerSecond = 12.5;
        QVERIFY(!figuresText(figures).contains(QStringLiteral("emulated")));
        figures.emulated = true;
        QVERIFY(figuresText(figures).contains(QStringLiteral("12.5 tokens/s (simulated)")));
    }

    void figures_haveTheTokensOfAStepWhereSomeWereDrafted() {
        test::Script script;
        script.tokensPerStep = 2;
        Fixture f({}, script);
        QVERIFY(f.load());
        QVERIFY(f.chat->send(QStringLiteral("a")));
        QVERIFY(f.settled());
        QVERIFY(figuresText(*f.last().figures).endsWith(QStringLiteral(" · 1.67 tokens a step")));
        const AnswerFigures& figures = *f.last().figures;
        QCOMPARE(
            draftsText(figures.drafted, figures.accepted, figures.tokensPerStep, figures.moreExperts),
            QStringLiteral("Drafts: 4 of 6 tokens were right, 1.67 tokens a step; steps called 12.5 % more experts."));
        QVERIFY(draftsText(0, 0, 1, 0).isEmpty());
        QVERIFY(!figuresText({}).contains(QStringLiteral("step")));
    }

    // ------------------------------------------------- several conversations, one engine

    void secondConversation_waitsInTheQueue() {
        Fixture f({}, slow());
        QVERIFY(f.load());
        const ConversationId a = f.chat->current();
        QVERIFY(f.chat->send(QStringLiteral("in a")));
        QVERIFY(f.streams());
        f.chat->newConversation();
        const ConversationId b = f.chat->current();
        QVERIFY(a != b);
        QVERIFY(f.chat->canSend());
        QVERIFY(f.chat->send(QStringLiteral("in b")));
        QVERIFY(!f.chat->canSend());  // one at a time in each
        QVERIFY(!f.chat->send(QStringLiteral("again")));
        QVERIFY(f.last().state == State::Waiting);
        QCOMPARE(f.last().note, QStringLiteral("Number 2 in the queue"));
        f.chat->newConversation();
        QVERIFY(f.chat->send(QStringLiteral("in c")));
        QCOMPARE(f.last().note, QStringLiteral("Number 3 in the queue"));
        QCOMPARE(f.chat->queue().size(), 3);
        QVERIFY(f.chat->queue()[0].running);
        QVERIFY(f.chat->openConversation(b));
        // The one in front is taken back: the others move up.
        f.chat->withdraw(f.last().id);
        QCOMPARE(f.model.rowCount(), 0);
        QCOMPARE(f.chat->queue().size(), 2);
        f.stage->setScript({});
        QVERIFY(f.chat->openConversation(a));
        QVERIFY(f.chat->isAnswering());
        f.chat->stop();
        QVERIFY(f.settled());
        const auto requests = f.stage->requests();
        QCOMPARE(requests.size(), size_t(2));
        QCOMPARE(requests[1].messages.back().content, std::string("in c"));
        QVERIFY(f.last().state == State::Stopped);
        QVERIFY(f.agrees());
    }

    void withdraw_elsewhere_promptBecomesTheDraft() {
        Fixture f({}, slow());
        QVERIFY(f.load());
        QVERIFY(f.chat->send(QStringLiteral("in a")));
        f.chat->newConversation();
        const ConversationId b = f.chat->current();
        QVERIFY(f.chat->send(QStringLiteral("in b")));
        const MessageId waiting = f.last().id;
        f.chat->newConversation();
        QSignalSpy returned(f.chat.get(), &ChatController::promptReturned);
        f.chat->withdraw(waiting);
        QCOMPARE(returned.size(), 0);
        QCOMPARE(f.history.info(b).draft, QStringLiteral("in b"));
        QVERIFY(f.chat->openConversation(b));
        QCOMPARE(f.chat->draft(), QStringLiteral("in b"));
    }

    void deleteWhileAnswering_stopsIt_andUndoBringsItBack() {
        Fixture f({}, slow());
        QVERIFY(f.load());
        const ConversationId a = f.chat->current();
        QVERIFY(f.chat->send(QStringLiteral("in a")));
        QVERIFY(f.streams());
        f.history.remove(a);
        QVERIFY(f.chat->current() != a);
        QCOMPARE(f.model.rowCount(), 0);
        QVERIFY(f.settled());
        QVERIFY(!f.chat->openConversation(a));
        f.history.undoRemove(a);
        QVERIFY(f.chat->openConversation(a));
        QVERIFY(f.last().state == State::Stopped);
        QVERIFY(f.last().text.size() > 8);
    }

    void settings_areTheConversationsOwn() {
        Fixture f;
        QVERIFY(f.load());
        Sampling cold;
        cold.sampler.temperature = 0.0f;
        cold.beamWidth = 3;
        f.chat->setSampling(cold);
        f.chat->setSystemPrompt(QStringLiteral("Be brief."));
        QVERIFY(f.ask(QStringLiteral("one")));
        const ConversationId first = f.chat->current();
        f.chat->newConversation();
        QVERIFY(f.chat->sampling() == cold);          // a new one begins as the last
        QCOMPARE(f.chat->systemPrompt(), QString());  // but for the prompt, which belongs to its conversation
        Sampling hot;
        hot.sampler.temperature = 1.5f;
        f.chat->setSampling(hot);
        QVERIFY(f.ask(QStringLiteral("two")));
        QVERIFY(f.chat->openConversation(first));
        QVERIFY(f.chat->sampling() == cold);
        QCOMPARE(f.chat->systemPrompt(), QStringLiteral("Be brief."));
        QVERIFY(f.ask(QStringLiteral("three")));
        const auto requests = f.stage->requests();
        QCOMPARE(requests.size(), size_t(3));
        QVERIFY(requests[0].messages.front().role == engine::Role::kSystem);
        QCOMPARE(requests[0].beam.width, 3);
        QCOMPARE(requests[1].messages.size(), size_t(1));
        QCOMPARE(requests[1].sampler.temperature, 1.5f);
        QCOMPARE(requests[2].messages.size(), size_t(4));
        QCOMPARE(requests[2].sampler.temperature, 0.0f);
    }

    void title_isTheFirstPrompt_untilThePersonNamesIt() {
        Fixture f;
        QVERIFY(f.load());
        QVERIFY(f.ask(QStringLiteral("  Explain routers\nin detail")));
        const ConversationId id = f.chat->current();
        QCOMPARE(f.history.info(id).title, QStringLiteral("Explain routers"));
        f.history.setTitle(id, QStringLiteral(" My title "));
        QVERIFY(f.ask(QStringLiteral("more")));
        QCOMPARE(f.history.info(id).title, QStringLiteral("My title"));
        f.history.setTitle(id, QStringLiteral("  "));
        QCOMPARE(f.history.info(id).title, QStringLiteral("Explain routers"));
        const QString cut = titleFrom(QStringLiteral("word ").repeated(40));
        QVERIFY(cut.size() <= 49 && cut.endsWith(QStringLiteral("word…")));
    }

    // ---------------------------------------------------------------- failures

    void failure_ofARegeneration_keepsTheOldAnswer() {
        Fixture f;
        QVERIFY(f.load());
        f.answerWith("good");
        QVERIFY(f.ask(QStringLiteral("a")));
        Script failing;
        failing.generateError = engine::Error(engine::ErrorKind::kOutOfMemory, engine::from_outside("Not enough."));
        f.stage->setScript(failing);
        QVERIFY(f.chat->regenerate(f.last().id));
        QVERIFY(f.settled());
        QCOMPARE(f.model.rowCount(), 3);
        QCOMPARE(f.model.messages()[1].text, QStringLiteral("good"));
        QCOMPARE(f.model.messages()[1].branches, 1);
        QVERIFY(f.model.messages()[0].state == State::Done);
        QVERIFY(f.last().kind == Message::Kind::Problem);
        f.answerWith("better");
        f.chat->tryAgain();
        QVERIFY(f.settled());
        QCOMPARE(f.model.rowCount(), 2);
        QCOMPARE(f.last().text, QStringLiteral("better"));
        QCOMPARE(f.last().branches, 2);
        QVERIFY(f.agrees());
    }

    void failure_elsewhere_isShownWhenOneComesBack() {
        Script failing;
        failing.promptMs = 50;
        failing.generateError = engine::Error(engine::ErrorKind::kInternal, engine::from_outside("It broke."));
        Fixture f({}, failing);
        QVERIFY(f.load());
        const ConversationId a = f.chat->current();
        QVERIFY(f.chat->send(QStringLiteral("in a")));
        f.chat->newConversation();
        QVERIFY(f.settled());
        QCOMPARE(f.model.rowCount(), 0);
        QVERIFY(f.chat->openConversation(a));
        QCOMPARE(f.model.rowCount(), 2);
        QVERIFY(f.model.messages()[0].state == State::Failed);
        QVERIFY(f.last().problem.sentence.contains(QStringLiteral("broke")));
    }

    // ---------------------------------------------------------------- stored data

    void restart_bringsEverythingBack() {
        HistoryFolder folder;
        ConversationId id = 0;
        QStringList texts;
        {
            Fixture f(folder.path());
            QVERIFY(f.load());
            f.answerWith("one");
            QVERIFY(f.ask(QStringLiteral("a")));
            f.answerWith("uno");
            QVERIFY(f.chat->regenerate(f.last().id));
            QVERIFY(f.settled());
            QVERIFY(f.ask(QStringLiteral("b")));
            QVERIFY(f.chat->switchBranch(f.model.messages()[1].id, -1));
            f.chat->setDraft(QStringLiteral("unfinished"));
            f.chat->setSystemPrompt(QStringLiteral("Be kind."));
            id = f.chat->current();
            texts = f.texts();
            f.chat->newConversation();
            QVERIFY(f.ask(QStringLiteral("to be deleted")));
            f.history.remove(f.chat->current());
            QVERIFY(f.history.close());
        }
        Fixture f(folder.path());
        QVERIFY(f.history.notices().isEmpty());
        QCOMPARE(f.history.conversations().size(), 1);
        QVERIFY(f.chat->openConversation(id));
        QCOMPARE(f.texts(), texts);
        QCOMPARE(f.model.messages()[1].branches, 2);
        QCOMPARE(f.chat->draft(), QStringLiteral("unfinished"));
        QCOMPARE(f.chat->systemPrompt(), QStringLiteral("Be kind."));
        QVERIFY(f.chat->switchBranch(f.model.messages()[1].id, +1));
        QCOMPARE(f.model.rowCount(), 4);
        // Opened at a message of another branch: the path leads there.
        const MessageId hidden = f.history.search(QStringLiteral("one")).last().message;
        QVERIFY(f.chat->openConversation(id, hidden));
        QCOMPARE(f.last().id, hidden);
    }

    void restart_bringsAnEditedAnswerBack() {
        HistoryFolder folder;
        ConversationId id = 0;
        {
            Fixture f(folder.path());
            QVERIFY(f.load());
            f.answerWith("one");
            QVERIFY(f.ask(QStringLiteral("a")));
            QVERIFY(f.chat->editAnswer(f.last().id, QStringLiteral("mine")));
            id = f.chat->current();
            QVERIFY(f.history.close());
        }
        Fixture f(folder.path());
        QVERIFY(f.chat->openConversation(id));
        QCOMPARE(f.texts(), QStringList({QStringLiteral("a"), QStringLiteral("mine")}));
        QVERIFY(f.last().edited);
        QVERIFY(!f.last().figures);
        QVERIFY(f.last().note.isEmpty());
        QCOMPARE(f.last().branches, 2);
        QVERIFY(f.chat->switchBranch(f.last().id, -1));
        QCOMPARE(f.last().text, QStringLiteral("one"));
        QVERIFY(f.last().figures);
        QVERIFY(!f.last().edited);
    }

    void prompt_isOnDiskWhenSent_textSoonAfter() {
        HistoryFolder folder;
        Fixture f(folder.path(), slow());
        QVERIFY(f.load());
        QVERIFY(f.chat->send(QStringLiteral("precious")));
        test::Sql sql(folder.file());
        QTRY_COMPARE(sql(QStringLiteral("SELECT count(*) FROM messages WHERE text = 'precious'")).toInt(), 1);
        QVERIFY(f.streams());
        QTRY_VERIFY(sql(QStringLiteral("SELECT sum(length(text)) FROM journal")).toInt() > 40);
        // The journal grows; the message is not written again for each piece.
        QCOMPARE(sql(QStringLiteral("SELECT sum(length(text)) FROM messages WHERE kind = 'answer'")).toInt(), 0);
        f.chat->stop();
        QVERIFY(f.settled());
        QVERIFY(f.history.flush());
        QCOMPARE(sql(QStringLiteral("SELECT count(*) FROM journal")).toInt(), 0);
        QCOMPARE(sql(QStringLiteral("SELECT text FROM messages WHERE kind = 'answer'")).toString(), f.last().text);
    }

    void longStream_costsTheWindowLittle() {
        HistoryFolder folder;
        Fixture f(folder.path());
        const ConversationId id = f.chat->current();
        const MessageId prompt = f.history.add(id, test::prompt(QStringLiteral("a")));
        const MessageId answer = f.history.add(id, test::answer({}, prompt, State::Streaming));
        const QString piece = QStringLiteral("word ");
        QElapsedTimer timer;
        timer.start();
        qint64 longest = 0;
        for (int i = 0; i < 20'000; ++i) {
            const qint64 before = timer.nsecsElapsed();
            f.history.appendText(id, answer, piece);
            longest = std::max(longest, timer.nsecsElapsed() - before);
        }
        qInfo("20,000 pieces handed over in %.1f ms, the longest in %.3f ms",
              static_cast<double>(timer.nsecsElapsed()) / 1e6, static_cast<double>(longest) / 1e6);
        f.history.edit(id, answer, [](Message& m) { m.state = State::Done; });
        QVERIFY(f.history.flush());
        QCOMPARE(
            test::Sql(folder.file())(QStringLiteral("SELECT length(text) FROM messages WHERE kind = 'answer'")).toInt(),
            100'000);
    }

    // A larger context and another model may both be under way.
    void twoHolds_endWhereBothHave() {
        Fixture f;
        QVERIFY(f.load());
        const QObject one, other;
        f.chat->setHeldFor(one, QStringLiteral("one"));
        f.chat->setHeldFor(other, QStringLiteral("other"));
        QVERIFY(f.chat->send(QStringLiteral("hello")));
        f.chat->setHeldFor(other, {});
        QCOMPARE(f.last().note, QStringLiteral("one"));
        QCoreApplication::processEvents();
        QCOMPARE(f.last().state, State::Waiting);
        f.chat->setHeldFor(one, {});
        QVERIFY(f.settled());
        QCOMPARE(f.last().state, State::Done);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestChatController)
#include "tst_chat_controller.moc"
