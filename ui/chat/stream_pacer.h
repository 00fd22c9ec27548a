#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QTimer>

#include "ui/base/message.h"

class QWidget;

namespace offstage::ui {

class MessageWidget;

// Streamed text that is not shown yet. It is shown in turns, at most 30 times a second,
// a slice of each message in a turn: text that arrives faster than it can be shown does
// not block the event loop. GUI thread only.
class StreamPacer : public QObject {
    Q_OBJECT

  public:
    explicit StreamPacer(QWidget& viewport);

    // due() follows.
    void append(MessageId id, const QString& text);
    QString textOf(MessageId id) const { return m_unshown.value(id); }
    bool isMoreThanASlice(MessageId id) const { return textOf(id).size() > m_slice; }
    void drop(MessageId id) { m_unshown.remove(id); }
    void clear() { m_unshown.clear(); }
    QList<MessageId> waiting() const { return m_unshown.keys(); }

    // A turn: show() for each message that waits, then end() after their layout.
    void begin();
    // Shows one slice. True: nothing of it waits any more.
    bool show(MessageId id, MessageWidget& widget);
    void end();

    int turns() const { return m_turns; }
    // The most characters that one turn has rendered, including those rendered again.
    qint64 mostRenderedAtOnce() const { return m_mostRendered; }

  Q_SIGNALS:
    void due();

  private:
    void start();

    QWidget& m_viewport;
    QTimer m_timer;
    QTimer m_painting;  // runs while rendered text waits to be painted
    QElapsedTimer m_since;
    qint64 m_costMs = 0;
    qsizetype m_slice;  // characters that the next turn shows of each message
    QHash<MessageId, QString> m_unshown;
    qint64 m_rendered = 0;  // in this turn
    qint64 m_mostRendered = 0;
    int m_turns = 0;
};

}  // namespace offstage::ui
