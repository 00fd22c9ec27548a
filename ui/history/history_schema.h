#pragma once
// The tables of the history's database, and the conversion of an older file to this
// version.

#include <functional>
#include <span>

#include <QCoreApplication>
#include <QSqlDatabase>
#include <QSqlQuery>
#include <QStringList>

namespace offstage::ui {

// The history's sentences, for lupdate.
struct HistoryText {
    Q_DECLARE_TR_FUNCTIONS(History)
};

// PRAGMA application_id: "OFFS".
inline constexpr int kHistoryApplicationId = 0x4F464653;

// Brings a database from version `to` - 1 to version `to` (PRAGMA user_version).
struct Migration {
    int to = 0;
    QStringList statements;
};

// All migrations of this version, ascending from 1. A new file goes through all of them.
//
//   conversations  one row each; `sampler` is JSON (history_json.h); `folder` is a name,
//   empty for none; `deleted_by` is the session that deleted it and
//                  could still undo that, NULL if it is not deleted; a message that
//                  another session adds makes it
//                  NULL again
//   folders        their names: a folder may be empty
//   messages       one row each, of all branches: `parent` is 0 for a first message;
//   `session` is the running program
//                  that is still writing this one, NULL when it is done
//   journal        pieces of a text that is being streamed, in the order of `piece`; they
//   follow messages.text
//   sessions       programs that have this file open: one that no longer runs did not
//   close it
//   message_text   full-text index (FTS5, external content) of messages.text, kept by
//   triggers; thought_text and file_text: the same of thoughts and of prompts' files
std::span<const Migration> historyMigrations();

// PRAGMA user_version; reads only. Throws HistoryError: Foreign, Newer (than the last
// step), Damaged, Unavailable.
int readVersion(QSqlDatabase& database, std::span<const Migration> steps);
// All steps are one transaction. Throws HistoryError: as readVersion(), and if a step
// fails.
void migrate(QSqlDatabase& database, std::span<const Migration> steps);

// Runs `work` as one transaction; if that throws, nothing of it has happened. Throws
// HistoryError too.
void inTransaction(QSqlDatabase& database, const std::function<void()>& work);
// Runs one statement; throws HistoryError.
void execute(QSqlDatabase& database, const QString& statement);
// Throws HistoryError with the kind and the sentence for SQLite's code. Never returns.
[[noreturn]] void throwHistoryError(const QSqlError& error, const QString& file);

}  // namespace offstage::ui
