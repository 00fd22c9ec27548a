#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include <QHash>
#include <QObject>

#include "ui/base/message.h"
#include "ui/engine/engine_values.h"

namespace offstage::ui {

// A token of an answer, and the more probable alternatives.
struct ChosenToken {
    // In Message::text. Tokens that share a character share its range; empty for tokens
    // outside the text (a thought, its markers) and until a character is complete.
    int begin = 0;
    int end = 0;
    bool isThinking = false;  // in the thought before the answer
    engine::TokenChoice choice = {};
    bool isDrafted = false;  // in the step of the token before it

    engine::TokenId id() const { return choice.chosen.token; }
    double probability() const;
    // The best other tokens, at most kRivals.
    std::vector<engine::TokenProbability> rivals() const;
};

// The tokens of answers with their probabilities, from the reply's first token on. They
// are kept only in memory until the program ends, the latest answers within a bound. GUI
// thread only.
class TokenChoices : public QObject {
    Q_OBJECT

  public:
    static constexpr std::size_t kLimitTokens = 100'000;
    static constexpr int kRivals = 5;
    static constexpr int kAlternatives = kRivals + 1;  // to request: the chosen token is often among them

    explicit TokenChoices(std::size_t limitTokens = kLimitTokens, QObject* parent = nullptr);

    // A piece of an answer, which begins at textOffset in the message's text. Pieces of a
    // message come in order. An answer with a missing token is not stored: it could not
    // be continued.
    void add(MessageId message, int textOffset, const StreamedText& piece);
    // The beginning of an answer with one of this token's alternatives in its place: the
    // tokens before it and the alternative, and the alternative's text (empty if it is no
    // whole character). Nothing: they are not stored, or it is no alternative.
    struct Beginning {
        std::vector<engine::TokenId> ids;
        QString rivalText;
    };
    std::optional<Beginning> beginningWith(MessageId message, int index, engine::TokenId rival) const;
    // `branch` is a new answer that begins so.
    void addBranch(MessageId branch, MessageId message, int index, engine::TokenId rival);

    int count(MessageId message) const;
    const ChosenToken* token(MessageId message, int index) const;  // null: none
    // The token that wrote this character of the message's text; -1: not known.
    int indexAt(MessageId message, int offset) const;
    std::size_t size() const { return m_size; }

  Q_SIGNALS:
    void changed(quint64 message);

  private:
    void trim(MessageId newest);
    void append(std::vector<ChosenToken>& tokens, ChosenToken token);

    std::size_t m_limit;
    std::size_t m_size = 0;
    QHash<MessageId, std::vector<ChosenToken>> m_tokens;
    QHash<MessageId, bool> m_incomplete;  // written without choices, or too long
    std::deque<MessageId> m_order;        // oldest first
};

// Its visible text: white space and incomplete characters get signs. "the", "⏎", "0xE4".
QString visibleText(const engine::TokenProbability& token);
QString probabilityText(double probability);  // "12.3 %", "< 0.1 %"

}  // namespace offstage::ui
