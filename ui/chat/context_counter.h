#pragma once

#include <optional>

#include <QHash>
#include <QObject>
#include <QTimer>

#include "ui/chat/chat_controller.h"
#include "ui/engine/engine_controller.h"

class QPlainTextEdit;

namespace offstage::ui {

// Counts the tokens of the shown conversation, and of the draft with its attached files:
// by the model's own tokenizer and template, on the engine's thread, while no answer is
// being written. GUI thread only.
class ContextCounter : public QObject {
    Q_OBJECT

  public:
    static constexpr int kPauseMs = 250;  // of typing

    ContextCounter(EngineController& engine, ChatController& chat, QPlainTextEdit& draft, QObject* parent = nullptr);

    // The system prompt has changed, which this object does not notice by itself.
    void countSoon() { m_pause.start(); }
    // Nothing has changed since lastCount(), and no count is under way.
    bool isUpToDate() const { return m_asked == 0 && !m_again && !m_pause.isActive(); }
    // Of the conversation that is shown. Nothing: the model has nothing to count with, or
    // it has not been counted.
    std::optional<qint64> lastCount() const;

  Q_SIGNALS:
    // Of the conversation that is shown; more than the context only where the draft needs
    // more. -1: not known, because another is answered since before it was shown.
    void counted(qint64 tokens);
    void settled();  // isUpToDate()

  private:
    void ask();

    EngineController& m_engine;
    ChatController& m_chat;
    QPlainTextEdit& m_draft;
    QTimer m_pause;
    RequestId m_asked = 0;  // 0: none
    ConversationId m_askedOf = 0;
    bool m_again = false;      // something has changed since
    bool m_withDraft = false;  // of m_asked
    QHash<ConversationId, qint64> m_last;
};

}  // namespace offstage::ui
