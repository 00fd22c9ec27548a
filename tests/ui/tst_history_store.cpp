// The history's database: stored data, search, migrations, and the effect of damage.

#include <ctime>
#include <random>

#include <QElapsedTimer>
#include <QTest>
#include <QTimer>

#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/history/commit_schedule.h"
#include "ui/history/conversation_store.h"
#include "ui/history/history_error.h"
#include "ui/history/history_schema.h"
#include "ui/history/history_writer.h"

using namespace offstage::ui;
using offstage::test::answer;
using offstage::test::HistoryFolder;
using offstage::test::message;
using offstage::test::prompt;
using offstage::test::someInfo;
using offstage::test::Sql;

namespace {

// This thread's CPU time; other programs' time does not count.
double cpuMs() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1000.0 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e6;
}

// Enough for every machine.
constexpr std::chrono::milliseconds kPatience{60'000};

}  // namespace

class TestHistoryStore : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void everyField_survivesTheRoundTrip() {
        HistoryFolder f;
        ConversationInfo info = someInfo(7, QStringLiteral("Títle “ü” 東京"));
        info.titleByPerson = info.pinned = info.archived = true;
        info.model = QStringLiteral("m");
        info.systemPrompt = QStringLiteral("Be\nbrief.");
        info.sampling.sampler.temperature = 0.3f;
        info.sampling.sampler.seed = 18446744073709551615ull;
        info.sampling.beamWidth = 4;
        info.activeLeaf = 9;
        info.draft = QStringLiteral("half a thou");
        info.folder = QStringLiteral("Work & more");
        Message m = answer(QStringLiteral("text"), 8);
        m.id = 9;
        m.state = Message::State::Failed;
        m.note = QStringLiteral("note");
        m.createdMs = 1'700'000'000'123;
        m.figures = AnswerFigures{0.25, 12.5, 100, 50, 75, true, 0.125, 0.003, true, 40, 30, 1.75, 0.25};
        m.edited = true;
        Message cut = prompt(QStringLiteral("from here on"), 9);
        cut.id = 10;
        cut.cut = QStringLiteral("What was said.");
        Message empty = prompt(QStringLiteral("and from here on"), 10);
        empty.id = 11;
        empty.cut = QString();  // without a summary it is a cut all the same
        {
            ConversationStore store(f.file());
            store.commit({change::PutConversation{info}, change::PutMessage{7, m}, change::PutMessage{7, cut},
                          change::PutMessage{7, empty}},
                         1);
        }
        ConversationStore store(f.file());
        const StoredConversation got = store.load(7);
        QVERIFY(got.info == info);
        QCOMPARE(got.messages.size(), 3);
        const Message& back = got.messages.first();
        QVERIFY(!back.cut);
        QCOMPARE(got.messages[1].cut.value_or(QString()), QStringLiteral("What was said."));
        QVERIFY(got.messages[2].cut && got.messages[2].cut->isEmpty());
        QVERIFY(!got.messages[1].figures && !got.messages[2].figures);
        QCOMPARE(back.id, m.id);
        QCOMPARE(back.parent, m.parent);
        QVERIFY(back.kind == m.kind && back.state == m.state);
        QCOMPARE(back.text, m.text);
        QCOMPARE(back.author, m.author);
        QCOMPARE(back.note, m.note);
        QCOMPARE(back.createdMs, m.createdMs);
        QVERIFY(back.figures);
        QCOMPARE(back.figures->ttftSeconds, 0.25);
        QCOMPARE(back.figures->tokensPerSecond, 12.5);
        QCOMPARE(back.figures->tokensIn, 100);
        QCOMPARE(back.figures->tokensReused, 50);
        QCOMPARE(back.figures->tokensOut, 75);
        QVERIFY(back.figures->emulated);
        QCOMPARE(back.figures->theta, 0.125);
        QCOMPARE(back.figures->thetaLoss, 0.003);
        QVERIFY(back.figures->acceptsGuesses);
        QCOMPARE(back.figures->drafted, 40);
        QCOMPARE(back.figures->accepted, 30);
        QCOMPARE(back.figures->tokensPerStep, 1.75);
        QCOMPARE(back.figures->moreExperts, 0.25);
        QVERIFY(back.edited);
        QCOMPARE(store.largestId(), MessageId(11));
    }

    void file_isWhatItShouldBe() {
        HistoryFolder f;
        ConversationStore store(f.file());
        Sql sql(f.file());
        QCOMPARE(sql(QStringLiteral("PRAGMA journal_mode")).toString(), QStringLiteral("wal"));
        QCOMPARE(sql(QStringLiteral("PRAGMA application_id")).toInt(), kHistoryApplicationId);
        QCOMPARE(sql(QStringLiteral("PRAGMA user_version")).toInt(), historyMigrations().back().to);
        QVERIFY(store.faults().isEmpty());
    }

    void commit_oneBadChange_changesNothing() {
        HistoryFolder f;
        ConversationStore store(f.file());
        QVERIFY_EXCEPTION_THROWN(store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))},
                                               message(99, 3, 0, QStringLiteral("of no conversation"))},
                                              1),
                                 HistoryError);
        QVERIFY(store.conversations().isEmpty());
        store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))}}, 1);
        QCOMPARE(store.conversations().size(), 1);
    }

    void journal_isReadAndFolded() {
        HistoryFolder f;
        ConversationStore store(f.file());
        Message m = answer(QStringLiteral("begin"), 0, Message::State::Streaming);
        m.id = 2;
        store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))}, change::PutMessage{1, m}}, 5);
        store.commit({change::AppendText{2, QStringLiteral(" middle")}}, 5);
        store.commit({change::AppendText{2, QStringLiteral(" end")}}, 5);
        QCOMPARE(store.load(1).messages.first().text, QStringLiteral("begin middle end"));
        Sql sql(f.file());
        QCOMPARE(sql(QStringLiteral("SELECT text FROM messages")).toString(), QStringLiteral("begin"));
        QCOMPARE(store.settle(5), 1);
        const Message settled = store.load(1).messages.first();
        QCOMPARE(settled.text, QStringLiteral("begin middle end"));
        QVERIFY(settled.state == Message::State::Stopped);
        QCOMPARE(settled.note, QString::fromUtf8(kClosedWhileWriting));
        QCOMPARE(sql(QStringLiteral("SELECT count(*) FROM journal")).toInt(), 0);
        QCOMPARE(store.settle(5), 0);
    }

    void settle_answerNeverBegun_saysThatItWasNotAnswered() {
        HistoryFolder f;
        ConversationStore store(f.file());
        Message queued = answer(QString(), 0, Message::State::Waiting);
        queued.id = 2;
        store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))}, change::PutMessage{1, queued}}, 5);
        QCOMPARE(store.settle(5), 1);
        QCOMPARE(store.load(1).messages.first().note, QString::fromUtf8(kClosedBefore));
    }

    // ---------------------------------------------------------------- search

    void search_findsWords_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<int>("hits");
        QTest::newRow("word") << QStringLiteral("expert") << 2;
        QTest::newRow("beginning of a word") << QStringLiteral("exp") << 2;
        QTest::newRow("other case") << QStringLiteral("EXPERT") << 2;
        QTest::newRow("without its accents") << QStringLiteral("cafe") << 1;
        QTest::newRow("both words") << QStringLiteral("router expert") << 1;
        QTest::newRow("words side by side") << QStringLiteral("\"gate router\"") << 1;
        QTest::newRow("not side by side") << QStringLiteral("\"router gate\"") << 0;
        QTest::newRow("nothing like it") << QStringLiteral("zebra") << 0;
        QTest::newRow("nothing") << QString() << 0;
        QTest::newRow("blanks") << QStringLiteral("   ") << 0;
        // None of these is FTS5 syntax, or has the user's meaning there.
        QTest::newRow("open quote") << QStringLiteral("\"gate router") << 1;
        QTest::newRow("lone quote") << QStringLiteral("\"") << 1;
        QTest::newRow("operator") << QStringLiteral("AND") << 1;
        QTest::newRow("not") << QStringLiteral("NOT zebra") << 0;
        QTest::newRow("brackets") << QStringLiteral("f(x)") << 1;
        QTest::newRow("column filter") << QStringLiteral("text:expert") << 0;
        QTest::newRow("star") << QStringLiteral("*") << 1;
        QTest::newRow("sign") << QStringLiteral("++") << 1;
        QTest::newRow("caret") << QStringLiteral("^") << 0;
        QTest::newRow("injection") << QStringLiteral("'; DROP TABLE messages; --") << 0;
        QTest::newRow("percent") << QStringLiteral("%") << 0;
        QTest::newRow("a control character") << QStringLiteral("\u0002") << 0;
    }
    void search_findsWords() {
        QFETCH(QString, typed);
        QFETCH(int, hits);
        HistoryFolder f;
        ConversationStore store(f.file());
        store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))},
                      message(1, 3, 0, QStringLiteral("Which expert does the gate router choose?")),
                      message(1, 4, 3, QStringLiteral("One of eight experts and a café.")),
                      message(1, 5, 4, QStringLiteral("f(x) = x * x, in C++ a \"lambda\""))},
                     1);
        QCOMPARE(store.search(typed).size(), hits);
        QCOMPARE(store.load(1).messages.size(), 3);
    }

    void search_marksWhatItFound() {
        HistoryFolder f;
        ConversationStore store(f.file());
        const QString filler = QStringLiteral("many other words stand here ").repeated(20);
        store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))},
                      message(1, 3, 0, filler + QStringLiteral("the\nRouter of the routers ") + filler)},
                     1);
        const QList<SearchHit> hits = store.search(QStringLiteral("router"));
        QCOMPARE(hits.size(), 1);
        QCOMPARE(hits[0].conversation, ConversationId(1));
        QCOMPARE(hits[0].message, MessageId(3));
        QVERIFY(hits[0].snippet.size() < 200);
        QVERIFY(!hits[0].snippet.contains(u'\n'));
        QCOMPARE(hits[0].marks.size(), 2);
        QCOMPARE(hits[0].snippet.mid(hits[0].marks[0].first, hits[0].marks[0].second), QStringLiteral("Router"));
        QCOMPARE(hits[0].snippet.mid(hits[0].marks[1].first, hits[0].marks[1].second), QStringLiteral("routers"));
    }

    void search_findsThoughts() {
        HistoryFolder f;
        ConversationStore store(f.file());
        const auto thinking = [](const QString& thought, const QString& text) {
            Message m = answer(text, 3);
            m.id = 4;
            m.thought.text = thought;
            return change::PutMessage{1, m};
        };
        Sql sql(f.file());
        const auto indexIsWhole = [&sql] {
            return !sql(QStringLiteral("INSERT INTO thought_text(thought_text, rank) VALUES ('integrity-check', 1)"))
                        .toString()
                        .startsWith(QStringLiteral("error"));
        };
        store.commit(
            {change::PutConversation{someInfo(1, QStringLiteral("a"))}, message(1, 3, 0, QStringLiteral("Which pear?")),
             thinking(QStringLiteral("A pear or a quince; %% 100"), QStringLiteral("The pear."))},
            1);
        QCOMPARE(store.search(QStringLiteral("quin")).size(), 1);
        const SearchHit hit = store.search(QStringLiteral("quin")).first();
        QVERIFY(hit.place == SearchHit::Place::Thought);
        QCOMPARE(hit.message, MessageId(4));
        QCOMPARE(hit.snippet.mid(hit.marks[0].first, hit.marks[0].second), QStringLiteral("quince"));
        const QList<SearchHit> all = store.search(QStringLiteral("pear"));  // the answer, its thought, the prompt
        QCOMPARE(all.size(), 3);
        using Place = SearchHit::Place;
        QVERIFY(all[0].place == Place::Text && all[1].place == Place::Thought && all[2].place == Place::Text);
        QCOMPARE(all[1].message, all[0].message);
        QCOMPARE(store.search(QStringLiteral("%%")).size(), 1);  // no word: as it stands
        QVERIFY(indexIsWhole());
        store.commit({thinking(QStringLiteral("A medlar."), QStringLiteral("The pear."))}, 1);
        QCOMPARE(store.search(QStringLiteral("quince")).size(), 0);
        QCOMPARE(store.search(QStringLiteral("medlar")).size(), 1);
        store.commit({thinking({}, QStringLiteral("The pear."))}, 1);
        QCOMPARE(store.search(QStringLiteral("medlar")).size(), 0);
        store.commit({thinking(QStringLiteral("A medlar."), QStringLiteral("The pear."))}, 1);
        store.commit({change::RemoveMessage{4}}, 1);
        QCOMPARE(store.search(QStringLiteral("medlar")).size(), 0);
        QVERIFY(indexIsWhole());
    }

    // A file of the first version gets the index of its thoughts; a row with invalid
    // figures does not prevent that.
    void search_findsThoughts_ofAnOlderFile() {
        HistoryFolder f;
        {
            Sql sql(f.file());
            migrate(sql.database(), historyMigrations().first(1));
            sql(QStringLiteral(
                "INSERT INTO conversations (id, title, created_ms, changed_ms) VALUES (1, 'old', 0, 0)"));
            sql(
                QStringLiteral("INSERT INTO messages (id, conversation, kind, state, text, figures) VALUES "
                               "(2, 1, 'answer', 'done', 'x', '{\"thought\":{\"text\":\"a quince\"}}'), "
                               "(3, 1, 'answer', 'done', 'x', 'no JSON'), (4, 1, 'answer', 'done', 'x', NULL)"));
        }
        ConversationStore store(f.file());
        QCOMPARE(store.search(QStringLiteral("quince")).size(), 1);
        QVERIFY(store.search(QStringLiteral("quince")).first().place == SearchHit::Place::Thought);
    }

    // Names and texts of a prompt's files, of older files of conversations too.
    void search_findsAttachedFiles() {
        HistoryFolder f;
        const auto prompt = [](MessageId id, const QList<Attachment>& files) {
            Message m;
            m.id = id;
            m.text = QStringLiteral("see these");
            m.attachments = files;
            return change::PutMessage{1, m};
        };
        const QList<Attachment> files = {{QStringLiteral("fruit.txt"), 9, QStringLiteral("A quince.")},
                                         {QStringLiteral("list.csv"), 12, QStringLiteral("pear;%% 100\n")}};
        {
            Sql sql(f.file());
            migrate(sql.database(), historyMigrations().first(4));
            sql(QStringLiteral(
                "INSERT INTO conversations (id, title, created_ms, changed_ms) VALUES (1, 'old', 0, 0)"));
            sql(
                QStringLiteral("INSERT INTO messages (id, conversation, kind, state, text, figures) VALUES "
                               "(2, 1, 'prompt', 'done', 'x', '{\"attachments\":[{\"name\":\"a.txt\",\"bytes\":3,"
                               "\"text\":\"a medlar\"}]}'), (3, 1, 'prompt', 'done', 'x', 'no JSON'), "
                               "(4, 1, 'prompt', 'done', 'x', '{\"attachments\":\"odd\"}'), "
                               "(5, 1, 'prompt', 'done', 'x', NULL)"));
        }
        ConversationStore store(f.file());
        const auto n = [&store](const char* words) { return store.search(QString::fromUtf8(words)).size(); };
        QCOMPARE(n("medlar"), 1);
        store.commit({prompt(6, files)}, 1);
        QCOMPARE(n("quin"), 1);
        QCOMPARE(n("list"), 1);
        QCOMPARE(n("%%"), 1);
        const SearchHit hit = store.search(QStringLiteral("quince")).first();
        QVERIFY(hit.place == SearchHit::Place::File);
        QCOMPARE(hit.message, MessageId(6));
        QCOMPARE(hit.snippet.mid(hit.marks[0].first, hit.marks[0].second), QStringLiteral("quince"));
        store.commit({prompt(6, files.last(1))}, 1);
        QCOMPARE(n("quince"), 0);
        store.commit({change::RemoveMessage{6}}, 1);
        QCOMPARE(n("pear"), 0);
    }

    void search_followsEditsAndRemovals() {
        HistoryFolder f;
        ConversationStore store(f.file());
        store.commit({change::PutConversation{someInfo(1, QStringLiteral("a"))},
                      change::PutConversation{someInfo(2, QStringLiteral("b"))},
                      message(1, 3, 0, QStringLiteral("apple")), message(2, 5, 0, QStringLiteral("apple pie"))},
                     1);
        QCOMPARE(store.search(QStringLiteral("apple")).size(), 2);
        QCOMPARE(store.search(QStringLiteral("apple")).first().message, MessageId(5));  // newest first
        store.commit({message(1, 3, 0, QStringLiteral("pear"))}, 1);
        QCOMPARE(store.search(QStringLiteral("apple")).size(), 1);
        QCOMPARE(store.search(QStringLiteral("pear")).size(), 1);
        store.commit({change::SetDeleted{2, true}}, 1);
        QCOMPARE(store.search(QStringLiteral("apple")).size(), 0);
        store.commit({change::SetDeleted{2, false}}, 1);
        QCOMPARE(store.search(QStringLiteral("apple")).size(), 1);
        store.commit({change::SetDeleted{2, true}}, 1);
        store.removeDeleted();  // session 1 is not on the list
        QCOMPARE(store.conversations().size(), 1);
        Sql sql(f.file());
        QCOMPARE(sql(QStringLiteral("SELECT count(*) FROM messages")).toInt(), 1);
        QCOMPARE(sql(QStringLiteral("SELECT count(*) FROM message_text WHERE message_text MATCH 'pie'")).toInt(), 0);
        // The index's own check: it throws when index and table differ.
        QVERIFY(!sql(QStringLiteral("INSERT INTO message_text(message_text, rank) VALUES ('integrity-check', 1)"))
                     .toString()
                     .startsWith(QStringLiteral("error")));
    }

    // ---------------------------------------------------------------- several programs

    void secondProgram_opensAndWrites() {
        HistoryFolder f;
        History first;
        History second;
        QVERIFY(first.open(f.path()));
        QVERIFY(second.open(f.path()));
        QVERIFY(first.notices().isEmpty() && second.notices().isEmpty());
        const ConversationId a = first.create({}, {});
        const ConversationId b = second.create({}, {});
        MessageId lastA = 0;
        MessageId lastB = 0;
        for (int i = 0; i < 20; ++i) {
            lastA = first.add(a, prompt(QStringLiteral("a %1").arg(i), lastA));
            lastB = second.add(b, prompt(QStringLiteral("b %1").arg(i), lastB));
        }
        // A third program that starts meanwhile does not touch an answer that the first
        // is still writing.
        const MessageId streaming = first.add(a, answer({}, lastA, Message::State::Streaming));
        first.appendText(a, streaming, QStringLiteral("so far"));
        QVERIFY(first.flush() && second.flush());
        History third;
        QVERIFY(third.open(f.path()));
        QCOMPARE(third.conversations().size(), 2);
        QCOMPARE(third.open(a)->path().size(), 21);
        QCOMPARE(third.open(a)->path().last().text, QStringLiteral("so far"));
        QVERIFY(third.open(a)->path().last().state == Message::State::Streaming);
        QCOMPARE(third.open(b)->path().size(), 20);
        QVERIFY(third.close() && second.close() && first.close());
        QCOMPARE(Sql(f.file())(QStringLiteral("PRAGMA integrity_check")).toString(), QStringLiteral("ok"));
        QCOMPARE(Sql(f.file())(QStringLiteral("SELECT count(*) FROM sessions")).toInt(), 0);
    }

    void deletedElsewhere_goneOnWith_isThereAgain() {
        HistoryFolder f;
        ConversationId goneOnWith = 0;
        ConversationId left = 0;
        MessageId last = 0;
        {
            History before;
            QVERIFY(before.open(f.path()));
            goneOnWith = before.create({}, {});
            last = before.add(goneOnWith, prompt(QStringLiteral("one")));
            left = before.create({}, {});
            before.add(left, prompt(QStringLiteral("two")));
            QVERIFY(before.close());
        }
        {
            History first;
            History second;
            QVERIFY(first.open(f.path()) && second.open(f.path()));
            QVERIFY(second.open(goneOnWith) && second.open(left));
            first.remove(goneOnWith);
            first.remove(left);
            QVERIFY(first.close());
            // A third one, that starts now, takes nothing away from under the second.
            History third;
            QVERIFY(third.open(f.path()));
            QCOMPARE(third.conversations().size(), 0);
            QVERIFY(third.close());
            last = second.add(goneOnWith, prompt(QStringLiteral("newer"), last));
            second.setPinned(left, true);  // no reason to restore it
            QVERIFY(second.close());
        }
        History after;
        QVERIFY(after.open(f.path()));
        QCOMPARE(after.conversations().size(), 1);
        const ConversationTree* tree = after.open(goneOnWith);
        QVERIFY(tree);
        QCOMPARE(tree->path().size(), 2);
        QCOMPARE(tree->path().last().text, QStringLiteral("newer"));
        QCOMPARE(Sql(f.file())(QStringLiteral("SELECT count(*) FROM messages")).toInt(), 2);
    }

    void deletedHere_itsAnswerComing_staysDeleted() {
        HistoryFolder f;
        {
            History history;
            QVERIFY(history.open(f.path()));
            const ConversationId id = history.create({}, {});
            const MessageId asked = history.add(id, prompt(QStringLiteral("one")));
            history.remove(id);
            history.add(id, answer(QStringLiteral("late"), asked));
            QVERIFY(history.close());
        }
        History again;
        QVERIFY(again.open(f.path()));
        QCOMPARE(again.conversations().size(), 0);
        QCOMPARE(Sql(f.file())(QStringLiteral("SELECT count(*) FROM messages")).toInt(), 0);
    }

    void firstPromptTakenBack_theNextGivesTheTitle() {
        History history;
        const ConversationId id = history.create({}, {});
        history.removeMessage(id, history.add(id, prompt(QStringLiteral("Wrong question"))));
        QCOMPARE(history.info(id).title, QString());
        const MessageId first = history.add(id, prompt(QStringLiteral("What is a router?")));
        QCOMPARE(history.info(id).title, QStringLiteral("What is a router?"));
        history.removeMessage(id, history.add(id, answer({}, first)));
        QCOMPARE(history.info(id).title, QStringLiteral("What is a router?"));
        // A name that the user gave stays.
        history.setTitle(id, QStringLiteral("Routers"));
        history.removeMessage(id, first);
        history.add(id, prompt(QStringLiteral("Another")));
        QCOMPARE(history.info(id).title, QStringLiteral("Routers"));
    }

    // An edited first message kept the title of the one before.
    void title_followsTheFirstMessage_unlessAPersonWroteIt() {
        History history;
        const ConversationId id = history.create({}, {});
        const MessageId pears = history.add(id, prompt(QStringLiteral("What are pears?")));
        history.add(id, answer(QStringLiteral("Fruits."), pears));
        const MessageId plums = history.add(id, prompt(QStringLiteral("What are plums?")));
        QCOMPARE(history.info(id).title, QStringLiteral("What are plums?"));
        history.add(id, prompt(QStringLiteral("And figs?"), plums));
        QCOMPARE(history.info(id).title, QStringLiteral("What are plums?"));
        QVERIFY(history.switchBranch(id, plums, -1));
        QCOMPARE(history.info(id).title, QStringLiteral("What are pears?"));
        history.show(id, plums);
        QCOMPARE(history.info(id).title, QStringLiteral("What are plums?"));
        history.setModelTitle(id, QStringLiteral("Plums"));
        history.add(id, prompt(QStringLiteral("Really?"), plums));
        QCOMPARE(history.info(id).title, QStringLiteral("Plums"));
        // A look at another branch does not cost it.
        QVERIFY(history.switchBranch(id, plums, -1));
        QCOMPARE(history.info(id).title, QStringLiteral("What are pears?"));
        QVERIFY(history.switchBranch(id, pears, 1));
        QCOMPARE(history.info(id).title, QStringLiteral("Plums"));
        history.setTitle(id, QStringLiteral("Fruit"));
        history.add(id, prompt(QStringLiteral("What are apples?")));
        QCOMPARE(history.info(id).title, QStringLiteral("Fruit"));
    }

    void writer_changeThatBreaksARule_takesNoOtherWithIt() {
        HistoryFolder f;
        HistoryWriter writer(f.file(), 1);
        QStringList complaints;
        const QObject here;  // what the writer's thread says later is dropped with it
        connect(&writer, &HistoryWriter::refused, &here, [&](const QString& s) { complaints += s; });
        writer.write(message(99, 3, 0, QStringLiteral("of no conversation")));
        writer.write(change::PutConversation{someInfo(1, QStringLiteral("good"))});
        writer.write(message(1, 5, 0, QStringLiteral("good too")));
        QTRY_COMPARE(complaints.size(), 1);
        QVERIFY(writer.flush(kPatience));
        QCOMPARE(Sql(f.file())(QStringLiteral("SELECT count(*) FROM messages")).toInt(), 1);
        QVERIFY(writer.close());
    }

    // With any later changes, a change waits for the gathering time at most, and half of
    // the second that a crash may cost is left for its commit. The clock is this test's.
    void schedule_noChangeIsPutOff() {
        using namespace std::chrono_literals;
        using Time = CommitSchedule::Time;
        QVERIFY(CommitSchedule::kGatherTime <= 500ms);
        CommitSchedule schedule;
        QCOMPARE(schedule.due(), Time::max());
        QList<Time> waiting;
        std::mt19937 random(7);
        int commits = 0;
        for (Time now(1h); now < Time(1h + 60s); now += 1ms) {
            if (now >= schedule.due()) {
                QVERIFY(!waiting.isEmpty());
                QVERIFY(now - waiting.first() <= CommitSchedule::kGatherTime);
                waiting.clear();
                schedule.clear();
                ++commits;
            }
            if (random() % 3 == 0) {
                const bool urgent = random() % 1000 == 0;
                schedule.add(now, urgent);
                waiting.append(now);
                QVERIFY(schedule.due() <= waiting.first() + CommitSchedule::kGatherTime);
                QVERIFY(!urgent || schedule.due() <= now);
            }
        }
        QVERIFY(commits > 200 && commits < 400);  // and gathers
        schedule.clear();
        schedule.add(Time(2h), false);
        schedule.hurry();
        QVERIFY(schedule.due() <= Time(2h));
    }

    // Without any flush: a single change is committed, and so is text that never stops
    // coming.
    void writer_commitsByItself() {
        HistoryFolder f;
        HistoryWriter writer(f.file(), 1);
        quint64 committed = 0;
        int commits = 0;
        const QObject here;  // what the writer's thread says later is dropped with it
        connect(&writer, &HistoryWriter::committed, &here, [&](quint64 changes) {
            committed = changes;
            ++commits;
        });
        writer.write(change::PutConversation{someInfo(1, QStringLiteral("alone"))});
        QTRY_COMPARE_WITH_TIMEOUT(committed, quint64(1), kPatience.count());
        Message streamed = answer({}, 0, Message::State::Streaming);
        streamed.id = 2;
        writer.write(change::PutMessage{1, streamed});
        const int before = commits;
        QTimer stream;
        connect(&stream, &QTimer::timeout, this, [&writer] {
            writer.write(change::AppendText{2, QStringLiteral("more ")});
        });
        stream.start(1);
        QTRY_VERIFY_WITH_TIMEOUT(commits >= before + 4, kPatience.count());
    }

    void saved_isNotSaidBeforeTheCommit() {
        HistoryFolder f;
        History history;
        QVERIFY(history.open(f.path()));
        history.setBusyTimeout(std::chrono::milliseconds(0));
        quint64 saved = 0;
        connect(&history, &History::saved, this, [&](quint64 changes) { saved = changes; });
        // The writer connects before the other program begins: otherwise connecting would
        // fail before the commit does.
        const ConversationId id = history.create({}, {});
        const MessageId first = history.add(id, prompt(QStringLiteral("one")));
        const quint64 before = history.changeCount();
        QTRY_COMPARE_WITH_TIMEOUT(saved, before, kPatience.count());
        Sql other(f.file());
        QCOMPARE(other(QStringLiteral("BEGIN IMMEDIATE")).toString(), QString());
        history.add(id, answer(QStringLiteral("two"), first));
        for (int tries = 0; tries < 3; ++tries) {
            QVERIFY(!history.saveNow());
            QCoreApplication::processEvents();
            QCOMPARE(saved, before);
            QVERIFY(history.hasUnsaved());
        }
        QCOMPARE(other(QStringLiteral("COMMIT")).toString(), QString());
        QTRY_COMPARE_WITH_TIMEOUT(saved, history.changeCount(), kPatience.count());
        QVERIFY(!history.hasUnsaved());
        QCOMPARE(other(QStringLiteral("SELECT count(*) FROM messages")).toInt(), 2);
    }

    void writer_diskThatRefuses_triesAgain() {
        HistoryFolder f;
        { const ConversationStore create(f.file()); }
        Sql other(f.file());
        // Another program's long transaction, for which it does not wait: the changes are
        // there once that ends.
        QCOMPARE(other(QStringLiteral("BEGIN IMMEDIATE")).toString(), QString());
        HistoryWriter writer(f.file(), 1);
        writer.setBusyTimeout(std::chrono::milliseconds(0));
        QStringList heard;
        quint64 committed = 0;
        const QObject here;  // what the writer's thread says later is dropped with it
        connect(&writer, &HistoryWriter::troubled, &here, [&] { heard += QStringLiteral("troubled"); });
        connect(&writer, &HistoryWriter::recovered, &here, [&] { heard += QStringLiteral("recovered"); });
        connect(&writer, &HistoryWriter::committed, &here, [&](quint64 changes) { committed = changes; });
        writer.write(change::PutConversation{someInfo(1, QStringLiteral("a"))});
        writer.write(message(1, 5, 0, QStringLiteral("one")));
        QTRY_COMPARE_WITH_TIMEOUT(heard, QStringList({QStringLiteral("troubled")}), kPatience.count());
        // A second failed try is not reported again.
        QVERIFY(!writer.tryNow(kPatience));
        QVERIFY(!writer.trouble().isEmpty());
        writer.write(message(1, 7, 5, QStringLiteral("two")));
        QVERIFY(!writer.tryNow(kPatience));
        QCoreApplication::processEvents();
        QCOMPARE(heard.size(), 1);
        QCOMPARE(committed, quint64(0));
        QCOMPARE(other(QStringLiteral("COMMIT")).toString(), QString());
        // Without any request.
        QTRY_COMPARE_WITH_TIMEOUT(heard.value(1), QStringLiteral("recovered"), kPatience.count());
        QTRY_COMPARE_WITH_TIMEOUT(committed, quint64(3), kPatience.count());
        QVERIFY(writer.trouble().isEmpty());
        QCOMPARE(other(QStringLiteral("SELECT group_concat(text) FROM (SELECT text FROM messages ORDER BY id)")),
                 QVariant(QStringLiteral("one,two")));
        QVERIFY(writer.close());
        QCOMPARE(heard.size(), 2);
    }

    // ---------------------------------------------------------------- size

    void tenThousandMessages_open() {
        HistoryFolder f;
        {
            ConversationStore store(f.file());
            QList<Change> changes = {change::PutConversation{someInfo(1, QStringLiteral("long"))}};
            for (MessageId m = 1; m <= 10'000; ++m) {
                Message each = m % 2 ? prompt(QStringLiteral("What is %1?").arg(m), m - 1)
                                     : answer(QStringLiteral("An answer of several words. ").repeated(20), m - 1);
                each.id = m;
                if (m % 2 == 0) {
                    each.figures = AnswerFigures{0.1, 20, 10, 5, 40};
                }
                changes.append(change::PutMessage{1, each});
            }
            store.commit(changes, 1);
        }
        double begin = cpuMs();
        QElapsedTimer timer;
        timer.start();
        const auto took = [&begin, &timer] {
            const QString text =
                QStringLiteral("%1 ms CPU, %2 ms wall").arg(cpuMs() - begin, 0, 'f', 1).arg(timer.elapsed());
            begin = cpuMs();
            timer.start();
            return text;
        };
        History history;
        QVERIFY(history.open(f.path()));
        const QString opened = took();
        const ConversationTree* tree = history.open(1);
        QVERIFY(tree);
        const QString loaded = took();
        const QList<Message> path = tree->path();
        const QString walked = took();
        QCOMPARE(path.size(), 10'000);
        QCOMPARE(path.last().figures->tokensOut, 40);
        took();
        const auto hits = history.search(QStringLiteral("several wor"));
        const QString searched = took();
        QCOMPARE(hits.size(), 200);
        qInfo("file %s; 10,000 messages read in %s, path in %s; search with 5,000 matches %s", qPrintable(opened),
              qPrintable(loaded), qPrintable(walked), qPrintable(searched));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestHistoryStore)
#include "tst_history_store.moc"
