#include "ui/chat/context_counter.h"

#include <algorithm>

#include <QPlainTextEdit>

#include "ui/base/prompt_text.h"
#include "ui/engine/context_in_force.h"

namespace offstage::ui {

ContextCounter::ContextCounter(EngineController& engine, ChatController& chat, QPlainTextEdit& draft, QObject* parent)
    : QObject(parent), m_engine(engine), m_chat(chat), m_draft(draft) {
    m_pause.setSingleShot(true);
    m_pause.setInterval(kPauseMs);
    const auto soon = [this] { m_pause.start(); };
    connect(&m_pause, &QTimer::timeout, this, &ContextCounter::ask);
    connect(&m_engine, &EngineController::stateChanged, this, [this](EngineController::State state) {
        if (state != EngineController::State::Ready) {
            m_asked = 0;
            m_again = false;
        }
        if (state == EngineController::State::NoModel || state == EngineController::State::Loading) {
            m_last.clear();
        }
        m_pause.start();
    });
    connect(&m_chat, &ChatController::currentChanged, this, [this] {
        Q_EMIT counted(lastCount().value_or(-1));
        m_pause.start();
    });
    connect(&m_chat, &ChatController::waitingChanged, this, soon);
    connect(&m_chat, &ChatController::draftAttachmentsChanged, this, soon);
    connect(&m_draft, &QPlainTextEdit::textChanged, this, soon);
    connect(&m_engine, &EngineController::tokensCounted, this, [this](RequestId id, qint64 tokens) {
        if (id != m_asked) {
            return;
        }
        m_asked = 0;
        if (tokens < 0) {
            m_last.remove(m_askedOf);
        } else if (m_engine.model()) {
            // The template closes a full context's last answer and begins the next one.
            const qint64 used = m_withDraft ? tokens : std::min(tokens, contextInForce(m_engine));
            m_last[m_askedOf] = used;
            if (m_askedOf == m_chat.current()) {
                Q_EMIT counted(used);
            }
        }
        if (m_again) {
            m_again = false;
            m_pause.start();
        } else if (isUpToDate()) {
            Q_EMIT settled();
        }
    });
}

std::optional<qint64> ContextCounter::lastCount() const {
    const auto found = m_last.find(m_chat.current());
    return found == m_last.end() ? std::nullopt : std::optional(*found);
}

void ContextCounter::ask() {
    if (m_engine.state() != EngineController::State::Ready) {
        return;  // counted once it is visible
    }
    if (m_asked != 0) {
        m_again = true;
        return;
    }
    std::vector<engine::ChatMessage> messages = m_chat.history();
    const std::string draft = promptForModel(m_draft.toPlainText().trimmed(), m_chat.draftAttachments()).toStdString();
    if (!draft.empty() && !messages.empty() && messages.back().role == engine::Role::kUser) {
        messages.back().content += "\n" + draft;  // templates need alternating roles
    } else if (!draft.empty()) {
        messages.push_back({engine::Role::kUser, draft});
    }
    const bool asks = std::any_of(messages.begin(), messages.end(), [](const engine::ChatMessage& message) {
        return message.role == engine::Role::kUser;
    });
    if (asks) {
        m_withDraft = !draft.empty();
        m_asked = m_engine.countTokens(messages);
        m_askedOf = m_chat.current();
    } else {
        m_last[m_chat.current()] = 0;
        Q_EMIT counted(0);
        Q_EMIT settled();
    }
}

}  // namespace offstage::ui
