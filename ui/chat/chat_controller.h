#pragma once

#include <functional>
#include <memory>

#include <QHash>
#include <QObject>
#include <QSet>

#include "ui/chat/answer_writer.h"
#include "ui/chat/conversation_model.h"
#include "ui/chat/full_context.h"
#include "ui/engine/sampling.h"
#include "ui/history/history.h"
#include "ui/settings/personas.h"

namespace offstage::ui {

// The rules of the conversations: the effects of a prompt, a stop, a failure on the
// messages and the engine. One conversation is shown (the ConversationModel holds its
// active path); any number may have prompts. The engine answers one at a time: the others
// wait in a queue, in the order they came, and an answer continues when another
// conversation is shown. No widgets.
class ChatController : public QObject {
    Q_OBJECT

  public:
    // With a separate history, in memory only.
    ChatController(EngineController& engine, ConversationModel& conversation, QObject* parent = nullptr);
    // `history` is open, or will stay in memory, and outlives this.
    ChatController(EngineController& engine, ConversationModel& conversation, History& history,
                   QObject* parent = nullptr);

    History& conversations() const { return m_history; }

    // ---- the conversation that is shown
    ConversationId current() const { return m_current; }
    // False: the conversation cannot be read, and the shown one stays. `message`: the
    // path must contain it; 0: the last path.
    bool openConversation(ConversationId id, MessageId message = 0);
    // With Personas::ofNew(), or without a system prompt and with the sampling that the user
    // set last. The shown conversation stays if it has no messages (Beside::Draft: nor a
    // draft), unless another persona, or none, was chosen for it and nothing is written.
    enum class Beside { Messages, Draft };
    void newConversation(Beside beside = Beside::Messages);
    // Also for conversations to come, unless hasPersonasSampling().
    void setSampling(const Sampling& sampling);
    const Sampling& samplingOfNew() const { return m_sampling; }
    Sampling sampling() const { return m_history.info(m_current).sampling; }
    // Or it may be what the persona had before it was edited or deleted.
    bool hasPersonasSampling() const;
    void setSystemPrompt(const QString& prompt);  // of this conversation alone
    QString systemPrompt() const { return m_history.info(m_current).systemPrompt; }
    // Persona::id, of this conversation alone; empty: none. Its prompt and sampling are set
    // like any others.
    void setPersona(const QString& persona) { m_history.setPersona(m_current, persona); }
    QString persona() const { return m_history.info(m_current).persona; }
    void setPersonas(const Personas& personas) { m_personas = &personas; }  // outlive this
    void setDraft(const QString& draft) { storeDraft(m_current, draft); }
    QString draft() const { return draftOf(m_current); }

    // Files for the next prompt of the shown conversation. They exist until the program
    // ends; pasted ones stay as text of the draft.
    QList<Attachment> draftAttachments() const { return m_draftAttachments.value(m_current); }
    void setDraftAttachments(const QList<Attachment>& attachments);
    // Appends files to the draft of a conversation that may be shown or not; ignored if
    // it is gone.
    void addDraftAttachments(ConversationId conversation, const QList<Attachment>& attachments);
    // Whose files are being read: they count as files of the draft.
    void setAwaitFiles(const QSet<ConversationId>& conversations) { m_awaitFiles = conversations; }
    // A text that no file has becomes one of the draft's files. The stored draft keeps
    // it, behind what was typed, until it is sent or removed.
    void attachPasted(const Attachment& text);
    QList<Attachment> draftAttachmentsOf(ConversationId conversation) const {
        return m_draftAttachments.value(conversation);
    }

    // ---- prompts
    // While the model loads or another conversation is answered, the prompt waits. False:
    // not accepted now (this conversation has an answer running or waiting, no model, or
    // the prompt is blank), and nothing has changed.
    bool send(const QString& prompt) { return send(prompt, {}); }
    bool send(const QString& prompt, const QList<Attachment>& attachments);
    // With the draft's files, which are sent then.
    bool sendDraft(const QString& prompt);
    bool canSend() const;
    // A prompt, as a new branch beside another one or at the end of the conversation (0),
    // with an answer from this page of the manual (Message::helpPage). Needs no model.
    // False: not accepted now.
    bool answerFromHelp(const QString& question, const QString& text, const QString& page, MessageId beside);
    // A new branch beside the prompt, with the prompt's files, or beside the answer.
    // False: not accepted now, or there is no such message.
    bool editPrompt(MessageId prompt, const QString& text);
    bool regenerate(MessageId answer);
    // A new branch beside the answer, with this text only: the engine is not used, and no
    // model need be open. False: an answer of this conversation runs or waits, the text
    // is blank, or there is no such answer.
    bool editAnswer(MessageId answer, const QString& text);
    // Continues the last answer of the path, if it was cut short.
    bool continueAnswer(MessageId answer);
    bool canContinue(MessageId answer) const;
    // A new branch beside the answer that begins with these tokens (`begun` is their
    // text) and is continued by the model. Returns the new answer; 0: not accepted now,
    // or there is no such answer.
    MessageId branchFrom(MessageId answer, const QString& begun, const std::vector<engine::TokenId>& tokens);
    // Whether answers include the most probable alternatives of each token
    // (StreamedText::choices).
    void setWantsChoices(bool wants) { m_writer.setWantsChoices(wants); }
    bool switchBranch(MessageId message, int step);
    // Takes this conversation's waiting prompt back, or stops its running answer, or any
    // running one.
    void stop();
    // Sends the last prompt again, beside the answer that failed.
    void tryAgain();
    // Gives a failed prompt back to the user. It stays in the conversation: another text is
    // a branch beside it.
    void editFailedPrompt();
    // Takes it out of this conversation and asks it in a new one.
    void askAnew();
    // LargerContext (of `context` tokens), LeaveOutOldest or SummariseOldest: then the
    // prompt is asked again, or the answer goes on. Ignored where it is not possible.
    void makeRoom(ProblemAction action, qint64 context);

    // ---- the queue
    struct Queued {
        ConversationId conversation = 0;
        MessageId answer = 0;
        bool running = false;
    };
    QList<Queued> queue() const;  // the running answer first
    // Removes a waiting answer from the queue; its prompt returns to the input box or to
    // the draft.
    void withdraw(MessageId answer) { m_writer.withdraw(answer); }
    // While another part of the program uses the engine alone (a benchmark), no answer
    // begins; prompts wait.
    void setHeld(bool held) { m_writer.setHeld(held); }
    // The same, with a note for the answers that wait; empty: no longer, by this holder.
    void setHeldFor(const QObject& by, const QString& note) { m_writer.setHeldFor(by, note); }
    // Something else has used the engine: the next answer begins with a free cache.
    void leaveEngine() { m_writer.leaveEngine(); }
    bool isAnswering() const { return m_writer.running() && m_writer.running()->conversation == m_current; }
    bool hasWaitingPrompt() const { return m_writer.isWaiting(m_current); }

    // The engine's input for the shown path: the system prompt, prompts with their
    // answers, and the last prompt.
    std::vector<engine::ChatMessage> history() const { return messagesOf(m_current); }
    std::vector<engine::ChatMessage> messagesOf(ConversationId conversation) const;

    // At the end of the conversation shown; until the next prompt, or until the user
    // closes it. One about a model goes once another is open.
    void reportProblem(const Problem& problem);
    // The same for what is no error.
    void showNotice(const Problem& notice);
    void dismissProblem(MessageId problem);

  Q_SIGNALS:
    void errorTold(const offstage::ui::Problem& error);  // on a card, in any conversation
    void draftAttachmentsChanged();
    // Returns a prompt that was not answered, for the input box. Its files are already
    // among draftAttachments().
    void promptReturned(const QString& prompt);
    // The same, but it is still in the conversation: only for an empty input box.
    void promptOffered(const QString& prompt);
    // The prompt that was offered is asked again as it stands: no draft of it is left.
    void offerWithdrawn(const QString& prompt);
    void waitingChanged();
    void engineEntered(quint64 conversation);  // whose answers the engine writes from now on
    void queueChanged();
    // A piece of text was appended to an answer, of any conversation, which had
    // textOffset characters.
    void answerExtended(quint64 answer, int textOffset, const offstage::ui::StreamedText& piece);
    // Another conversation is shown; the controller has its settings and draft now.
    void currentChanged(quint64 conversation);

  private:
    void connectAll();
    ConversationId create();
    QString pastedOf(ConversationId conversation) const;
    QString draftOf(ConversationId conversation) const;
    void storeDraft(ConversationId conversation, const QString& typed);
    void putDraftAttachments(ConversationId conversation, const QList<Attachment>& attachments);
    void returnAttachments(ConversationId conversation, const QList<Attachment>& attachments);
    const ConversationTree* tree() const { return m_history.open(m_current); }
    void showConversation(ConversationId id);
    void refreshModel();
    void showMessage(ConversationId conversation, MessageId message);
    void ask(MessageId prompt, AnswerWriter::Ask kind, MessageId summariseAbove = 0);
    void goOn(MessageId summariseAbove);
    void offerRoom(ConversationId conversation, MessageId end, const Problem& problem, qint64 tokens);
    void clearProblems();
    void dismissProblems(const std::function<bool(const Message&)>& which);
    Message nextPrompt(const QString& text, const QList<Attachment>& attachments);
    void removeFailedPrompt();
    void addProblem(ConversationId conversation, const Problem& problem);
    void tell(ConversationId conversation, const Problem& error);
    void returnPrompt(ConversationId conversation, const QString& text, const QList<Attachment>& attachments);
    void offerPrompt(ConversationId conversation, MessageId prompt);
    void withdrawOffer(MessageId prompt);
    void onRemoved(ConversationId conversation);
    MessageId lastPrompt() const;

    EngineController& m_engine;
    ConversationModel& m_conversation;
    std::unique_ptr<History> m_ownHistory;
    History& m_history;
    AnswerWriter m_writer;
    FullContext m_fullContext;
    ConversationId m_current = 0;
    Sampling m_sampling;  // for the next new conversation
    const Personas* m_personas = nullptr;
    QHash<ConversationId, QList<Message>> m_problems;
    QHash<ConversationId, QList<Attachment>> m_draftAttachments;
    QSet<ConversationId> m_awaitFiles;
    QHash<ConversationId, QList<Attachment>> m_pasted;  // those that no file has
};

}  // namespace offstage::ui
