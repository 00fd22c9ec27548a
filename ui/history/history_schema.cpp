#include "ui/history/history_schema.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QSqlError>
#include <QVariant>

#include "ui/history/history_error.h"

namespace offstage::ui {

namespace {

int number(QSqlDatabase& database, const QString& statement) {
    QSqlQuery query(database);
    if (!query.exec(statement) || !query.next()) {
        throwHistoryError(query.lastError(), database.databaseName());
    }
    return query.value(0).toInt();
}

const QString kThoughtOf = QStringLiteral("CASE WHEN json_valid(%1) THEN json_extract(%1, '$.thought.text') END");

QString thoughtOf(const char* figures) {
    return kThoughtOf.arg(QLatin1String(figures));
}

// Names and texts of a prompt's files, below each other; NULL: there are none.
QString filesOf(const char* figures) {
    return QStringLiteral(
               "(SELECT group_concat(json_extract(value, '$.name') || char(10) || "
               "json_extract(value, '$.text'), char(10)) FROM json_each("
               "CASE WHEN json_valid(%1) THEN %1 ELSE '{}' END, '$.attachments') WHERE type = 'object')")
        .arg(QLatin1String(figures));
}

// An index over a text of messages.figures (history_json.h), which it reads through a
// view; the text is of any row, of the old one and of the new one.
QStringList indexOf(const char* name, const QString& text, const QString& ofOld, const QString& ofNew) {
    const QString noun = QLatin1String(name);
    return {
        QStringLiteral("CREATE VIEW message_%1s AS SELECT id, %2 AS text FROM messages WHERE %2 IS NOT NULL")
            .arg(noun, text),
        QStringLiteral("CREATE VIRTUAL TABLE %1_text USING fts5("
                       "text, content='message_%1s', content_rowid='id', "
                       "tokenize=\"unicode61 remove_diacritics 2\", prefix='2 3')")
            .arg(noun),
        QStringLiteral("CREATE TRIGGER %1_added AFTER INSERT ON messages WHEN %2 IS NOT NULL BEGIN "
                       "INSERT INTO %1_text(rowid, text) VALUES (new.id, %2); END")
            .arg(noun, ofNew),
        QStringLiteral("CREATE TRIGGER %1_removed AFTER DELETE ON messages WHEN %2 IS NOT NULL BEGIN "
                       "INSERT INTO %1_text(%1_text, rowid, text) VALUES ('delete', old.id, %2); END")
            .arg(noun, ofOld),
        QStringLiteral("CREATE TRIGGER %1_edited AFTER UPDATE OF figures ON messages "
                       "WHEN %2 IS NOT %3 BEGIN "
                       "INSERT INTO %1_text(%1_text, rowid, text) "
                       "SELECT 'delete', old.id, %2 WHERE %2 IS NOT NULL; "
                       "INSERT INTO %1_text(rowid, text) SELECT new.id, %3 WHERE %3 IS NOT NULL; END")
            .arg(noun, ofOld, ofNew),
        // FTS5's own 'rebuild' reads no view that has json_each().
        QStringLiteral("INSERT INTO %1_text(rowid, text) SELECT id, text FROM message_%1s").arg(noun),
    };
}

}  // namespace

std::span<const Migration> historyMigrations() {
    static const Migration steps[] = {
        {1,
         {
             QStringLiteral("CREATE TABLE conversations ("
                            "id INTEGER PRIMARY KEY, title TEXT NOT NULL DEFAULT '', "
                            "title_by_person INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0, "
                            "archived INTEGER NOT NULL DEFAULT 0, created_ms INTEGER NOT NULL, "
                            "changed_ms INTEGER NOT NULL, model TEXT NOT NULL DEFAULT '', "
                            "system_prompt TEXT NOT NULL DEFAULT '', sampler TEXT NOT NULL DEFAULT '{}', "
                            "active_leaf INTEGER NOT NULL DEFAULT 0, draft TEXT NOT NULL DEFAULT '', "
                            "deleted_by INTEGER)"),
             QStringLiteral("CREATE TABLE messages ("
                            "id INTEGER PRIMARY KEY, "
                            "conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE, "
                            "parent INTEGER NOT NULL DEFAULT 0, kind TEXT NOT NULL, state TEXT NOT NULL, "
                            "text TEXT NOT NULL DEFAULT '', author TEXT NOT NULL DEFAULT '', "
                            "note TEXT NOT NULL DEFAULT '', figures TEXT, created_ms INTEGER NOT NULL DEFAULT 0, "
                            "session INTEGER)"),
             QStringLiteral("CREATE INDEX messages_by_conversation ON messages(conversation, id)"),
             QStringLiteral("CREATE INDEX messages_by_session ON messages(session) WHERE session IS NOT NULL"),
             QStringLiteral("CREATE TABLE journal ("
                            "message INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE, "
                            "piece INTEGER NOT NULL, text TEXT NOT NULL, "
                            "PRIMARY KEY (message, piece)) WITHOUT ROWID"),
             QStringLiteral("CREATE TABLE sessions (id INTEGER PRIMARY KEY, started_ms INTEGER NOT NULL)"),
             QStringLiteral("CREATE VIRTUAL TABLE message_text USING fts5("
                            "text, content='messages', content_rowid='id', "
                            "tokenize=\"unicode61 remove_diacritics 2\", prefix='2 3')"),
             QStringLiteral("CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN "
                            "INSERT INTO message_text(rowid, text) VALUES (new.id, new.text); END"),
             QStringLiteral("CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN "
                            "INSERT INTO message_text(message_text, rowid, text) "
                            "VALUES ('delete', old.id, old.text); END"),
             QStringLiteral("CREATE TRIGGER message_edited AFTER UPDATE OF text ON messages "
                            "WHEN old.text IS NOT new.text BEGIN "
                            "INSERT INTO message_text(message_text, rowid, text) "
                            "VALUES ('delete', old.id, old.text); "
                            "INSERT INTO message_text(rowid, text) VALUES (new.id, new.text); END"),
         }},
        // The models' thinking is searched too.
        {2, indexOf("thought", thoughtOf("figures"), thoughtOf("old.figures"), thoughtOf("new.figures"))},
        {3, {QStringLiteral("ALTER TABLE conversations ADD COLUMN folder TEXT NOT NULL DEFAULT ''")}},
        {4, {QStringLiteral("CREATE TABLE folders (name TEXT PRIMARY KEY) WITHOUT ROWID")}},
        // So are the files of prompts.
        {5, indexOf("file", filesOf("figures"), filesOf("old.figures"), filesOf("new.figures"))},
    };
    return steps;
}

void throwHistoryError(const QSqlError& error, const QString& file) {
    using Kind = HistoryError::Kind;
    const QString name = QFileInfo(file).fileName();
    // Qt returns SQLite's extended code; the low byte is the primary one
    // (sqlite.org/rescode.html).
    bool known = false;
    const int code = error.nativeErrorCode().toInt(&known) & 0xFF;
    const QString said = error.databaseText();
    switch (known ? code : 0) {
        case 11:  // SQLITE_CORRUPT
        case 26:  // SQLITE_NOTADB
            throw HistoryError(Kind::Damaged, HistoryText::tr("The chat history %1 is damaged (%2).").arg(name, said));
        case 5:  // SQLITE_BUSY
        case 6:  // SQLITE_LOCKED
            throw HistoryError(
                Kind::Unavailable,
                HistoryText::tr("The chat history %1 is in use by another program (%2).").arg(name, said));
        case 13:  // SQLITE_FULL
            throw HistoryError(Kind::Unavailable,
                               HistoryText::tr("There is no space left for the chat history %1 (%2).").arg(name, said));
        case 7:  // SQLITE_NOMEM
            throw HistoryError(
                Kind::Unavailable,
                HistoryText::tr("There is not enough memory for the chat history %1 (%2).").arg(name, said));
        case 2:   // SQLITE_INTERNAL
        case 3:   // SQLITE_PERM
        case 4:   // SQLITE_ABORT
        case 8:   // SQLITE_READONLY
        case 9:   // SQLITE_INTERRUPT
        case 10:  // SQLITE_IOERR
        case 14:  // SQLITE_CANTOPEN
        case 15:  // SQLITE_PROTOCOL
        case 17:  // SQLITE_SCHEMA
        case 22:  // SQLITE_NOLFS
        case 23:  // SQLITE_AUTH
            throw HistoryError(Kind::Unavailable,
                               HistoryText::tr("The chat history %1 cannot be read or written (%2).").arg(name, said));
        default:  // SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_ERROR: it is the statement
            throw HistoryError(Kind::Refused, HistoryText::tr("The chat history %1 did not take a change (%2).")
                                                  .arg(name, said + error.driverText()));
    }
}

void inTransaction(QSqlDatabase& database, const std::function<void()>& work) {
    execute(database, QStringLiteral("BEGIN IMMEDIATE"));
    try {
        work();
        execute(database, QStringLiteral("COMMIT"));
    } catch (...) {
        QSqlQuery(database).exec(QStringLiteral("ROLLBACK"));
        throw;
    }
}

void execute(QSqlDatabase& database, const QString& statement) {
    QSqlQuery query(database);
    if (!query.exec(statement)) {
        throwHistoryError(query.lastError(), database.databaseName());
    }
}

int readVersion(QSqlDatabase& database, std::span<const Migration> steps) {
    const int version = number(database, QStringLiteral("PRAGMA user_version"));
    const int application = number(database, QStringLiteral("PRAGMA application_id"));
    const int tables = number(database, QStringLiteral("SELECT count(*) FROM sqlite_master"));
    const QString name = QFileInfo(database.databaseName()).fileName();
    if (application != kHistoryApplicationId && (tables > 0 || version > 0)) {
        throw HistoryError(HistoryError::Kind::Foreign,
                           HistoryText::tr("%1 is a database of another program, not a chat history.").arg(name));
    }
    const int newest = steps.empty() ? 0 : steps.back().to;
    if (version > newest) {
        throw HistoryError(HistoryError::Kind::Newer,
                           HistoryText::tr("The chat history %1 was written by a newer version of Offstage (format %2; "
                                           "this one reads formats up to %3).")
                               .arg(name)
                               .arg(version)
                               .arg(newest));
    }
    return version;
}

void migrate(QSqlDatabase& database, std::span<const Migration> steps) {
    // One program at a time: the version is read inside the transaction that changes it.
    inTransaction(database, [&] {
        const int version = readVersion(database, steps);
        for (const Migration& step : steps) {
            if (step.to <= version) {
                continue;
            }
            for (const QString& statement : step.statements) {
                execute(database, statement);
            }
            execute(database, QStringLiteral("PRAGMA user_version = %1").arg(step.to));
        }
        execute(database, QStringLiteral("PRAGMA application_id = %1").arg(kHistoryApplicationId));
    });
}

}  // namespace offstage::ui
