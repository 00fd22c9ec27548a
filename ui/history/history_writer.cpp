#include "ui/history/history_writer.h"

#include <memory>
#include <utility>

#include "ui/history/conversation_store.h"
#include "ui/history/history_error.h"

namespace offstage::ui {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kRetryTime{1000};

// One by one, so that a change that breaks a rule does not affect others. When this
// throws, `changes` contains the rest.
QString commitOneByOne(ConversationStore& store, QList<Change>& changes, quint64 session) {
    QString complaint;
    while (!changes.isEmpty()) {
        try {
            store.commit({changes.first()}, session);
        } catch (const HistoryError& error) {
            if (error.kind() != HistoryError::Kind::Refused) {
                throw;
            }
            complaint = error.sentence();
        }
        changes.removeFirst();
    }
    return complaint;
}

}  // namespace

HistoryWriter::HistoryWriter(const QString& file, quint64 session, QObject* parent)
    : QThread(parent), m_file(file), m_session(session) {
    setObjectName(QStringLiteral("history"));
    start();
}

HistoryWriter::~HistoryWriter() {
    close();
}

void HistoryWriter::setBusyTimeout(std::chrono::milliseconds timeout) {
    const std::lock_guard lock(m_mutex);
    m_busyTimeout = timeout;
}

void HistoryWriter::write(Change change) {
    {
        const std::lock_guard lock(m_mutex);
        ++m_given;
        const bool patient = std::holds_alternative<change::AppendText>(change) ||
                             std::holds_alternative<change::PutConversation>(change);
        m_schedule.add(Clock::now(), !patient);
        gather(std::move(change));
    }
    m_work.notify_one();
}

// With m_mutex held. A change that adds to, or replaces, a waiting one is merged with it.
void HistoryWriter::gather(Change change) {
    if (auto* more = std::get_if<change::AppendText>(&change); more && !m_waiting.isEmpty()) {
        auto* last = std::get_if<change::AppendText>(&m_waiting.last());
        if (last && last->message == more->message) {
            last->text += more->text;
            return;
        }
    }
    if (auto* newer = std::get_if<change::PutConversation>(&change)) {
        for (Change& waiting : m_waiting) {
            auto* older = std::get_if<change::PutConversation>(&waiting);
            if (older && older->info.id == newer->info.id) {
                older->info = newer->info;
                return;
            }
        }
    }
    m_waiting.append(std::move(change));
}

bool HistoryWriter::flush(std::chrono::milliseconds timeout) {
    return waitUntilWritten(timeout, false);
}

bool HistoryWriter::tryNow(std::chrono::milliseconds timeout) {
    return waitUntilWritten(timeout, true);
}

bool HistoryWriter::waitUntilWritten(std::chrono::milliseconds timeout, bool oneTry) {
    std::unique_lock lock(m_mutex);
    if (!m_waiting.isEmpty()) {
        m_schedule.hurry();
    }
    m_hurried = m_hurried || !isWritten();
    const quint64 before = m_tries;
    m_work.notify_one();
    m_written.wait_for(lock, timeout,
                       [this, oneTry, before] { return isWritten() || m_lost || (oneTry && m_lastVain > before); });
    return isWritten();
}

QString HistoryWriter::trouble() const {
    const std::lock_guard lock(m_mutex);
    return m_trouble;
}

bool HistoryWriter::close() {
    {
        const std::lock_guard lock(m_mutex);
        m_closing = true;
    }
    m_work.notify_one();
    wait();
    return !m_lost;
}

// False: there is nothing left to do, and there will not be.
bool HistoryWriter::waitForWork(std::unique_lock<std::mutex>& lock) {
    m_work.wait(lock, [this] { return m_closing || !m_waiting.isEmpty(); });
    while (!m_closing && Clock::now() < m_schedule.due()) {
        m_work.wait_until(lock, m_schedule.due());
    }
    return !m_waiting.isEmpty();
}

void HistoryWriter::run() {
    std::unique_ptr<ConversationStore> store;
    bool inTrouble = false;
    bool inRefusal = false;
    std::unique_lock lock(m_mutex);
    while (waitForWork(lock)) {
        QList<Change> changes = std::exchange(m_waiting, {});
        const quint64 given = m_given;
        const quint64 thisTry = ++m_tries;
        const std::chrono::milliseconds busyTimeout = m_busyTimeout;
        m_schedule.clear();
        m_hurried = false;
        m_busy = true;
        lock.unlock();
        QString trouble;
        QString refusal;
        try {
            if (!store) {
                store = std::make_unique<ConversationStore>(m_file, busyTimeout);
            }
            store->setBusyTimeout(busyTimeout);
            try {
                store->commit(changes, m_session);
            } catch (const HistoryError& error) {
                if (error.kind() != HistoryError::Kind::Refused) {
                    throw;
                }
                refusal = commitOneByOne(*store, changes, m_session);
            }
        } catch (const HistoryError& error) {
            trouble = error.sentence();
            // Opens the file again, in case it was replaced or returned.
            store.reset();
        }
        lock.lock();
        m_trouble = trouble;
        lock.unlock();
        const bool keep = !trouble.isEmpty();
        if (keep != inTrouble) {
            inTrouble = keep;
            keep ? Q_EMIT troubled(trouble) : Q_EMIT recovered();
        }
        if (!refusal.isEmpty() && !inRefusal) {
            Q_EMIT refused(refusal);
        }
        if (!keep) {
            inRefusal = !refusal.isEmpty();
            Q_EMIT committed(given);
        }
        lock.lock();
        m_busy = false;
        if (keep) {
            m_lastVain = thisTry;
            m_written.notify_all();
            m_waiting = changes + m_waiting;
            if (m_closing) {
                m_lost = true;
                m_waiting.clear();
                break;
            }
            m_work.wait_for(lock, kRetryTime, [this] { return m_closing || m_hurried; });
            m_schedule.hurry();
        } else if (m_waiting.isEmpty()) {
            m_written.notify_all();
        }
    }
    m_written.notify_all();
}

}  // namespace offstage::ui
