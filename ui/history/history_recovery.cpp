#include "ui/history/history_recovery.h"

#include <functional>

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHash>
#include <QMap>
#include <QSet>
#include <QSqlDatabase>
#include <QSqlQuery>
#include <QSqlRecord>
#include <QVariant>

#include "ui/history/conversation_store.h"
#include "ui/history/history_error.h"
#include "ui/history/history_json.h"

namespace offstage::ui {

namespace {

using RowFn = std::function<void(const QSqlQuery&)>;

// A damaged page ends a scan; a second scan from the other end finds the rows after it.
// `key`: the columns of the table's primary key, which are the first of `columns`.
void readFromBothEnds(QSqlDatabase& database, const QStringList& key, const QString& columns, const QString& table,
                      const RowFn& take) {
    QSet<QList<qint64>> taken;
    for (const QString& order : {QStringLiteral(" ASC"), QStringLiteral(" DESC")}) {
        QSqlQuery query(database);
        query.setForwardOnly(true);
        const QString statement = QStringLiteral("SELECT %1 FROM %2 NOT INDEXED ORDER BY %3")
                                      .arg(columns, table, key.join(order + QStringLiteral(", ")) + order);
        if (!query.exec(statement)) {
            continue;
        }
        while (query.next()) {
            QList<qint64> id;
            for (int i = 0; i < key.size(); ++i) {
                id.append(query.value(i).toLongLong());
            }
            if (taken.contains(id)) {
                break;  // the first scan came this far
            }
            taken.insert(id);
            take(query);
        }
    }
}

// The journaled text of each unfinished answer. Lost pieces are marked in the text.
QHash<MessageId, QString> readJournal(QSqlDatabase& database) {
    QMap<std::pair<MessageId, int>, QString> pieces;
    readFromBothEnds(database, {QStringLiteral("message"), QStringLiteral("piece")},
                     QStringLiteral("message, piece, text"), QStringLiteral("journal"), [&](const QSqlQuery& row) {
                         pieces.insert({row.value(0).toULongLong(), row.value(1).toInt()}, row.value(2).toString());
                     });
    QHash<MessageId, QString> out;
    std::pair<MessageId, int> before;
    for (auto piece = pieces.cbegin(); piece != pieces.cend(); ++piece) {
        const auto [message, number] = piece.key();
        const int expected = message == before.first ? before.second + 1 : 1;
        out[message] += number == expected ? piece.value() : QStringLiteral(" […] ") + piece.value();
        before = piece.key();
    }
    return out;
}

// A change that the database refuses because its row is damaged affects only that row.
bool commitOne(ConversationStore& into, const Change& change) {
    try {
        into.commit({change}, 0);
        return true;
    } catch (const HistoryError&) {
        return false;
    }
}

int commitAll(ConversationStore& into, const QList<Change>& changes) {
    try {
        into.commit(changes, 0);
        return static_cast<int>(changes.size());
    } catch (const HistoryError&) {
        int n = 0;
        for (const Change& change : changes) {
            n += commitOne(into, change) ? 1 : 0;
        }
        return n;
    }
}

}  // namespace

QString setAside(const QString& file) {
    const QFileInfo info(file);
    const QString when = QDateTime::currentDateTime().toString(QStringLiteral("yyyy-MM-dd-HHmmss"));
    QString target;
    for (int n = 1; target.isEmpty() || QFileInfo::exists(target); ++n) {
        const QString more = n == 1 ? QString() : QStringLiteral("-%1").arg(n);
        target = info.dir().filePath(
            QStringLiteral("%1.damaged-%2%3.%4").arg(info.completeBaseName(), when, more, info.suffix()));
    }
    if (!QFile::rename(file, target)) {
        return {};
    }
    // The log holds the last commits; the shared-memory file is created anew.
    QFile::rename(file + QStringLiteral("-wal"), target + QStringLiteral("-wal"));
    QFile::remove(file + QStringLiteral("-shm"));
    return target;
}

Salvage salvage(const QString& damagedFile, ConversationStore& into) {
    Salvage result;
    const QString connection = QStringLiteral("salvage");
    {
        QSqlDatabase database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), connection);
        database.setDatabaseName(damagedFile);
        if (database.open()) {
            QList<Change> conversations;
            QSet<ConversationId> known;
            QSet<ConversationId> deleted;
            const qint64 now = QDateTime::currentMSecsSinceEpoch();
            const QStringList id = {QStringLiteral("id")};
            QString columns = QLatin1String(kConversationColumns) + QStringLiteral(", deleted_by");
            if (!database.record(QStringLiteral("conversations")).contains(QStringLiteral("folder"))) {
                columns.replace(QStringLiteral("folder"), QStringLiteral("''"));  // of an earlier version
            }
            readFromBothEnds(database, id, columns, QStringLiteral("conversations"), [&](const QSqlQuery& row) {
                const ConversationInfo info = conversationOf(row);
                if (!row.value(13).isNull()) {
                    deleted.insert(info.id);
                    return;
                }
                conversations.append(change::PutConversation{info});
                known.insert(info.id);
            });
            QSqlQuery folder(database);
            folder.exec(QStringLiteral("SELECT name FROM folders"));  // earlier versions have none
            while (folder.next()) {
                commitOne(into, change::SetFolder{folder.value(0).toString()});
            }
            const QHash<MessageId, QString> journal = readJournal(database);
            QList<Change> messages;
            readFromBothEnds(
                database, id, QLatin1String(kMessageColumns) + QStringLiteral(", conversation"),
                QStringLiteral("messages"), [&](const QSqlQuery& row) {
                    const ConversationId conversation = row.value(9).toULongLong();
                    if (!messageKind(row.value(2).toString()) || conversation == 0 || deleted.contains(conversation)) {
                        return;
                    }
                    Message message = messageOf(row);
                    if (!known.contains(conversation)) {
                        // Its own row is lost, its messages are not.
                        ConversationInfo info;
                        info.id = conversation;
                        info.title = message.text.simplified().left(40);
                        info.createdMs = info.changedMs = now;
                        conversations.append(change::PutConversation{info});
                        known.insert(conversation);
                    }
                    const bool done = message.state == Message::State::Done || message.state == Message::State::Failed;
                    message.state = done ? message.state : Message::State::Stopped;
                    message.text += journal.value(message.id);
                    messages.append(change::PutMessage{conversation, message});
                });
            result.nConversations = commitAll(into, conversations);
            result.nMessages = commitAll(into, messages);
        }
        database.close();
    }
    QSqlDatabase::removeDatabase(connection);
    return result;
}

}  // namespace offstage::ui
