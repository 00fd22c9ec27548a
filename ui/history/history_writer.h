#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <QThread>

#include "ui/history/commit_schedule.h"
#include "ui/history/history_values.h"

namespace offstage::ui {

// Brings changes to the database in the order they were given, on a thread of its own: the window never waits for a
// disk. A message is committed as soon as it comes; streamed text, drafts and titles wait for company
// (CommitSchedule).
// Changes that the disk does not take now are kept and tried again every second; one that breaks a rule is left out.
class HistoryWriter : public QThread {
    Q_OBJECT

  public:
    HistoryWriter(const QString& file, quint64 session, QObject* parent = nullptr);
    ~HistoryWriter() override;  // close()

    // How long a try waits for another program's transaction, before that is trouble: a second, unless told otherwise.
    // For tries to come.
    void setBusyTimeout(std::chrono::milliseconds timeout);
    // Any thread; returns at once.
    void write(Change change);
    // Waits until all that was given so far is committed. False: it is not, after this time.
    bool flush(std::chrono::milliseconds timeout);
    // The same, but does not wait for a second try where the first that begins now meets trouble.
    bool tryNow(std::chrono::milliseconds timeout);
    // Why the last try committed nothing; empty: it did.
    QString trouble() const;
    // Tries once more to commit what is left, and ends the thread. False: something could not be written. Idempotent.
    bool close();

  Q_SIGNALS:
    // On the writer's thread: the first so many changes are on the disk, but for those that break a rule.
    void committed(quint64 changes);
    // Once for each spell of trouble, after trouble() says it; nothing is lost yet.
    void troubled(const QString& sentence);
    void recovered();
    // A change that breaks a rule was left out; once for each spell of commits that have such.
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
    CommitSchedule m_schedule;  // of m_waiting
    std::chrono::milliseconds m_busyTimeout{1000};
    quint64 m_tries = 0;     // begun
    quint64 m_lastVain = 0;  // the last of them that met trouble
    QString m_trouble;
    bool m_hurried = false;  // no pause before the next try
    bool m_busy = false;
    bool m_closing = false;
    bool m_lost = false;
};

}  // namespace offstage::ui
