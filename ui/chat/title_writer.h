#pragma once

#include <memory>

#include <QObject>
#include <QSet>

#include "engine/serve/answer_queue.h"
#include "ui/history/history_values.h"

namespace offstage::ui {

class ChatController;
class EngineController;

// Lets the open model write the title of a conversation after its first answer, in place
// of the first words of its prompt. The request continues the conversation, so that the
// KV cache has nearly all of it, and goes as other programs' requests do: the window's
// own answers come first. It is given up at the first sign of a prompt, and tried again
// after the next answer. A title that a person wrote stays. GUI thread only; the engine
// is shut down before this is destroyed.
class TitleWriter : public QObject {
    Q_OBJECT

  public:
    // `untitled`: a model whose titles are worse than the first words; empty: none.
    TitleWriter(EngineController& engine, ChatController& chat, const QString& untitled, QObject* parent = nullptr);
    ~TitleWriter() override;

  public Q_SLOTS:
    void giveUp();
    void setHeld(bool held);  // meanwhile none is written

  private:
    void consider();
    bool wantsTitle(ConversationId conversation) const;
    void take(quint64 request, ConversationId conversation, const QString& written, bool whole);

    EngineController& m_engine;
    ChatController& m_chat;
    const QString m_untitled;
    const std::shared_ptr<engine::AnswerQueue> m_queue;
    std::shared_ptr<engine::AnswerQueue::Ticket> m_ticket;  // of the running request
    quint64 m_request = 0;                                  // its number
    ConversationId m_answered = 0;                          // the last one
    QSet<ConversationId> m_tried;                           // written to the end, good or not
    bool m_held = false;
};

// One line of at most so many characters as titles have, without marks around it; empty:
// it is none.
QString titleFromModel(const QString& written);

}  // namespace offstage::ui
