#include "ui/context_counter.h"

#include <algorithm>

#include <QPlainTextEdit>

namespace offstage::ui {

ContextCounter::ContextCounter(EngineController& engine, ChatController& chat, QPlainTextEdit& draft, QObject* parent)
    : QObject(parent), m_engine(engine), m_chat(chat), m_draft(draft) {
    m_pause.setSingleShot(true);
    m_pause.setInterval(kPauseMs);
    const auto soon = [this] { m_pause.start(); };
    connect(&m_pause, &QTimer::timeout, this, &ContextCounter::ask);
    connect(&m_engine, &EngineController::stateChanged, this, [this](EngineController::State state) {
        m_asked = state == EngineController::State::Ready ? m_asked : 0;
        m_pause.start();
    });
    connect(&m_chat, &ChatController::currentChanged, this, soon);
    connect(&m_chat, &ChatController::waitingChanged, this, soon);
    connect(&m_draft, &QPlainTextEdit::textChanged, this, soon);
    connect(&m_engine, &EngineController::tokensCounted, this, [this](RequestId id, qint64 tokens) {
        if (id != m_asked) {
            return;
        }
        m_asked = 0;
        if (tokens >= 0) {
            Q_EMIT counted(tokens);
        }
        if (m_again) {
            m_again = false;
            m_pause.start();
        }
    });
}

void ContextCounter::ask() {
    if (m_engine.state() != EngineController::State::Ready) {
        return;  // asked when it is
    }
    if (m_asked != 0) {
        m_again = true;
        return;
    }
    std::vector<engine::ChatMessage> messages = m_chat.history();
    const std::string draft = m_draft.toPlainText().trimmed().toStdString();
    if (!draft.empty() && !messages.empty() && messages.back().role == engine::Role::kUser) {
        messages.back().content += "\n" + draft;  // templates want the roles in turn
    } else if (!draft.empty()) {
        messages.push_back({engine::Role::kUser, draft});
    }
    const bool asks = std::any_of(messages.begin(), messages.end(), [](const engine::ChatMessage& message) {
        return message.role == engine::Role::kUser;
    });
    if (asks) {
        m_asked = m_engine.countTokens(messages);
    } else {
        Q_EMIT counted(0);
    }
}

}  // namespace offstage::ui
