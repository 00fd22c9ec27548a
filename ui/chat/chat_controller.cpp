#include "ui/chat/chat_controller.h"

#include <utility>

namespace offstage::ui {

ChatController::ChatController(EngineController& engine, ConversationModel& conversation, QObject* parent)
    : QObject(parent), m_engine(engine), m_conversation(conversation) {
    connect(&m_engine, &EngineController::modelLoaded, this, &ChatController::onLoaded);
    connect(&m_engine, &EngineController::loadFailed, this, &ChatController::onLoadFailed);
    connect(&m_engine, &EngineController::streamed, this, &ChatController::onStreamed);
    connect(&m_engine, &EngineController::answered, this, &ChatController::onAnswered);
    connect(&m_engine, &EngineController::answerFailed, this, &ChatController::onAnswerFailed);
    connect(&m_engine, &EngineController::answerInterrupted, this, &ChatController::onInterrupted);
}

bool ChatController::canSend() const {
    const auto state = m_engine.state();
    return state == EngineController::State::Ready ||
           (state == EngineController::State::Loading && m_waitingAnswer == 0);
}

bool ChatController::send(const QString& prompt) {
    if (prompt.trimmed().isEmpty() || !canSend()) {
        return false;
    }
    removeProblems();
    Message question;
    question.kind = Message::Kind::Prompt;
    question.text = prompt;
    m_conversation.append(question);

    Message answer;
    answer.kind = Message::Kind::Answer;
    answer.state = Message::State::Waiting;
    const bool loading = m_engine.state() == EngineController::State::Loading;
    answer.note = loading ? tr("Waiting for the model to load…") : tr("Reading the prompt…");
    const MessageId id = m_conversation.append(answer);
    if (loading) {
        m_waitingAnswer = id;
        Q_EMIT waitingChanged();
    } else {
        start(id);
    }
    return true;
}

std::vector<engine::ChatMessage> ChatController::history() const {
    std::vector<engine::ChatMessage> out;
    const Message* prompt = nullptr;
    // Templates insist on alternating roles: a prompt without an answer leaves together with its empty answer.
    for (const Message& message : m_conversation.messages()) {
        if (message.kind == Message::Kind::Prompt) {
            prompt = &message;
        } else if (message.kind == Message::Kind::Answer && prompt && !message.text.trimmed().isEmpty()) {
            out.push_back({engine::Role::kUser, prompt->text.toStdString()});
            out.push_back({engine::Role::kAssistant, message.text.toStdString()});
            prompt = nullptr;
        }
    }
    if (prompt) {
        out.push_back({engine::Role::kUser, prompt->text.toStdString()});
    }
    return out;
}

void ChatController::start(MessageId answer) {
    engine::GenerationRequest request;
    request.messages = history();
    request.sampler = m_sampling.sampler;
    request.max_tokens = m_sampling.maxTokens;
    m_conversation.edit(answer, [this](Message& m) {
        m.author = QString::fromStdString(m_engine.model()->name);
        m.note = tr("Reading the prompt…");
    });
    m_runningAnswer = answer;
    m_request = m_engine.generate(request);
}

void ChatController::stop() {
    if (m_waitingAnswer != 0) {
        takeWaitingPromptBack();
    } else {
        m_engine.stop();
    }
}

void ChatController::newConversation() {
    m_waitingAnswer = 0;
    m_engine.resetConversation();
    m_runningAnswer = 0;
    m_request = 0;
    m_conversation.clear();
    Q_EMIT waitingChanged();
}

MessageId ChatController::lastOf(Message::Kind kind) const {
    const QList<Message>& messages = m_conversation.messages();
    for (auto it = messages.crbegin(); it != messages.crend(); ++it) {
        if (it->kind == kind) {
            return it->id;
        }
    }
    return 0;
}

void ChatController::tryAgain() {
    const Message* prompt = m_conversation.find(lastOf(Message::Kind::Prompt));
    if (!prompt || !canSend()) {
        return;
    }
    const QString text = prompt->text;
    const int from = m_conversation.rowOf(prompt->id);
    while (m_conversation.rowCount() > from) {
        m_conversation.remove(m_conversation.messages().last().id);
    }
    send(text);
}

void ChatController::editFailedPrompt() {
    const Message* prompt = m_conversation.find(lastOf(Message::Kind::Prompt));
    if (!prompt || prompt->state != Message::State::Failed) {
        return;
    }
    const QString text = prompt->text;
    removeProblems();
    Q_EMIT promptReturned(text);
}

void ChatController::removeProblems() {
    const QList<Message> messages = m_conversation.messages();
    for (const Message& message : messages) {
        const bool failedPrompt = message.kind == Message::Kind::Prompt && message.state == Message::State::Failed;
        if (message.kind == Message::Kind::Problem || failedPrompt) {
            m_conversation.remove(message.id);
        }
    }
}

void ChatController::takeWaitingPromptBack() {
    const MessageId answer = std::exchange(m_waitingAnswer, 0);
    const Message* prompt = m_conversation.find(lastOf(Message::Kind::Prompt));
    if (!prompt) {
        return;
    }
    const QString text = prompt->text;
    m_conversation.remove(answer);
    m_conversation.remove(prompt->id);
    Q_EMIT promptReturned(text);
    Q_EMIT waitingChanged();
}

void ChatController::onLoaded() {
    if (m_waitingAnswer != 0 && m_engine.state() == EngineController::State::Ready) {
        start(std::exchange(m_waitingAnswer, 0));
        Q_EMIT waitingChanged();
    }
}

void ChatController::onLoadFailed() {
    if (m_waitingAnswer != 0) {
        takeWaitingPromptBack();
    }
}

void ChatController::onStreamed(RequestId id, const StreamedText& piece) {
    if (id != m_request) {
        return;
    }
    const Message* answer = m_conversation.find(m_runningAnswer);
    if (answer && answer->state == Message::State::Waiting) {
        m_conversation.edit(m_runningAnswer, [](Message& m) {
            m.state = Message::State::Streaming;
            m.note.clear();
        });
    }
    m_conversation.appendText(m_runningAnswer, piece.text);
}

QString ChatController::noteFor(const engine::GenerationResult& result) const {
    switch (result.finish) {
        case engine::FinishReason::kEndOfTurn:
            return {};
        case engine::FinishReason::kStopped:
            return tr("Stopped");
        case engine::FinishReason::kMaxTokens:
            return tr("Ended at the limit of %1 tokens (Sampling panel)").arg(m_sampling.maxTokens);
        case engine::FinishReason::kContextFull:
            return tr("The context is full: begin a new conversation, or ask for something shorter");
    }
    return {};
}

void ChatController::onAnswered(RequestId id, const engine::GenerationResult& result) {
    if (id != m_request) {
        return;
    }
    const MessageId answer = std::exchange(m_runningAnswer, 0);
    m_request = 0;
    const QString text = QString::fromStdString(result.text);
    m_conversation.edit(answer, [&](Message& m) {
        if (m.text != text) {
            m.text = text;  // the engine's word is the last one
        }
        m.state = result.finish == engine::FinishReason::kStopped ? Message::State::Stopped : Message::State::Done;
        m.note = noteFor(result);
        m.figures = AnswerFigures{result.ttft_s, result.decode_tokens_per_s, result.prompt_tokens, result.reused_tokens,
                                  static_cast<qint64>(result.tokens.size())};
    });
}

void ChatController::onAnswerFailed(RequestId id, const EngineFailure& failure) {
    if (id != m_request) {
        return;
    }
    const MessageId answer = std::exchange(m_runningAnswer, 0);
    m_request = 0;
    Problem problem;
    problem.sentence = failure.sentence;
    problem.detail = failure.detail;
    const Message* written = m_conversation.find(answer);
    if (!written || written->text.trimmed().isEmpty()) {
        // Nothing was answered: the prompt stays visible, out of the history, and goes back to the person.
        m_conversation.remove(answer);
        const MessageId prompt = lastOf(Message::Kind::Prompt);
        m_conversation.edit(prompt, [](Message& m) {
            m.state = Message::State::Failed;
            m.note = ChatController::tr("Not answered");
        });
        problem.title = failure.kind == engine::ErrorKind::kInvalidInput ? tr("This prompt cannot be answered")
                                                                         : tr("The answer could not be written");
        problem.actions = {ProblemAction::EditPrompt};
        if (const Message* failed = m_conversation.find(prompt)) {
            Q_EMIT promptOffered(failed->text);
        }
    } else {
        m_conversation.edit(answer, [](Message& m) {
            m.state = Message::State::Failed;
            m.note = ChatController::tr("Not complete");
        });
        problem.title = tr("The answer ended early");
    }
    if (failure.kind != engine::ErrorKind::kInvalidInput) {
        problem.actions.append(ProblemAction::TryAgain);
        problem.actions.append(ProblemAction::OpenModel);
    }
    reportProblem(problem);
}

void ChatController::onInterrupted(RequestId id) {
    if (id != m_request) {
        return;
    }
    m_request = 0;
    m_conversation.edit(std::exchange(m_runningAnswer, 0), [](Message& m) {
        m.state = Message::State::Stopped;
        m.note = ChatController::tr("Stopped");
    });
}

void ChatController::reportProblem(const Problem& problem) {
    Message message;
    message.kind = Message::Kind::Problem;
    message.problem = problem;
    m_conversation.append(message);
}

}  // namespace offstage::ui
