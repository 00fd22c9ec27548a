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
// as bars and numbers. While it is pinned, an alternative can be clicked, or chosen with
// the arrows and Enter: the window never has the focus, and whoever pins it brings keys.
class TokenChoicesTip : public QFrame {
    Q_OBJECT

  public:
    explicit TokenChoicesTip(QWidget* parent);

    // Below `beside` (global), or above if there is no room.
    void showFor(const ChosenToken& token, const QRect& beside);
    void setPinned(bool pinned);
    bool isPinned() const { return m_isPinned; }
    void step(int by);         // to the next alternative that can be chosen, or the one before
    bool choose();             // the one that is marked; false: none is
    QStringList rows() const;  // "␣the 93.1 %", the chosen one first
    QRect rowRect(int row) const;
    QSize sizeHint() const override;

  Q_SIGNALS:
    void rivalChosen(offstage::engine::TokenId rival);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

  private:
    struct Row {
        engine::TokenId token = {};
        QString text;
        QString number;
        double share = 0;
        bool chosen = false;
        bool isOffered = false;  // nothing comes after the end of a turn
    };
    int rowAt(QPoint at) const;  // -1: none that is offered
    void mark(int row);
    QStringList notes() const;  // below the rows

    QList<Row> m_rows;
    int m_marked = -1;
    bool m_isPinned = false;
    bool m_isDrafted = false;
};

// Shows TokenChoices in the conversation: at the token under the pointer or picked by
// keyboard, in the context menu, and as lines under the text at tokens that the model
// found improbable. A click on the token, or Enter, pins its window until a click
// elsewhere, Escape, or scrolling.
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

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;  // the application's, while it is pinned

  private:
    void pin(MessageId message, int source, const QRect& place);
    void unpin();
    bool takeKey(QKeyEvent& event);
    void hover(MessageId message, int source, const QRect& place);
    void addToMenu(MessageId message, int source, QMenu* menu);
    void refreshSurprise();
    int indexAt(MessageId message, int source) const;

    TokenChoices& m_choices;
    ConversationView& m_view;
    TokenChoicesTip* m_tip;
    MessageId m_pinnedIn = 0;
    int m_pinnedIndex = -1;
    QTimer m_refresh;
    QSet<MessageId> m_changed;
    QSet<MessageId> m_marked;
    bool m_showsProbabilities = false;
    bool m_showsSurprise = false;
};

}  // namespace offstage::ui
