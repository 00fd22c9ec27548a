#include "ui/chat/conversation_find.h"

#include <algorithm>

#include <QRegularExpression>
#include <QStringMatcher>

#include "ui/base/delay.h"

namespace offstage::ui {

namespace {

constexpr int kAgainMs = 250;
constexpr qsizetype kMostHits = 20'000;
constexpr qsizetype kLongestPattern = 300;  // longer texts are looked for as they are

using Found = QList<QPair<int, int>>;

// The source's characters between two characters that are shown side by side.
QString marksBetween(QChar before, QChar after) {
    // Inside a word only marks in pairs count: "a*b" and "snake_case" are shown as they
    // are written.
    return before.isLetterOrNumber() && after.isLetterOrNumber()
               ? QStringLiteral("(?:\\*\\*|`)?")
               : QStringLiteral("(?:[*_`~\\\\]|!?\\[|\\]\\([^)\\n]{0,500}\\))*?");
}

QRegularExpression patternFor(const QString& text) {
    QString pattern;
    for (qsizetype i = 0; i < text.size(); ++i) {
        const QChar c = text[i];
        if (i > 0 && !c.isLowSurrogate()) {
            pattern += marksBetween(text[i - 1], c);
        }
        // A line of the source may end where a blank is shown.
        if (c.isSpace()) {
            pattern += QStringLiteral("\\s+");
        } else if (c.isSurrogate()) {
            pattern += c;  // half of a character: the whole of it needs no escape
        } else {
            pattern += QRegularExpression::escape(QStringView(&c, 1));
        }
    }
    return QRegularExpression(pattern, QRegularExpression::CaseInsensitiveOption);
}

Found addressesIn(const QString& text) {
    static const QRegularExpression address(QStringLiteral("\\]\\([^)\\n]{0,500}\\)"));
    Found out;
    if (text.contains(QLatin1String("]("))) {
        for (auto it = address.globalMatch(text); it.hasNext();) {
            const QRegularExpressionMatch match = it.next();
            out.append({static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedEnd())});
        }
    }
    return out;
}

void findShown(const QString& text, const QRegularExpression& pattern, qsizetype most, Found& found) {
    for (auto it = pattern.globalMatch(text); found.size() < most && it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        found.append({static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedEnd())});
    }
    if (found.isEmpty()) {
        return;
    }
    const Found addresses = addressesIn(text);
    found.removeIf([&addresses](const QPair<int, int>& hit) {
        return std::any_of(addresses.begin(), addresses.end(), [&hit](const QPair<int, int>& address) {
            return hit.first >= address.first && hit.second <= address.second;
        });
    });
}

void findWritten(const QString& text, const QStringMatcher& matcher, qsizetype most, Found& found) {
    qsizetype at = 0;
    while (found.size() < most && (at = matcher.indexIn(text, at)) >= 0) {
        found.append({static_cast<int>(at), static_cast<int>(at + matcher.pattern().size())});
        at += matcher.pattern().size();
    }
}

// Character by character, as the search of all conversations compares them: without marks
// on Latin, Greek and Cyrillic letters.
QString withoutAccents(QString text) {
    constexpr char16_t kLastOfThese = 0x052F;
    for (QChar& c : text) {
        QChar letter = c;
        while (letter.decompositionTag() == QChar::Canonical) {
            letter = letter.decomposition().front();
        }
        if (letter <= QChar(kLastOfThese)) {
            c = letter;
        }
    }
    return text;
}

}  // namespace

QList<QPair<int, int>> placesOfWords(const Message& message, const QString& words) {
    static const QRegularExpression between(QStringLiteral("[^\\w]+"), QRegularExpression::UseUnicodePropertiesOption);
    QStringList wanted = withoutAccents(words).split(between, Qt::SkipEmptyParts);
    if (wanted.isEmpty() && !words.trimmed().isEmpty()) {  // signs alone are looked for as they are
        wanted << words.trimmed();
    }
    const QString text = withoutAccents(message.text);
    Found all;
    for (const QString& word : std::as_const(wanted)) {
        Found found;
        if (message.kind == Message::Kind::Answer && word.size() <= kLongestPattern) {
            findShown(text, patternFor(word), kMostHits, found);
        } else {
            findWritten(text, QStringMatcher(word, Qt::CaseInsensitive), kMostHits, found);
        }
        all += found;
    }
    std::sort(all.begin(), all.end());
    return all;
}

ConversationFind::ConversationFind(ConversationModel& model, QObject* parent) : QObject(parent), m_model(model) {
    callAfter(m_again, kAgainMs, this, &ConversationFind::search);
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
        const QStringMatcher written(m_text, Qt::CaseInsensitive);
        const QRegularExpression shown = m_text.size() > kLongestPattern ? QRegularExpression() : patternFor(m_text);
        const bool reads = !shown.pattern().isEmpty() && shown.isValid();
        Found found;
        for (const Message& message : m_model.messages()) {
            if (message.kind == Message::Kind::Problem) {
                continue;
            }
            found.clear();
            const qsizetype most = kMostHits - hits.size();
            if (reads && message.kind == Message::Kind::Answer) {
                findShown(message.text, shown, most, found);
            } else {
                findWritten(message.text, written, most, found);
            }
            for (const QPair<int, int>& range : std::as_const(found)) {
                hits.append({message.id, range});
            }
        }
    }
    const bool sameHits = hits == m_hits;
    m_hits = std::move(hits);
    const bool first = m_current < 0;
    if (first) {
        // The latest: the user nearly always searches near the last message read.
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
