#pragma once

#include <QObject>

#include "ui/chat/conversation_model.h"
#include "ui/engine_controller.h"
#include "ui/settings/sampling.h"

namespace offstage::ui {

// The rules of one conversation: what a prompt, a stop, a failure do to the messages and to the engine. No widgets.
class ChatController : public QObject {
    Q_OBJECT

  public:
    ChatController(EngineController& engine, ConversationModel& conversation, QObject* parent = nullptr);

    void setSampling(const Sampling& sampling) { m_sampling = sampling; }

    // While the model loads, the prompt waits for it. False: not accepted now (an answer is running, no model, or
    // nothing but blanks), and nothing has changed.
    bool send(const QString& prompt);
    bool canSend() const;
    // Stops the running answer, or takes a waiting prompt back.
    void stop();
    void newConversation();
    // Asks the last prompt again, in place of the answer that failed.
    void tryAgain();
    // Takes a failed prompt out of the conversation and hands it to the person.
    void editFailedPrompt();

    bool hasWaitingPrompt() const { return m_waitingAnswer != 0; }
    // What the engine gets: prompts with their answers, alternating, and the last prompt.
    std::vector<engine::ChatMessage> history() const;

    void reportProblem(const Problem& problem);

  Q_SIGNALS:
    // A prompt that was not answered, for the input box.
    void promptReturned(const QString& prompt);
    // The same, but it is still in the conversation: only for an empty input box.
    void promptOffered(const QString& prompt);
    void waitingChanged();

  private:
    void start(MessageId answer);
    void removeProblems();
    void takeWaitingPromptBack();
    void onLoaded();
    void onLoadFailed();
    void onStreamed(RequestId id, const StreamedText& piece);
    void onAnswered(RequestId id, const engine::GenerationResult& result);
    void onAnswerFailed(RequestId id, const EngineFailure& failure);
    void onInterrupted(RequestId id);
    QString noteFor(const engine::GenerationResult& result) const;
    MessageId lastOf(Message::Kind kind) const;

    EngineController& m_engine;
    ConversationModel& m_conversation;
    Sampling m_sampling;
    MessageId m_runningAnswer = 0;  // 0: none
    MessageId m_waitingAnswer = 0;  // its prompt was sent before the model was ready; 0: none
    RequestId m_request = 0;
};

}  // namespace offstage::ui
