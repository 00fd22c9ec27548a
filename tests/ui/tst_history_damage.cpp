// Files of conversations that are older, newer or damaged: what is brought forward, set
// aside, or taken over.

#include <QDir>
#include <QFile>
#include <QTest>

#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/history/conversation_store.h"
#include "ui/history/history_error.h"
#include "ui/history/history_recovery.h"
#include "ui/history/history_schema.h"

using namespace offstage::ui;
using offstage::test::answer;
using offstage::test::HistoryFolder;
using offstage::test::message;
using offstage::test::prompt;
using offstage::test::someInfo;
using offstage::test::Sql;

namespace {

// Destroys the first page of the database file that contains this text.
void overwritePageOf(const QString& name, const char* text) {
    constexpr qint64 kPageBytes = 4096;
    QFile file(name);
    QVERIFY(file.open(QIODevice::ReadWrite));
    const qsizetype at = file.readAll().indexOf(text);
    QVERIFY(at >= 0);
    file.seek(at / kPageBytes * kPageBytes);
    file.write(QByteArray(kPageBytes, '\xA5'));
}

QByteArray contentOf(const QString& name) {
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class TestHistoryDamage : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---------------------------------------------------------------- versions

    void migrate_olderFile_isBroughtForward() {
        HistoryFolder f;
        // The first migration gives the real first version's schema; a later version adds
        // to it.
        const auto first = historyMigrations().front();
        const Migration steps[] = {
            first,
            {first.to + 1,
             {QStringLiteral("ALTER TABLE conversations ADD COLUMN colour TEXT NOT NULL DEFAULT 'none'"),
              QStringLiteral("UPDATE conversations SET colour = 'red' WHERE pinned = 1")}},
            {first.to + 2, {QStringLiteral("CREATE TABLE labels (id INTEGER PRIMARY KEY, name TEXT)")}},
        };
        Sql sql(f.file());
        migrate(sql.database(), std::span(steps).first(1));
        QCOMPARE(sql(QStringLiteral("PRAGMA user_version")).toInt(), first.to);
        sql(
            QStringLiteral("INSERT INTO conversations (id, title, pinned, created_ms, changed_ms) "
                           "VALUES (1, 'old', 1, 0, 0)"));
        migrate(sql.database(), steps);
        QCOMPARE(sql(QStringLiteral("PRAGMA user_version")).toInt(), first.to + 2);
        QCOMPARE(sql(QStringLiteral("SELECT colour FROM conversations WHERE title = 'old'")).toString(),
                 QStringLiteral("red"));
        QCOMPARE(sql(QStringLiteral("SELECT count(*) FROM labels")).toInt(), 0);
        migrate(sql.database(), steps);  // nothing left to do
        QCOMPARE(sql(QStringLiteral("PRAGMA user_version")).toInt(), first.to + 2);
    }

    // A file of the second version, which had no folders: its conversations are in none,
    // and can be put into one.
    void migrate_fileWithoutFolders_keepsItsConversations() {
        HistoryFolder f;
        {
            Sql sql(f.file());
            migrate(sql.database(), historyMigrations().first(2));
            sql(
                QStringLiteral("INSERT INTO conversations (id, title, draft, created_ms, changed_ms) "
                               "VALUES (1, 'old', 'half', 5, 6)"));
            sql(
                QStringLiteral("INSERT INTO messages (id, conversation, kind, state, text) "
                               "VALUES (2, 1, 'prompt', 'done', 'Hello')"));
        }
        {
            ConversationStore store(f.file());
            StoredConversation old = store.load(1);
            QCOMPARE(old.info.title, QStringLiteral("old"));
            QCOMPARE(old.info.draft, QStringLiteral("half"));
            QCOMPARE(old.info.folder, QString());
            QCOMPARE(old.messages.size(), 1);
            old.info.folder = QStringLiteral("Work");
            store.commit({change::PutConversation{old.info}}, 1);
        }
        QCOMPARE(ConversationStore(f.file()).load(1).info.folder, QStringLiteral("Work"));
    }

    // What is read from a damaged file of that version, too.
    void salvage_ofAFileWithoutFolders() {
        HistoryFolder f;
        const QString damaged = f.folder.filePath(QStringLiteral("damaged.sqlite"));
        {
            Sql sql(damaged);
            migrate(sql.database(), historyMigrations().first(2));
            sql(QStringLiteral(
                "INSERT INTO conversations (id, title, created_ms, changed_ms) VALUES (1, 'old', 5, 6)"));
            sql(
                QStringLiteral("INSERT INTO messages (id, conversation, kind, state, text) "
                               "VALUES (2, 1, 'prompt', 'done', 'Hello')"));
        }
        ConversationStore into(f.file());
        QCOMPARE(salvage(damaged, into).nMessages, 1);
        QCOMPARE(into.load(1).info.title, QStringLiteral("old"));
    }

    void folders_areSalvaged() {
        HistoryFolder f;
        const QString damaged = f.folder.filePath(QStringLiteral("damaged.sqlite"));
        ConversationStore(damaged).commit(
            {change::SetFolder{QStringLiteral("Work & more")}, change::SetFolder{QStringLiteral("Gone")},
             change::SetFolder{QStringLiteral("Gone"), false}},
            1);
        ConversationStore into(f.file());
        salvage(damaged, into);
        QCOMPARE(into.folders(), QStringList{QStringLiteral("Work & more")});
    }

    void migrate_failingHalfway_changesNothing() {
        HistoryFolder f;
        const auto first = historyMigrations().front();
        const Migration steps[] = {
            first,
            {first.to + 1,
             {QStringLiteral("ALTER TABLE conversations ADD COLUMN colour TEXT"), QStringLiteral("NOT SQL")}},
        };
        Sql sql(f.file());
        migrate(sql.database(), std::span(steps).first(1));
        QVERIFY_EXCEPTION_THROWN(migrate(sql.database(), steps), HistoryError);
        QCOMPARE(sql(QStringLiteral("PRAGMA user_version")).toInt(), first.to);
        QVERIFY(sql(QStringLiteral("SELECT colour FROM conversations")).toString().startsWith(QStringLiteral("err")));
        ConversationStore store(f.file());  // still a good file of the first version
        QVERIFY(store.conversations().isEmpty());
    }

    void newerFile_isLeftAlone() {
        HistoryFolder f;
        {
            Sql sql(f.file());
            migrate(sql.database(), historyMigrations());
            sql(QStringLiteral("PRAGMA user_version = 4711"));
        }
        const QByteArray before = contentOf(f.file());
        History history;
        QVERIFY(!history.open(f.path()));
        QVERIFY2(history.trouble().contains(QStringLiteral("4711")), qPrintable(history.trouble()));
        // The program continues in memory; trying again changes nothing.
        const ConversationId id = history.create({}, {});
        QVERIFY(history.add(id, prompt(QStringLiteral("hello"))) != 0);
        QVERIFY(!history.saveNow() && !history.tryAgain());
        QVERIFY(!history.close());
        QCOMPARE(contentOf(f.file()), before);
        QCOMPARE(QDir(f.path()).entryList(QDir::Files), QStringList({QStringLiteral("conversations.sqlite")}));
    }

    // ---------------------------------------------------------------- damage

    void damagedRow_hidesOneMessage_data() {
        QTest::addColumn<QString>("spoil");
        QTest::newRow("kind") << QStringLiteral("UPDATE messages SET kind = 'song' WHERE id = 4");
        QTest::newRow("state") << QStringLiteral("UPDATE messages SET state = '' WHERE id = 4");
        QTest::newRow("text") << QStringLiteral("UPDATE messages SET text = x'ff00' WHERE id = 4");
        QTest::newRow("parent") << QStringLiteral("UPDATE messages SET kind = 'x', parent = 12345 WHERE id = 4");
        QTest::newRow("cycle") << QStringLiteral("UPDATE messages SET kind = 'x', parent = 6 WHERE id = 4");
    }
    void damagedRow_hidesOneMessage() {
        QFETCH(QString, spoil);
        HistoryFolder f;
        {
            ConversationStore store(f.file());
            store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))},
                          message(1, 3, 0, QStringLiteral("one")), message(1, 4, 3, QStringLiteral("two")),
                          message(1, 5, 4, QStringLiteral("three")), message(1, 6, 5, QStringLiteral("four"))},
                         1);
        }
        QCOMPARE(Sql(f.file())(spoil).toString(), QString());
        History history;
        QVERIFY(history.open(f.path()));
        const ConversationTree* tree = history.open(1);
        QVERIFY(tree);
        const QList<Message> path = tree->path();
        QCOMPARE(path.size(), 4);
        QCOMPARE(path[0].text, QStringLiteral("one"));
        QVERIFY(path[1].kind == Message::Kind::Problem);
        QVERIFY(path[1].problem.title.contains(QStringLiteral("damaged")));
        QCOMPARE(path[2].text, QStringLiteral("three"));
        QCOMPARE(path[3].text, QStringLiteral("four"));
    }

    void damagedFile_isSetAside_data() {
        QTest::addColumn<QString>("damage");
        QTest::newRow("not a database") << QStringLiteral("text");
        QTest::newRow("the header is gone") << QStringLiteral("header");
        QTest::newRow("another program's") << QStringLiteral("foreign");
    }
    void damagedFile_isSetAside() {
        QFETCH(QString, damage);
        HistoryFolder f;
        if (damage == QStringLiteral("foreign")) {
            Sql(f.file())(QStringLiteral("CREATE TABLE songs (id INTEGER)"));
        } else {
            QFile file(f.file());
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(damage == QStringLiteral("text") ? QByteArray("no database at all ").repeated(400)
                                                        : QByteArray(8192, '\0').replace(0, 4, "SQLi"));
        }
        History history;
        QVERIFY(history.open(f.path()));
        QCOMPARE(history.notices().size(), 1);
        const QStringList aside =
            QDir(f.path()).entryList({QStringLiteral("conversations.damaged-*.sqlite")}, QDir::Files);
        QCOMPARE(aside.size(), 1);
        QVERIFY(history.notices().first().detail.contains(aside.first()));
        const ConversationId id = history.create({}, {});
        history.add(id, prompt(QStringLiteral("works")));
        QVERIFY(history.close());
        History again;
        QVERIFY(again.open(f.path()));
        QCOMPARE(again.conversations().size(), 1);
        QVERIFY(again.notices().isEmpty());
    }

    void damagedPages_whatCanBeRead_isTakenOver() {
        HistoryFolder f;
        {
            ConversationStore store(f.file());
            for (ConversationId c = 1; c <= 20; ++c) {
                QList<Change> changes = {change::PutConversation{someInfo(c, QStringLiteral("title %1").arg(c))}};
                for (MessageId m = 1; m <= 20; ++m) {
                    changes.append(message(c, c * 100 + m, m == 1 ? 0 : c * 100 + m - 1,
                                           QStringLiteral("message %1 ").arg(c * 100 + m).repeated(20)));
                }
                store.commit(changes, 1);
            }
            store.addSession(77);  // a program that never closed: the file is checked at the next start
        }
        Sql(f.file())(QStringLiteral("PRAGMA wal_checkpoint(TRUNCATE)"));
        overwritePageOf(f.file(), "message 1010 ");
        History history;
        QVERIFY(history.open(f.path()));
        QCOMPARE(history.notices().size(), 1);
        QCOMPARE(history.conversations().size(), 20);
        qsizetype messages = 0;
        for (const ConversationInfo& info : history.conversations()) {
            const StoredConversation stored = history.stored(info.id).value();
            messages += stored.messages.size();
            for (const Message& m : stored.messages) {
                QCOMPARE(m.text, QStringLiteral("message %1 ").arg(m.id).repeated(20));
            }
        }
        qInfo("%lld of 400 messages were read around one overwritten page", static_cast<long long>(messages));
        QVERIFY(messages >= 360 && messages < 400);
        QVERIFY(!history.search(QStringLiteral("2020")).isEmpty());
    }

    void damagedPages_streamedAnswerIsKept_deletedStaysDeleted() {
        HistoryFolder f;
        {
            ConversationStore store(f.file());
            QList<Change> changes = {change::PutConversation{someInfo(1, QStringLiteral("kept"))}};
            for (MessageId m = 1; m <= 400; ++m) {
                changes.append(message(1, m, m - 1, QStringLiteral("message %1 ").arg(m).repeated(20)));
            }
            Message streaming = answer(QStringLiteral("begin"), 399, Message::State::Streaming);
            streaming.id = 402;
            changes.append(change::PutMessage{1, streaming});
            changes.append(change::PutConversation{someInfo(2, QStringLiteral("deleted"))});
            changes.append(message(2, 501, 0, QStringLiteral("deleted too")));
            store.addSession(77);
            store.commit(changes, 77);
            for (const char* piece : {" one", " two", " three", " four"}) {
                store.commit({change::AppendText{402, QString::fromLatin1(piece)}}, 77);
            }
            store.commit({change::SetDeleted{2, true}}, 77);
        }
        Sql(f.file())(QStringLiteral("DELETE FROM journal WHERE piece = 3"));
        Sql(f.file())(QStringLiteral("PRAGMA wal_checkpoint(TRUNCATE)"));
        overwritePageOf(f.file(), "message 101 ");
        History history;
        QVERIFY(history.open(f.path()));
        QCOMPARE(history.notices().size(), 1);
        QCOMPARE(history.conversations().size(), 1);
        QCOMPARE(history.conversations().first().title, QStringLiteral("kept"));
        QVERIFY(history.search(QStringLiteral("deleted")).isEmpty());
        const ConversationTree* tree = history.open(1);
        QVERIFY(tree);
        const Message* streamed = tree->find(402);
        QVERIFY(streamed);
        QCOMPARE(streamed->text, QStringLiteral("begin one two […]  four"));
        QVERIFY(streamed->state == Message::State::Stopped);
    }

    void sqliteCode_isOfAKind_data() {
        using Kind = HistoryError::Kind;
        QTest::addColumn<QString>("code");
        QTest::addColumn<int>("kind");
        const auto row = [](const char* name, const char* code, Kind kind) {
            QTest::newRow(name) << QString::fromLatin1(code) << static_cast<int>(kind);
        };
        row("corrupt", "11", Kind::Damaged);
        row("corrupt index", "779", Kind::Damaged);
        row("not a database", "26", Kind::Damaged);
        row("busy", "5", Kind::Unavailable);
        row("full", "13", Kind::Unavailable);
        row("failing disk", "778", Kind::Unavailable);
        row("no memory", "7", Kind::Unavailable);
        row("no memory for a page", "3082", Kind::Unavailable);
        row("locking protocol", "15", Kind::Unavailable);
        row("interrupted", "9", Kind::Unavailable);
        row("foreign key", "787", Kind::Refused);
        row("too big", "18", Kind::Refused);
        row("no such table", "1", Kind::Refused);
        row("no code", "", Kind::Refused);
    }
    void sqliteCode_isOfAKind() {
        QFETCH(QString, code);
        QFETCH(int, kind);
        const QSqlError error(QString(), QStringLiteral("said"), QSqlError::StatementError, code);
        try {
            throwHistoryError(error, QStringLiteral("conversations.sqlite"));
        } catch (const HistoryError& thrown) {
            QCOMPARE(static_cast<int>(thrown.kind()), kind);
            QVERIFY(thrown.sentence().contains(QStringLiteral("said")));
        }
    }

    void wholeFile_thatRefusesAChange_isLeftAlone() {
        HistoryFolder f;
        {
            ConversationStore store(f.file());
            store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))},
                          message(1, 3, 0, QStringLiteral("one")), change::SetDeleted{1, true}},
                         1);
        }
        // The file is whole, but deleted conversations cannot be removed from it.
        Sql(f.file())(QStringLiteral(
            "CREATE TRIGGER stays BEFORE DELETE ON conversations BEGIN SELECT RAISE(ABORT, 'stays'); END"));
        History history;
        QVERIFY(!history.open(f.path()));
        QVERIFY2(history.trouble().contains(QStringLiteral("stays")), qPrintable(history.trouble()));
        QCOMPARE(QDir(f.path()).entryList({QStringLiteral("*damaged*")}).size(), 0);
        QCOMPARE(Sql(f.file())(QStringLiteral("SELECT count(*) FROM messages")).toInt(), 1);
    }

    void damagedFile_openElsewhere_isLeftAlone_data() {
        QTest::addColumn<bool>("header");
        QTest::newRow("a page") << false;
        QTest::newRow("the header") << true;
    }
    void damagedFile_openElsewhere_isLeftAlone() {
        QFETCH(bool, header);
        HistoryFolder f;
        const auto asides = [&f] { return QDir(f.path()).entryList({QStringLiteral("*.damaged-*.sqlite")}).size(); };
        {
            History living;
            QVERIFY(living.open(f.path()));
            const ConversationId id = living.create({}, {});
            MessageId last = 0;
            for (int i = 0; i < 200; ++i) {
                last = living.add(id, prompt(QStringLiteral("message %1 ").arg(i).repeated(20), last));
            }
            QVERIFY(living.flush());
            // A program that never closed: the file is checked at the next start.
            Sql(f.file())(QStringLiteral("INSERT INTO sessions VALUES (77, 0)"));
            Sql(f.file())(QStringLiteral("PRAGMA wal_checkpoint(TRUNCATE)"));
            overwritePageOf(f.file(), header ? "SQLite format 3" : "message 50 ");
            History second;
            QVERIFY(!second.open(f.path()));
            QVERIFY2(second.trouble().contains(QStringLiteral("Another Offstage")), qPrintable(second.trouble()));
            QCOMPARE(asides(), 0);
            QVERIFY(second.add(second.create({}, {}), prompt(QStringLiteral("in memory"))) != 0);
            QVERIFY(!second.close());
            if (!header) {
                living.add(living.create({}, {}), prompt(QStringLiteral("afterwards")));
                QVERIFY(living.flush());
            }
        }
        // Alone with it: now it is renamed, and the other's data is copied.
        History after;
        QVERIFY(after.open(f.path()));
        QCOMPARE(asides(), 1);
        QCOMPARE(after.search(QStringLiteral("afterwards")).isEmpty(), header);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestHistoryDamage)
#include "tst_history_damage.moc"
