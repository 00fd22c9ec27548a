#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <QElapsedTimer>
#include <QHash>
#include <QList>
#include <QObject>

#include "ui/engine/engine_controller.h"
#include "ui/history/history.h"

namespace offstage::ui {

// Lets the engine write the answers of all conversations, one after the other, in the
// order they were asked for, and stores what comes back in the History. An answer
// continues whichever conversation is shown. No widgets; GUI thread only.
class AnswerWriter : public QObject {
    Q_OBJECT

  public:
    enum class Ask { Prompt, Regenerate, Continue, Branch };
    struct Job {
        ConversationId conversation = 0;
        MessageId answer = 0;  // in the History, waiting
        Ask ask = Ask::Prompt;
        std::vector<engine::TokenId> begin;  // Branch: the beginning of the answer
        // The prompt whose cut (Message::cut) first gets a summary of what stands above
        // it; 0: none.
        MessageId summariseAbove = 0;
    };

    AnswerWriter(EngineController& engine, History& history);

    void add(const Job& job);
    const std::optional<Job>& running() const { return m_running; }
    const QList<Job>& waiting() const { return m_queue; }
    bool isWaiting(ConversationId conversation) const { return find(conversation) >= 0; }
    // Takes an answer that waits out of the queue again. False: none of this conversation
    // does, or it is no longer there.
    bool takeBack(ConversationId conversation);
    void withdraw(MessageId answer);
    // The conversation is gone: its answer is given up.
    void abandon(ConversationId conversation);
    // Meanwhile no answer begins.
    void setHeld(bool held);
    // The same, with a note for the answers that wait; empty: no longer, by this holder.
    void setHeldFor(const QObject& by, const QString& note);
    // The engine's cache is free for this conversation; only if Ready and nothing runs.
    void prepareFor(ConversationId conversation);
    // Something else used the engine: the next answer begins with a free cache.
    void leaveEngine() { m_engineConversation = kElsewhere; }
    // Whether answers include the most probable alternatives of each token
    // (StreamedText::choices).
    void setWantsChoices(bool wants) { m_wantsChoices = wants; }

    // The engine's input for a path: the system prompt, prompts with their answers, and
    // the last prompt.
    std::vector<engine::ChatMessage> messagesFor(ConversationId conversation, MessageId end) const;

  Q_SIGNALS:
    void changed();       // what runs, or whether something waits
    void queueChanged();  // the order of what waits
    void messageChanged(quint64 conversation, quint64 message);
    void pathChanged(quint64 conversation);
    void engineEntered(quint64 conversation);  // whose answers the engine writes from now on
    // A piece of text was appended to an answer, which had textOffset characters.
    void textAppended(quint64 conversation, quint64 answer, int textOffset, const offstage::ui::StreamedText& piece);
    void thoughtChanged(quint64 conversation, quint64 answer);
    // A prompt that was taken back is no longer in the History.
    void promptReturned(quint64 conversation, const QString& text, const QList<offstage::ui::Attachment>& attachments);
    // It stays in the History, marked, without an answer.
    void promptFailed(quint64 conversation, quint64 prompt);
    void failed(quint64 conversation, const offstage::ui::Problem& problem);
    // The conversation, up to this message, fills the model's context. It needs so many
    // tokens and more.
    void contextFilled(quint64 conversation, quint64 end, const offstage::ui::Problem& problem, qint64 tokens);

  private:
    static constexpr ConversationId kElsewhere = ~ConversationId{0};

    void enterEngine(ConversationId conversation);
    qsizetype find(ConversationId conversation) const;
    const Message* answerOf(const Job& job) const;
    void edit(const Job& job, const std::function<void(Message&)>& change);
    void takeBackAt(qsizetype place);
    static void markStopped(Message& answer);
    void renumber();
    void start();
    void startSoon();
    void keepOnDisk(ConversationId conversation, engine::GenerationRequest& request) const;
    std::optional<Job> finish(RequestId id);
    void onPromptRead(RequestId id, qint64 read, qint64 tokens);
    void onStreamed(RequestId id, const StreamedText& piece);
    void addThought(const Job& job, const StreamedText& piece);
    void endThought(const Job& job);
    void onAnswered(RequestId id, const engine::GenerationResult& result);
    void onAnswerFailed(RequestId id, const EngineFailure& failure);
    bool tellTooLong(ConversationId conversation, MessageId end, qint64 tokens, Problem& problem) const;
    void onInterrupted(RequestId id);
    QString noteFor(const Job& job, const engine::GenerationResult& result) const;
    engine::GenerationRequest summaryRequest(const Job& job) const;
    void takeSummary(Job job, const engine::GenerationResult& result);

    EngineController& m_engine;
    History& m_history;
    QList<Job> m_queue;
    std::optional<Job> m_running;
    RequestId m_request = 0;
    ConversationId m_engineConversation = 0;  // the conversation in the engine's cache
    bool m_held = false;
    QHash<const QObject*, QString> m_heldFor;  // by whom
    bool m_wantsChoices = false;
    // Tokens of a continued answer's prompt, without the text before it was continued;
    // counted by m_countId. Nothing: not known.
    std::optional<qint64> m_promptTokens;
    RequestId m_countId = 0;
    QString m_begun;           // the running answer's text before it was continued,
    Thought m_begunThought;    // and of the thought before it
    QElapsedTimer m_thinking;  // since the first piece of the running answer's thought
    QElapsedTimer m_sinceThoughtStored;
};

}  // namespace offstage::ui
