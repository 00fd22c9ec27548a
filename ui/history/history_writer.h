#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <QThread>

#include "ui/history/commit_schedule.h"
#include "ui/history/history_values.h"

namespace offstage::ui {

// Writes changes to the database in their order, on a separate thread: the window never
// waits for a disk. A message is committed at once; streamed text, drafts and titles are
// gathered (CommitSchedule). Changes that the disk cannot take now are kept and tried
// again every second; one that breaks a rule is left out.
class HistoryWriter : public QThread {
    Q_OBJECT

  public:
    HistoryWriter(const QString& file, quint64 session, QObject* parent = nullptr);
    ~HistoryWriter() override;  // close()

    // The time that a try waits for another program's transaction before it counts as
    // trouble: a second by default. For later tries.
    void setBusyTimeout(std::chrono::milliseconds timeout);
    // Any thread; returns at once.
    void write(Change change);
    // Waits until all changes so far are committed. False: they are not, after this time.
    bool flush(std::chrono::milliseconds timeout);
    // The same, but returns without a second try if the first one fails.
    bool tryNow(std::chrono::milliseconds timeout);
    // The reason why the last try committed nothing; empty: it succeeded.
    QString trouble() const;
    // Tries once more to commit the rest, and ends the thread. False: something could not
    // be written. Idempotent.
    bool close();

  Q_SIGNALS:
    // On the writer's thread: the first so many changes are on the disk, except those
    // that break a rule.
    void committed(quint64 changes);
    // Once for each spell of trouble, when trouble() has its reason; nothing is lost yet.
    void troubled(const QString& sentence);
    void recovered();
    // A change that breaks a rule was left out; emitted once for each series of commits
    // with such changes.
    void refused(const QString& sentence);

  protected:
    void run() override;

  private:
    void gather(Change change);
    bool waitUntilWritten(std::chrono::milliseconds timeout, bool oneTry);
    bool isWritten() const { return m_waiting.isEmpty() && !m_busy && !m_lost; }
    bool waitForWork(std::unique_lock<std::mutex>& lock);

    const QString m_file;
    const quint64 m_session;
    mutable std::mutex m_mutex;
    std::condition_variable m_work;
    std::condition_variable m_written;
    QList<Change> m_waiting;
    quint64 m_given = 0;
    CommitSchedule m_schedule;  // for m_waiting
    std::chrono::milliseconds m_busyTimeout{1000};
    quint64 m_tries = 0;     // begun
    quint64 m_lastVain = 0;  // the last of them that failed
    QString m_trouble;
    bool m_hurried = false;  // no pause before the next try
    bool m_busy = false;
    bool m_closing = false;
    bool m_lost = false;
};

}  // namespace offstage::ui
