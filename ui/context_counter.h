#pragma once

#include <QObject>
#include <QTimer>

#include "ui/chat/chat_controller.h"
#include "ui/engine_controller.h"

class QPlainTextEdit;

namespace offstage::ui {

// Counts the tokens that the conversation shown, and what is being typed, would take of the context: by the model's own
// tokenizer and template, on the engine's thread, while no answer is written. GUI thread only.
class ContextCounter : public QObject {
    Q_OBJECT

  public:
    static constexpr int kPauseMs = 250;  // of typing

    ContextCounter(EngineController& engine, ChatController& chat, QPlainTextEdit& draft, QObject* parent = nullptr);

  Q_SIGNALS:
    void counted(qint64 tokens);

  private:
    void ask();

    EngineController& m_engine;
    ChatController& m_chat;
    QPlainTextEdit& m_draft;
    QTimer m_pause;
    RequestId m_asked = 0;  // 0: none
    bool m_again = false;   // something has changed since
};

}  // namespace offstage::ui
