#include "ui/chat/token_choices.h"

#include <algorithm>
#include <cmath>

#include <QCoreApplication>
#include <QLocale>
#include <QStringDecoder>

namespace offstage::ui {

namespace {

struct ChoicesText {
    Q_DECLARE_TR_FUNCTIONS(TokenChoices)
};

// Nothing where the bytes are no whole characters.
std::optional<QString> wholeText(const std::string& bytes) {
    QStringDecoder decoder(QStringDecoder::Utf8, QStringDecoder::Flag::Stateless);
    const QString text = decoder(QByteArrayView(bytes.data(), static_cast<qsizetype>(bytes.size())));
    return decoder.hasError() ? std::nullopt : std::optional(text);
}

const engine::TokenProbability* rivalOf(const ChosenToken& token, engine::TokenId rival) {
    const auto& all = token.choice.alternatives;
    const auto found = std::find_if(all.begin(), all.end(), [rival](const auto& one) { return one.token == rival; });
    return found == all.end() || rival == token.id() ? nullptr : &*found;
}

}  // namespace

double ChosenToken::probability() const {
    return std::exp(choice.chosen.log_probability);
}

std::vector<engine::TokenProbability> ChosenToken::rivals() const {
    std::vector<engine::TokenProbability> out;
    for (const engine::TokenProbability& one : choice.alternatives) {
        if (one.token != id() && out.size() < TokenChoices::kRivals) {
            out.push_back(one);
        }
    }
    return out;
}

TokenChoices::TokenChoices(std::size_t limitTokens, QObject* parent) : QObject(parent), m_limit(limitTokens) {}

void TokenChoices::append(std::vector<ChosenToken>& tokens, ChosenToken token) {
    // The tokens with the first bytes of this one's character.
    for (auto before = tokens.rbegin(); token.begin < token.end && before != tokens.rend(); ++before) {
        if (before->begin != before->end || before->begin != token.begin || before->isThinking) {
            break;
        }
        before->end = token.end;
    }
    tokens.push_back(std::move(token));
    ++m_size;
}

void TokenChoices::add(MessageId message, int textOffset, const StreamedText& piece) {
    if (message == 0 || m_incomplete.value(message)) {
        return;
    }
    if (piece.textWasThought && m_tokens.contains(message)) {
        for (ChosenToken& token : m_tokens[message]) {
            if (token.end > textOffset) {
                token.begin = token.end = textOffset;
                token.isThinking = true;
            }
        }
    }
    const bool isNew = !m_tokens.contains(message);
    if (piece.choices.empty()) {
        // An answer that has text before its first stored token cannot be continued from
        // a token.
        if (!piece.marks.isEmpty() || (!piece.thought.isEmpty() && !piece.textWasThought)) {
            m_incomplete[message] = true;
        }
    } else if (isNew && textOffset > 0) {
        m_incomplete[message] = true;  // gone on with: its beginning was not kept
    }
    if (m_incomplete.value(message)) {
        if (const auto kept = m_tokens.take(message); !kept.empty()) {
            m_size -= kept.size();
            std::erase(m_order, message);
            Q_EMIT changed(message);
        }
        return;
    }
    if (piece.choices.empty()) {
        return;
    }
    if (isNew) {
        m_order.push_back(message);
    }
    std::vector<ChosenToken>& tokens = m_tokens[message];
    int begin = textOffset;
    for (const StreamedChoice& one : piece.choices) {
        const int end = one.isThinking ? begin : textOffset + one.end;
        append(tokens, {begin, end, one.isThinking, one.choice, one.isDrafted});
        begin = end;
    }
    trim(message);
    Q_EMIT changed(message);
}

std::optional<TokenChoices::Beginning> TokenChoices::beginningWith(MessageId message, int index,
                                                                   engine::TokenId rival) const {
    const ChosenToken* instead = token(message, index);
    const engine::TokenProbability* chosen = instead ? rivalOf(*instead, rival) : nullptr;
    if (!chosen) {
        return std::nullopt;
    }
    Beginning out;
    const auto& tokens = *m_tokens.constFind(message);
    for (auto one = tokens.begin(); one != tokens.begin() + index; ++one) {
        out.ids.push_back(one->id());
    }
    out.ids.push_back(rival);
    if (!chosen->is_control) {
        out.rivalText = wholeText(chosen->bytes).value_or(QString());
    }
    if (instead->begin == 0 && out.rivalText.startsWith(u' ')) {
        out.rivalText.remove(0, 1);  // not part of the text
    }
    return out;
}

void TokenChoices::addBranch(MessageId branch, MessageId message, int index, engine::TokenId rival) {
    const auto beginning = beginningWith(message, index, rival);
    if (!beginning || branch == 0 || m_tokens.contains(branch)) {
        return;
    }
    const std::vector<ChosenToken>& from = *m_tokens.constFind(message);
    ChosenToken last = from[static_cast<std::size_t>(index)];
    last.isDrafted = false;
    const engine::TokenProbability before = last.choice.chosen;
    last.choice.chosen = *rivalOf(last, rival);
    // The token that was there is an alternative now.
    auto& others = last.choice.alternatives;
    if (std::none_of(others.begin(), others.end(), [&](const auto& one) { return one.token == before.token; })) {
        others.insert(others.begin(), before);
    }
    last.end = last.begin + static_cast<int>(beginning->rivalText.size());
    std::vector<ChosenToken> tokens(from.begin(), from.begin() + index);
    tokens.push_back(std::move(last));
    m_size += tokens.size();
    m_tokens.insert(branch, std::move(tokens));
    m_order.push_back(branch);
    trim(branch);
    Q_EMIT changed(branch);
}

void TokenChoices::trim(MessageId newest) {
    while (m_size > m_limit && !m_order.empty()) {
        const MessageId oldest = m_order.front();
        m_order.pop_front();
        m_size -= m_tokens.take(oldest).size();
        if (oldest == newest) {
            m_incomplete[oldest] = true;
        }
        Q_EMIT changed(oldest);
    }
}

int TokenChoices::count(MessageId message) const {
    const auto found = m_tokens.constFind(message);
    return found == m_tokens.cend() ? 0 : static_cast<int>(found->size());
}

const ChosenToken* TokenChoices::token(MessageId message, int index) const {
    if (index < 0 || index >= count(message)) {
        return nullptr;
    }
    return &m_tokens.constFind(message)->at(static_cast<std::size_t>(index));
}

int TokenChoices::indexAt(MessageId message, int offset) const {
    const auto found = m_tokens.constFind(message);
    if (found == m_tokens.cend()) {
        return -1;
    }
    const auto after = std::partition_point(found->begin(), found->end(),
                                            [offset](const ChosenToken& token) { return token.end <= offset; });
    return after == found->end() || offset < after->begin ? -1 : static_cast<int>(after - found->begin());
}

QString visibleText(const engine::TokenProbability& token) {
    if (token.is_control) {
        return QString::fromStdString(token.bytes);
    }
    if (token.bytes.empty()) {
        return ChoicesText::tr("(nothing)");
    }
    const std::optional<QString> whole = wholeText(token.bytes);
    if (!whole) {
        QString bytes;
        for (const char c : token.bytes) {
            bytes += bytes.isEmpty() ? QString() : QStringLiteral(" ");
            bytes += QStringLiteral("0x%1").arg(static_cast<unsigned char>(c), 2, 16, QLatin1Char('0'));
        }
        return bytes;
    }
    QString text;
    for (const QChar c : *whole) {
        text += c == u'\n'   ? QStringLiteral("⏎")
                : c == u'\t' ? QStringLiteral("⇥")
                : c == u' '  ? QStringLiteral("␣")
                             : QString(c);
    }
    return text;
}

QString probabilityText(double probability) {
    const double percent = 100 * probability;
    if (percent < 0.1) {
        return ChoicesText::tr("< %1 %").arg(QLocale().toString(0.1, 'f', 1));
    }
    return ChoicesText::tr("%1 %").arg(QLocale().toString(percent, 'f', percent < 99.95 ? 1 : 0));
}

}  // namespace offstage::ui
