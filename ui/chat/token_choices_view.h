#pragma once

#include <QFrame>
#include <QMenu>
#include <QObject>
#include <QSet>
#include <QTimer>

#include "ui/chat/token_choices.h"

namespace offstage::ui {

class ConversationView;

// The small window beside a token: the probabilities of the token and its alternatives,
// as bars and numbers.
class TokenChoicesTip : public QFrame {
    Q_OBJECT

  public:
    explicit TokenChoicesTip(QWidget* parent);

    // Below `beside` (global), or above if there is no room.
    void showFor(const ChosenToken& token, const QRect& beside);
    QStringList rows() const;  // "␣the 93.1 %", the chosen one first
    QSize sizeHint() const override;

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    struct Row {
        QString text;
        QString number;
        double share = 0;
        bool chosen = false;
    };
    QList<Row> m_rows;
};

// Shows TokenChoices in the conversation: at the token under the pointer or picked by
// keyboard, in the context menu, and as lines under the text at tokens that the model
// found improbable.
class TokenChoicesView : public QObject {
    Q_OBJECT

  public:
    TokenChoicesView(TokenChoices& choices, ConversationView& view);

    void setShowsProbabilities(bool shows);
    void setShowsSurprise(bool shows);
    TokenChoicesTip& tip() const { return *m_tip; }

    // 0: at least as probable as not; 1 .. 4: below 50, 20, 5 and 1 %.
    static int surpriseLevel(double probability);

  Q_SIGNALS:
    // The user has chosen another token at this place of the answer, which is to continue
    // from there.
    void rivalChosen(offstage::ui::MessageId answer, int index, offstage::engine::TokenId rival);

  private:
    void hover(MessageId message, int source, const QRect& place);
    void addToMenu(MessageId message, int source, QMenu* menu);
    void refreshSurprise();
    int indexAt(MessageId message, int source) const;

    TokenChoices& m_choices;
    ConversationView& m_view;
    TokenChoicesTip* m_tip;
    QTimer m_refresh;
    QSet<MessageId> m_changed;
    QSet<MessageId> m_marked;
    bool m_showsProbabilities = false;
    bool m_showsSurprise = false;
};

}  // namespace offstage::ui
