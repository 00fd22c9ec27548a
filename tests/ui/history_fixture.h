#pragma once
// Shared by the tests of the history: messages, a folder, a file read from outside.

#include <QSqlDatabase>
#include <QSqlError>
#include <QSqlQuery>
#include <QTemporaryDir>
#include <QVariant>

#include "ui/history/history.h"

namespace offstage::test {

inline ui::Message prompt(const QString& text, ui::MessageId parent = 0) {
    ui::Message message;
    message.kind = ui::Message::Kind::Prompt;
    message.text = text;
    message.parent = parent;
    return message;
}

inline ui::Message answer(const QString& text, ui::MessageId parent,
                          ui::Message::State state = ui::Message::State::Done) {
    ui::Message message;
    message.kind = ui::Message::Kind::Answer;
    message.state = state;
    message.text = text;
    message.parent = parent;
    message.author = QStringLiteral("fake-moe");
    return message;
}

inline ui::ConversationInfo someInfo(ui::ConversationId id, const QString& title) {
    ui::ConversationInfo info;
    info.id = id;
    info.title = title;
    info.createdMs = info.changedMs = static_cast<qint64>(id);
    return info;
}

// An odd id is a prompt's.
inline ui::Change message(ui::ConversationId conversation, ui::MessageId id, ui::MessageId parent,
                          const QString& text) {
    ui::Message m = id % 2 == 1 ? prompt(text, parent) : answer(text, parent);
    m.id = id;
    m.createdMs = static_cast<qint64>(id);
    return ui::change::PutMessage{conversation, m};
}

// A connection independent of the program's code. Statements return the first column of
// the first row.
class Sql {
  public:
    explicit Sql(const QString& file) {
        static int count = 0;
        m_name = QStringLiteral("test-%1").arg(++count);
        m_database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), m_name);
        m_database.setDatabaseName(file);
        m_database.open();
    }
    ~Sql() {
        m_database.close();
        m_database = {};
        QSqlDatabase::removeDatabase(m_name);
    }
    Sql(const Sql&) = delete;
    Sql& operator=(const Sql&) = delete;

    QVariant operator()(const QString& statement) {
        QSqlQuery query(m_database);
        if (!query.exec(statement)) {
            return QStringLiteral("error: ") + query.lastError().text();
        }
        return query.next() ? query.value(0) : QVariant();
    }
    QSqlDatabase& database() { return m_database; }

  private:
    QString m_name;
    QSqlDatabase m_database;
};

struct HistoryFolder {
    QTemporaryDir folder;
    QString path() const { return folder.path(); }
    QString file() const { return folder.filePath(QStringLiteral("conversations.sqlite")); }
};

}  // namespace offstage::test
