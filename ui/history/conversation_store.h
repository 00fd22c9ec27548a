#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <QHash>
#include <QSqlDatabase>
#include <QSqlQuery>
#include <QVariant>

#include "ui/history/history_values.h"

namespace offstage::ui {

// The history's database file: SQLite with a write-ahead log, so that one program can
// write while others read, and synchronous=FULL, so that committed data survives a power
// cut. Every object has a separate connection and belongs to the thread that made it;
// several objects, also of several programs, may have one file open. Functions throw
// HistoryError.
class ConversationStore {
  public:
    // The default wait of a function for another program's transaction before it throws.
    static constexpr std::chrono::milliseconds kBusyTimeout{5000};

    // Creates or migrates the file.
    explicit ConversationStore(const QString& file, std::chrono::milliseconds busyTimeout = kBusyTimeout);
    ~ConversationStore();
    ConversationStore(const ConversationStore&) = delete;
    ConversationStore& operator=(const ConversationStore&) = delete;

    // ---- reading
    QList<ConversationInfo> conversations();  // not deleted ones, newest first; no messages
    QStringList folders();
    StoredConversation load(ConversationId id);
    // Newest first. Every word must occur as the beginning of a word, in any case and
    // with any accents; words in quotes must be adjacent. No query is an error; words
    // without a letter or digit are searched literally.
    QList<SearchHit> search(const QString& query, int limit = 200);
    MessageId largestId();  // of messages and conversations
    // PRAGMA quick_check: reads the whole file. Empty: no fault found.
    QString faults();

    // ---- writing
    // All of them or, when it throws, none. `session` is noted beside answers that are
    // not complete. Throws also if the file no longer exists: data written to it would be
    // lost.
    void commit(const QList<Change>& changes, quint64 session);

    // ---- sessions: the programs that have the file open
    // Answers that a program left incomplete at its end become Stopped, with their
    // journaled text and one of the notes of message.h. Returns their number.
    int settle(quint64 deadSession);
    // Removes conversations whose deletion can no longer be undone, and empty ones. Does
    // nothing while a program is on the list of sessions: it may have such a conversation
    // open, and continue it.
    void removeDeleted();
    QList<quint64> sessions();
    void addSession(quint64 session);

    const QString& file() const { return m_file; }
    void setBusyTimeout(std::chrono::milliseconds timeout);

  private:
    void apply(const Change& change, quint64 session);
    QSqlQuery& prepared(const char* statement, const QVariantList& values);
    void run(const char* statement, const QVariantList& values);
    template <typename Take>
    void forEach(const char* statement, const QVariantList& values, Take take);
    void checkIsThere() const;

    QString m_file;
    std::pair<quint64, quint64> m_identity;  // of the opened file: its device and its number there
    QString m_connection;
    QSqlDatabase m_database;
    QHash<const char*, std::shared_ptr<QSqlQuery>> m_prepared;  // by the literal's address
};

// The columns read from a row of `conversations`, and of `messages`, in this order. An
// unknown kind becomes an answer, an unknown state Stopped.
inline constexpr char kConversationColumns[] =
    "id, title, title_by_person, pinned, archived, created_ms, changed_ms, model, system_prompt, sampler, active_leaf, "
    "draft, folder";
ConversationInfo conversationOf(const QSqlQuery& row);
inline constexpr char kMessageColumns[] = "id, parent, kind, state, text, author, note, figures, created_ms";
Message messageOf(const QSqlQuery& row);

// Throws HistoryError if the path is neither a regular file nor missing: reading a pipe
// could block forever. A link counts as its target.
void refuseSpecialFile(const QString& path);

// The user's text as an FTS5 query; empty when it has no word.
QString fullTextQuery(const QString& typed);

}  // namespace offstage::ui
