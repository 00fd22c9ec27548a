#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QScrollArea>
#include <QSet>
#include <QTimer>

#include "ui/chat/conversation_model.h"

class QToolButton;

namespace offstage::ui {

class MessageWidget;

// Shows a ConversationModel: a column of messages of comfortable width. Stays at the end while text streams, unless the
// person has scrolled up. Streamed text is shown at most 30 times a second.
class ConversationView : public QScrollArea {
    Q_OBJECT

  public:
    static constexpr int kWidestColumn = 760;  // pixels at the ordinary font
    static constexpr int kPaintIntervalMs = 33;
    static constexpr int kScrollBarWidth = 12;

    explicit ConversationView(ConversationModel& model, QWidget* parent = nullptr);

    bool followsEnd() const { return m_follow; }
    MessageWidget* messageWidget(MessageId id) const;
    int flushCount() const { return m_flushCount; }

  public Q_SLOTS:
    void scrollToEnd();

  Q_SIGNALS:
    void actionChosen(offstage::ui::ProblemAction action);

  protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void insertRows(int first, int last);
    void removeRows(int first, int last);
    void rowsChanged(int first, int last, const QList<int>& roles);
    void textAppended(int row, const QString& text);
    void startFlushTimer();
    void flush();
    void arrange();
    void arrangeLater();
    void rebuild();
    void placeEndButton();
    void restyle();

    ConversationModel& m_model;
    QWidget* m_column;
    QList<QWidget*> m_rows;  // MessageWidget or ProblemCard, as the model's rows
    QToolButton* m_toEnd;
    QTimer m_flushTimer;
    QElapsedTimer m_sinceFlush;
    qint64 m_flushCostMs = 0;
    QHash<MessageId, QString> m_unshown;  // streamed, not yet rendered
    QSet<MessageId> m_changed;            // besides their text, when that is shown
    bool m_follow = true;
    bool m_arranging = false;
    bool m_arrangeQueued = false;
    int m_flushCount = 0;
};

}  // namespace offstage::ui
