#include "ui/panels/selection.h"

#include <utility>

#include "ui/base/delay.h"

namespace offstage::ui {

namespace {

constexpr int kRefreshMs = 100;

}  // namespace

Selection::Selection(TokenLog& log, QObject* parent) : QObject(parent), m_log(log) {
    connect(&m_log, &TokenLog::stepsAdded, this, [this] {
        refreshExperts();
        refreshText();
    });
    connect(&m_log, &TokenLog::tokensAdded, this, [this](quint64 message) {
        // The character of a token that was selected too early may be whole now, and its
        // text may have been no answer.
        if (m_token && m_token->message == message) {
            const auto now = m_log.token(message, m_token->index);
            if (!now || now->step != m_token->step) {
                setToken({});
            } else if (m_token->text.begin == m_token->text.end) {
                setToken(now);
            }
        }
        // Text comes up to 60 times a second, mostly before what its layers did.
        if (m_expert && !m_refresh.isActive()) {
            m_refresh.start();
        }
    });
    callAfter(m_refresh, kRefreshMs, this, &Selection::refreshText);
    connect(&m_log, &TokenLog::modelBegun, this, [this] {
        clearExpert();
        clearToken();
    });
}

QString Selection::textOfStep(StepId step) const {
    const auto token = m_log.tokenOfStep(step);
    return token && m_textOf ? m_textOf(token->message, token->text) : QString();
}

bool Selection::selectToken(MessageId message, int index) {
    const auto token = m_log.token(message, index);
    if (token) {
        setToken(token);
    }
    return token.has_value();
}

bool Selection::selectTokenAt(MessageId message, int offset) {
    const auto token = m_log.tokenAt(message, offset);
    if (token) {
        setToken(token);
    }
    return token.has_value();
}

bool Selection::canStepToken(int by) const {
    return m_token ? m_log.token(m_token->message, m_token->index + by).has_value() : m_log.lastToken().has_value();
}

bool Selection::stepToken(int by) {
    const auto token = m_token ? m_log.token(m_token->message, m_token->index + by) : m_log.lastToken();
    if (token) {
        setToken(token);
    }
    return token.has_value();
}

void Selection::clearToken() {
    setToken(std::nullopt);
}

void Selection::setToken(const std::optional<LoggedToken>& token) {
    if (!token && !m_token) {
        return;
    }
    const auto before = m_token;
    m_token = token;
    if (m_token && m_log.step(m_token->step) == nullptr) {
        m_log.poll();  // it may have been written since the last visit
    }
    m_expertsOfToken = m_token ? m_log.expertsOf(*m_token) : std::vector<ExpertId>{};
    if (before && (!m_token || m_token->message != before->message)) {
        Q_EMIT tokenMarked(before->message, {});
    }
    if (m_token) {
        Q_EMIT tokenMarked(m_token->message, m_token->text);
    }
    Q_EMIT tokenChanged();
}

void Selection::refreshExperts() {
    if (!m_token) {
        return;
    }
    auto experts = m_log.expertsOf(*m_token);
    if (experts != m_expertsOfToken) {
        m_expertsOfToken = std::move(experts);
        Q_EMIT tokenChanged();
    }
}

void Selection::selectExpert(ExpertId expert) {
    if (m_expert != expert) {
        m_expert = expert;
        m_log.poll();
        refreshText();
        Q_EMIT expertChanged();
    }
}

void Selection::clearExpert() {
    if (m_expert) {
        m_expert.reset();
        refreshText();
        Q_EMIT expertChanged();
    }
}

void Selection::refreshText() {
    if (!m_expert && m_textOfExpert.isEmpty()) {
        return;
    }
    const auto before =
        std::exchange(m_textOfExpert, m_expert ? m_log.textOf(*m_expert) : QHash<MessageId, QList<TextRange>>{});
    for (auto message = before.cbegin(); message != before.cend(); ++message) {
        if (!m_textOfExpert.contains(message.key())) {
            Q_EMIT underlined(message.key(), {});
        }
    }
    for (auto message = m_textOfExpert.cbegin(); message != m_textOfExpert.cend(); ++message) {
        if (before.value(message.key()) != message.value()) {
            Q_EMIT underlined(message.key(), message.value());
        }
    }
}

}  // namespace offstage::ui
