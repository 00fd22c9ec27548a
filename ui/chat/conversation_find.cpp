#include "ui/chat/conversation_find.h"

#include <algorithm>

#include <QStringMatcher>

namespace offstage::ui {

namespace {

constexpr int kAgainMs = 250;
constexpr qsizetype kMostHits = 20'000;

}  // namespace

ConversationFind::ConversationFind(ConversationModel& model, QObject* parent) : QObject(parent), m_model(model) {
    m_again.setSingleShot(true);
    m_again.setInterval(kAgainMs);
    connect(&m_again, &QTimer::timeout, this, &ConversationFind::search);
    const auto changed = [this] {
        if (!m_text.isEmpty() && !m_again.isActive()) {
            m_again.start();
        }
    };
    connect(&m_model, &QAbstractItemModel::rowsInserted, this, changed);
    connect(&m_model, &QAbstractItemModel::rowsRemoved, this, changed);
    connect(&m_model, &QAbstractItemModel::modelReset, this, changed);
    connect(&m_model, &QAbstractItemModel::dataChanged, this, changed);
}

void ConversationFind::setText(const QString& text) {
    if (text == m_text) {
        return;
    }
    m_text = text;
    m_current = -1;
    m_again.stop();
    search();
}

void ConversationFind::search() {
    const Hit before = m_current >= 0 && m_current < m_hits.size() ? m_hits[m_current] : Hit{};
    QList<Hit> hits;
    if (!m_text.isEmpty()) {
        const QStringMatcher matcher(m_text, Qt::CaseInsensitive);
        for (const Message& message : m_model.messages()) {
            if (message.kind == Message::Kind::Problem) {
                continue;
            }
            qsizetype at = 0;
            while (hits.size() < kMostHits && (at = matcher.indexIn(message.text, at)) >= 0) {
                hits.append({message.id, {static_cast<int>(at), static_cast<int>(at + m_text.size())}});
                at += m_text.size();
            }
        }
    }
    const bool sameHits = hits == m_hits;
    m_hits = std::move(hits);
    const bool first = m_current < 0;
    if (first) {
        // The latest: what one looks for is nearly always near what one has just read.
        m_current = static_cast<int>(m_hits.size()) - 1;
    } else {
        const qsizetype at = m_hits.indexOf(before);
        m_current = at >= 0 ? static_cast<int>(at) : std::min(m_current, static_cast<int>(m_hits.size()) - 1);
    }
    if (!sameHits || first) {
        Q_EMIT hitsChanged();
    }
    if (first) {
        Q_EMIT currentChanged();
    }
}

QHash<MessageId, QList<QPair<int, int>>> ConversationFind::byMessage() const {
    QHash<MessageId, QList<QPair<int, int>>> out;
    for (const Hit& hit : m_hits) {
        out[hit.message].append(hit.range);
    }
    return out;
}

void ConversationFind::next() {
    if (!m_hits.isEmpty()) {
        m_current = (m_current + 1) % count();
        Q_EMIT currentChanged();
    }
}

void ConversationFind::previous() {
    if (!m_hits.isEmpty()) {
        m_current = (m_current + count() - 1) % count();
        Q_EMIT currentChanged();
    }
}

}  // namespace offstage::ui
