#include "tests/ui/history_crash.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <unistd.h>
#include <utility>

#include <QCoreApplication>
#include <QEventLoop>
#include <QProcess>
#include <QTimer>

#include "tests/ui/history_fixture.h"
#include "ui/history/conversation_store.h"
#include "ui/history/history_error.h"
#include "ui/history/history_writer.h"

namespace offstage::test {

using namespace offstage::ui;

namespace {

constexpr int kPiecesPerAnswer = 400;
constexpr int kPatienceMs = 120'000;

// One clock for all processes.
double nowMs() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000.0 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e6;
}

QString pieceText(int piece) {
    return QStringLiteral("%1 ").arg(piece);
}

// The number of pieces in the text; -1: it is not pieces 0, 1, 2 ... in this order.
int piecesIn(const QString& text) {
    const QStringList pieces = text.split(u' ', Qt::SkipEmptyParts);
    for (qsizetype i = 0; i < pieces.size(); ++i) {
        if (pieces[i] != QString::number(i)) {
            return -1;
        }
    }
    return static_cast<int>(pieces.size());
}

// ----------------------------------------------------------- streaming until it is ended

// Prints on stdout, with times: "p 3 1234.5": the third prompt was sent. "t 3 17 1234.5":
// piece 17 of its answer was streamed. "s 3 17": all up to there is saved.
int streamInto(const QString& folder) {
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
            std::printf("p %d %.3f\n", n, nowMs());
        } else {
            history.appendText(conversation, streaming, pieceText(piece));
            unsaved.push_back({history.changeCount(), n, piece});
            std::printf("t %d %d %.3f\n", n, piece++, nowMs());
        }
        std::fflush(stdout);
    });
    timer.start(1);
    return QCoreApplication::exec();
}

struct Child {
    HistoryFolder folder;
    QProcess process;
    double firstMs = 0;
    double endAfterMs = 0;
    double endedMs = 0;
    struct Heard {
        double ms;
        int n;
        int piece;  // -1: the prompt
    };
    std::vector<Heard> heard;
    std::pair<int, int> saved;  // the last prompt and piece reported as saved

    void listen() {
        while (process.canReadLine()) {
            const QList<QByteArray> words = process.readLine().trimmed().split(' ');
            const int n = words.value(1).toInt();
            if (words.value(0) == "s") {
                saved = {n, words.value(2).toInt()};
            } else {
                heard.push_back({words.last().toDouble(), n, words.value(0) == "t" ? words.value(2).toInt() : -1});
            }
        }
        if (firstMs == 0 && !heard.empty()) {
            firstMs = nowMs();
        }
    }
    bool hasSavedMuch() const { return saved > std::pair(1, 20); }
    // True: it is no longer running.
    bool endInTime() {
        listen();
        if (endedMs == 0 && hasSavedMuch() && nowMs() - firstMs >= endAfterMs) {
            endedMs = nowMs();
            ::kill(static_cast<pid_t>(process.processId()), SIGKILL);
        }
        return process.state() == QProcess::NotRunning;
    }
};

// For one message of the path: whole pieces, and a matching state.
QString faultOf(const QList<Message>& path, qsizetype i) {
    const Message& m = path[i];
    if (m.kind == Message::Kind::Prompt) {
        return m.text == QStringLiteral("prompt %1").arg(i / 2 + 1) ? QString() : QStringLiteral("another prompt");
    }
    const int pieces = piecesIn(m.text);
    // The end may have come between an answer's end and the next prompt: then the last
    // answer is complete.
    const bool isDone = m.state == Message::State::Done && pieces == kPiecesPerAnswer;
    const bool isCut = m.state == Message::State::Stopped && m.note.contains(QStringLiteral("closed"));
    const bool isRight = pieces >= 0 && (isDone || (isCut && i + 1 == path.size()));
    return isRight ? QString() : QStringLiteral("message %1 is not as it was written: %2").arg(i).arg(m.text);
}

CrashResult lookAt(Child& child) {
    CrashResult out;
    History history;
    if (!history.open(child.folder.path()) || !history.notices().isEmpty() || history.conversations().size() != 1) {
        out.fault = QStringLiteral("the file does not open as it was: ") + history.trouble();
        return out;
    }
    const QList<Message> path = history.open(history.conversations().first().id)->path();
    for (qsizetype i = 0; i < path.size(); ++i) {
        out.nKept += path[i].kind == Message::Kind::Answer ? piecesIn(path[i].text) : 0;
        out.fault = out.fault.isEmpty() ? faultOf(path, i) : out.fault;
    }
    for (const Child::Heard& heard : child.heard) {
        const qsizetype row = 2 * (heard.n - 1) + (heard.piece < 0 ? 0 : 1);
        if (row < path.size() && (heard.piece < 0 || heard.piece < piecesIn(path[row].text))) {
            continue;
        }
        out.lostMs.push_back(child.endedMs - heard.ms);
        if (out.fault.isEmpty() && std::pair(heard.n, heard.piece) <= child.saved) {
            out.fault = QStringLiteral("prompt %1, piece %2, is lost, and all up to %3, %4 was said to be saved")
                            .arg(heard.n)
                            .arg(heard.piece)
                            .arg(child.saved.first)
                            .arg(child.saved.second);
        }
    }
    history.close();
    Sql sql(child.folder.file());
    if (sql(QStringLiteral("PRAGMA integrity_check")).toString() != QStringLiteral("ok") ||
        sql(QStringLiteral("SELECT count(*) FROM journal")).toInt() != 0) {
        out.fault = QStringLiteral("the file is not whole");
    }
    return out;
}

// --------------------------------------------------------------- ended by its own report

constexpr ConversationId kConversation = 1;
constexpr MessageId kPrompt = 2;
constexpr MessageId kAnswer = 3;
constexpr quint64 kChangesBefore = 3;  // the first piece

int dieAtReport(const QString& file, int n) {
    HistoryWriter writer(file, 1);
    QObject::connect(
        &writer, &HistoryWriter::committed, &writer,
        [&n](quint64 changes) {
            if (--n == 0) {
                std::printf("%llu\n", static_cast<unsigned long long>(changes));
                std::fflush(stdout);
                ::kill(::getpid(), SIGKILL);
            }
        },
        Qt::DirectConnection);
    ConversationInfo info;
    info.id = kConversation;
    Message asked = prompt(QStringLiteral("prompt"));
    asked.id = kPrompt;
    Message answered = answer({}, kPrompt, Message::State::Streaming);
    answered.id = kAnswer;
    writer.write(change::PutConversation{info});
    writer.write(change::PutMessage{kConversation, asked});
    writer.write(change::PutMessage{kConversation, answered});
    for (int piece = 0;; ++piece) {
        writer.write(change::AppendText{kAnswer, pieceText(piece)});
        ::usleep(1000);
    }
}

}  // namespace

double CrashResult::oldestLostMs() const {
    return lostMs.empty() ? 0 : *std::max_element(lostMs.begin(), lostMs.end());
}

std::optional<int> crashChild(int argc, char** argv) {
    const QByteArray role = argc >= 3 ? argv[1] : "";
    if (role != "--stream" && role != "--die-at-report") {
        return std::nullopt;
    }
    const QCoreApplication app(argc, argv);
    const QString where = QString::fromLocal8Bit(argv[2]);
    return role == "--stream" ? streamInto(where) : dieAtReport(where, argc > 3 ? QByteArray(argv[3]).toInt() : 1);
}

std::vector<CrashResult> crashWhileStreaming(int nAtOnce) {
    static std::mt19937 random(std::random_device{}());
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < nAtOnce; ++i) {
        auto child = std::make_unique<Child>();
        child->endAfterMs = 1100 + static_cast<double>(random() % 900);
        child->process.start(QCoreApplication::applicationFilePath(),
                             {QStringLiteral("--stream"), child->folder.path()});
        children.push_back(std::move(child));
    }
    QEventLoop loop;
    QTimer look;
    const double begin = nowMs();
    QObject::connect(&look, &QTimer::timeout, [&] {
        const auto running = std::count_if(children.begin(), children.end(), [](auto& c) { return !c->endInTime(); });
        if (running == 0 || nowMs() - begin > kPatienceMs) {
            loop.quit();
        }
    });
    look.start(2);
    loop.exec();
    std::vector<CrashResult> out;
    for (auto& child : children) {
        child->listen();
        if (child->endedMs == 0 || child->process.exitStatus() != QProcess::CrashExit) {
            child->process.kill();
            child->process.waitForFinished(kPatienceMs);
            out.push_back({QStringLiteral("the program ended otherwise, or never saved much"), 0, {}});
        } else {
            out.push_back(lookAt(*child));
        }
    }
    return out;
}

QString crashAtReport(int n) {
    const HistoryFolder folder;
    QProcess child;
    child.start(QCoreApplication::applicationFilePath(),
                {QStringLiteral("--die-at-report"), folder.file(), QString::number(n)});
    if (!child.waitForFinished(kPatienceMs) || child.exitStatus() != QProcess::CrashExit) {
        child.kill();
        child.waitForFinished(kPatienceMs);
        return QStringLiteral("the program did not come to its report");
    }
    const quint64 reported = child.readAllStandardOutput().trimmed().toULongLong();
    try {
        const QList<Message> messages = ConversationStore(folder.file()).load(kConversation).messages;
        const qsizetype wantedMessages = std::min<qsizetype>(static_cast<qsizetype>(reported) - 1, 2);
        const int wantedPieces = static_cast<int>(reported) - static_cast<int>(kChangesBefore);
        const int pieces = messages.size() < 2 ? 0 : piecesIn(messages[1].text);
        if (messages.size() >= wantedMessages && pieces >= wantedPieces) {
            return {};
        }
        return QStringLiteral("%1 changes were reported as saved; %2 messages and %3 pieces are there")
            .arg(reported)
            .arg(messages.size())
            .arg(pieces);
    } catch (const HistoryError& error) {
        return QStringLiteral("%1 changes were reported as saved: %2").arg(reported).arg(error.sentence());
    }
}

}  // namespace offstage::test
