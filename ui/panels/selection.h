#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <QObject>
#include <QTimer>

#include "ui/panels/token_log.h"

namespace offstage::ui {

// The selected token and expert, shared by all panels and the chat: a selection in one
// place shows everywhere. GUI thread only.
class Selection : public QObject {
    Q_OBJECT

  public:
    explicit Selection(TokenLog& log, QObject* parent = nullptr);

    TokenLog& log() const { return m_log; }
    const std::optional<LoggedToken>& token() const { return m_token; }
    const std::optional<ExpertId>& expert() const { return m_expert; }
    // Experts that the token called, in each layer; none if no token is selected or they
    // are not known.
    const std::vector<ExpertId>& expertsOfToken() const { return m_expertsOfToken; }
    // The places of the tokens that called the selected expert.
    const QHash<MessageId, QList<TextRange>>& textOfExpert() const { return m_textOfExpert; }

    // Where the words of messages are kept; not asked before it is set.
    void setTextSource(std::function<QString(MessageId, TextRange)> textOf) { m_textOf = std::move(textOf); }
    // The token that the step wrote; empty where its message is not at hand.
    QString textOfStep(StepId step) const;

    // False, and nothing changes, where no such token is kept.
    bool selectToken(MessageId message, int index);
    bool selectTokenAt(MessageId message, int offset);
    // The next (1) or previous (-1) token of the same answer; without a selected token,
    // the newest token.
    bool stepToken(int by);
    bool canStepToken(int by) const;
    void clearToken();
    void selectExpert(ExpertId expert);
    void clearExpert();

  Q_SIGNALS:
    void tokenChanged();
    void expertChanged();
    // For a message, or for one that had some before: the chat underlines these; none: it
    // underlines nothing.
    void underlined(quint64 message, const QList<offstage::ui::TextRange>& ranges);
    // The selected token's place in the chat; an empty range: none there any more.
    void tokenMarked(quint64 message, const offstage::ui::TextRange& range);

  private:
    void setToken(const std::optional<LoggedToken>& token);
    void refreshExperts();
    void refreshText();

    TokenLog& m_log;
    std::function<QString(MessageId, TextRange)> m_textOf;
    std::optional<LoggedToken> m_token;
    std::optional<ExpertId> m_expert;
    std::vector<ExpertId> m_expertsOfToken;
    QHash<MessageId, QList<TextRange>> m_textOfExpert;
    QTimer m_refresh;
};

}  // namespace offstage::ui
