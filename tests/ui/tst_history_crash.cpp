// A program that is ended in the middle of writing: what it had is there at the next start, and the file is whole.
//
// The program is this one: started with --child FOLDER it streams text through the real writer until it is ended, and
// reports on stdout what it has handed over and what was said to be saved. What was said to be saved must be there.
// OFFSTAGE_HISTORY_CRASHES sets the number of moments tried, and asks besides that nothing is lost that is older than a
// second: by the clock, so of a machine that is not busy otherwise.
#include <csignal>
#include <cstdio>
#include <deque>
#include <random>

#include <QElapsedTimer>
#include <QProcess>
#include <QTest>
#include <QTimer>

#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"

using namespace offstage::ui;
using offstage::test::answer;
using offstage::test::HistoryFolder;
using offstage::test::prompt;
using offstage::test::Sql;

namespace {

// What a stopped program may lose.
constexpr qint64 kLossMs = 1000;
constexpr int kPiecesPerAnswer = 400;

// "p 3": the third prompt was sent. "t 3 17": piece 17 of its answer was streamed. "s 3 17": all up to there is saved.
int runChild(const QString& folder) {
    History history;
    if (!history.open(folder)) {
        return 2;
    }
    const ConversationId conversation = history.create({}, {});
    MessageId last = 0;
    MessageId streaming = 0;
    int n = 0;
    int piece = kPiecesPerAnswer;
    struct HandedOver {
        quint64 changes;
        int n;
        int piece;
    };
    std::deque<HandedOver> unsaved;
    QObject::connect(&history, &History::saved, &history, [&](quint64 changes) {
        HandedOver newest{};
        while (!unsaved.empty() && unsaved.front().changes <= changes) {
            newest = unsaved.front();
            unsaved.pop_front();
        }
        if (newest.changes > 0) {
            std::printf("s %d %d\n", newest.n, newest.piece);
            std::fflush(stdout);
        }
    });
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, [&] {
        if (piece == kPiecesPerAnswer) {
            if (streaming != 0) {
                history.edit(conversation, streaming, [](Message& m) { m.state = Message::State::Done; });
            }
            last = history.add(conversation, prompt(QStringLiteral("prompt %1").arg(++n), last));
            streaming = last = history.add(conversation, answer({}, last, Message::State::Streaming));
            piece = 0;
            std::printf("p %d\n", n);
        } else {
            history.appendText(conversation, streaming, QStringLiteral("%1 ").arg(piece));
            unsaved.push_back({history.changeCount(), n, piece});
            std::printf("t %d %d\n", n, piece++);
        }
        std::fflush(stdout);
    });
    timer.start(1);
    return QCoreApplication::exec();
}

struct Child {
    HistoryFolder folder;
    QProcess process;
    QElapsedTimer sinceStart;
    qint64 endAtMs = 0;
    qint64 endedAtMs = 0;
    struct Heard {
        qint64 atMs;
        int n;
        int piece;  // -1: the prompt
    };
    std::vector<Heard> heard;
    std::pair<int, int> saved;  // the last prompt and piece that was said to be saved

    void listen() {
        while (process.canReadLine()) {
            const QList<QByteArray> words = process.readLine().trimmed().split(' ');
            const int n = words.value(1).toInt();
            if (words.value(0) == "s") {
                saved = {n, words.value(2).toInt()};
            } else {
                heard.push_back({sinceStart.elapsed(), n, words.value(0) == "t" ? words.value(2).toInt() : -1});
            }
        }
    }
    bool hasSavedMuch() const { return saved > std::pair(1, 20); }
};

}  // namespace

class TestHistoryCrash : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void endedWhileStreaming_losesNothingThatWasSaved() {
        const int crashes = qEnvironmentVariableIntValue("OFFSTAGE_HISTORY_CRASHES");
        const int wanted = crashes > 0 ? crashes : 8;
        std::mt19937 random(std::random_device{}());
        int kept = 0;
        int lost = 0;
        qint64 oldestLostMs = 0;
        for (int done = 0; done < wanted; done += 4) {
            std::vector<std::unique_ptr<Child>> children;
            for (int i = done; i < std::min(done + 4, wanted); ++i) {
                auto child = std::make_unique<Child>();
                child->endAtMs = 1100 + static_cast<qint64>(random() % 900);
                child->process.start(QCoreApplication::applicationFilePath(),
                                     {QStringLiteral("--child"), child->folder.path()});
                child->sinceStart.start();
                children.push_back(std::move(child));
            }
            const auto all = [&children](auto&& what) {
                bool every = true;
                for (auto& child : children) {
                    every = what(*child) && every;
                }
                return every;
            };
            QTRY_VERIFY_WITH_TIMEOUT(
                all([](Child& c) {
                    c.listen();
                    if (c.heard.empty()) {
                        c.sinceStart.start();  // still starting
                    } else if (c.endedAtMs == 0 && c.hasSavedMuch() && c.sinceStart.elapsed() >= c.endAtMs) {
                        c.endedAtMs = c.sinceStart.elapsed();
                        ::kill(static_cast<pid_t>(c.process.processId()), SIGKILL);
                    }
                    return c.process.state() == QProcess::NotRunning;
                }),
                60'000);
            for (auto& child : children) {
                child->listen();
                QCOMPARE(child->process.exitStatus(), QProcess::CrashExit);
                check(*child, kept, lost, oldestLostMs);
            }
        }
        qInfo("%d crashes: %d pieces were found again, %d were not, the oldest of them %lld ms old", wanted, kept, lost,
              oldestLostMs);
        QVERIFY(kept > wanted * 20);
        QVERIFY2(crashes == 0 || oldestLostMs < kLossMs, qPrintable(QString::number(oldestLostMs)));
    }

  private:
    static void check(Child& child, int& kept, int& lost, qint64& oldestLostMs) {
        History history;
        QVERIFY(history.open(child.folder.path()));
        QVERIFY2(history.notices().isEmpty(), "the file needed no repair");
        const QList<ConversationInfo> all = history.conversations();
        QCOMPARE(all.size(), 1);
        const QList<Message> path = history.open(all.first().id)->path();
        for (qsizetype i = 0; i < path.size(); ++i) {
            const Message& m = path[i];
            if (m.kind == Message::Kind::Prompt) {
                QCOMPARE(m.text, QStringLiteral("prompt %1").arg(i / 2 + 1));
                continue;
            }
            // Whole pieces, from the first on, none twice.
            const QStringList pieces = m.text.split(u' ', Qt::SkipEmptyParts);
            for (qsizetype p = 0; p < pieces.size(); ++p) {
                QCOMPARE(pieces[p], QString::number(p));
            }
            // The end may have come between an answer's end and the next prompt: then the last answer is done.
            const bool isDone = m.state == Message::State::Done && pieces.size() == qsizetype(kPiecesPerAnswer);
            const bool cutShort = i + 1 == path.size() && !isDone;
            QVERIFY(m.state == (cutShort ? Message::State::Stopped : Message::State::Done));
            if (cutShort) {
                QVERIFY(m.note.contains(QStringLiteral("closed")));
            } else {
                QCOMPARE(pieces.size(), qsizetype(kPiecesPerAnswer));
            }
            kept += static_cast<int>(pieces.size());
        }
        for (const Child::Heard& heard : child.heard) {
            const qsizetype row = 2 * (heard.n - 1) + (heard.piece < 0 ? 0 : 1);
            const bool there = row < path.size() &&
                               (heard.piece < 0 ||
                                path[row].text.split(u' ', Qt::SkipEmptyParts).contains(QString::number(heard.piece)));
            if (!there) {
                ++lost;
                oldestLostMs = std::max(oldestLostMs, child.endedAtMs - heard.atMs);
                QVERIFY2((std::pair(heard.n, heard.piece) > child.saved),
                         qPrintable(QStringLiteral(
                                        "prompt %1, piece %2, was said to be saved, and all up to prompt %3, piece %4")
                                        .arg(heard.n)
                                        .arg(heard.piece)
                                        .arg(child.saved.first)
                                        .arg(child.saved.second)));
            }
        }
        QVERIFY(history.close());
        Sql sql(child.folder.file());
        QCOMPARE(sql(QStringLiteral("PRAGMA integrity_check")).toString(), QStringLiteral("ok"));
        QCOMPARE(sql(QStringLiteral("SELECT count(*) FROM journal")).toInt(), 0);
    }
};

int main(int argc, char** argv) {
    if (argc == 3 && qstrcmp(argv[1], "--child") == 0) {
        const QCoreApplication app(argc, argv);
        return runChild(QString::fromLocal8Bit(argv[2]));
    }
    return offstage::test::runHeadless(argc, argv, [](int n, char** v) {
        TestHistoryCrash test;
        return QTest::qExec(&test, n, v);
    });
}
#include "tst_history_crash.moc"
