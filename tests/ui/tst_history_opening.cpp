// The window with a history that cannot be opened: nothing is lost silently, and all is
// saved once that is possible.
#include <csignal>
#include <functional>
#include <map>
#include <sys/resource.h>
#include <sys/stat.h>

#include <QAction>
#include <QListView>
#include <QPushButton>
#include <QTest>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/history/conversation_files.h"
#include "ui/history/conversation_list_model.h"
#include "ui/history/history_schema.h"
#include "ui/window/unsaved_bar.h"
#include "ui/window/unsaved_guard.h"

using namespace offstage::ui;
using namespace offstage::test;

namespace {

// An obstacle that keeps a history from being opened.
struct Obstacle {
    std::function<void(const QString& folder)> put;
    std::function<void(const QString& folder)> remove;
    QString reason;  // a part of its message
};

const QString kDatabase = QStringLiteral("/conversations.sqlite");

void limitFileSize(bool limited) {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limited ? 0 : limit.rlim_max;
    ::setrlimit(RLIMIT_FSIZE, &limit);
}

// Its file has one conversation, "kept".
void makeHistory(const QString& folder) {
    History history;
    QVERIFY(history.open(folder));
    history.add(history.create({}, {}), prompt(QStringLiteral("kept")));
    QVERIFY(history.close());
}

Obstacle inThePlaceOf(const QString& file, const std::function<void(const QByteArray& path)>& put,
                      const QString& reason) {
    return {[=](const QString& folder) { put(QFile::encodeName(folder + file)); },
            [=](const QString& folder) { QVERIFY(::remove(QFile::encodeName(folder + file).constData()) == 0); },
            reason};
}

Obstacle pipeAs(const QString& file) {
    return inThePlaceOf(
        file, [](const QByteArray& path) { QCOMPARE(::mkfifo(path.constData(), 0600), 0); },
        file.mid(1) + QStringLiteral(" is in the way"));
}

const std::map<QByteArray, Obstacle>& obstacles() {
    static std::unique_ptr<Sql> other;
    static const auto version = [](const QString& folder, int to) {
        Sql(folder + kDatabase)(QStringLiteral("PRAGMA user_version = %1").arg(to));
    };
    static const std::map<QByteArray, Obstacle> all = {
        {"a newer version's",
         {[](const QString& folder) {
              makeHistory(folder);
              version(folder, 99);
          },
          [](const QString& folder) { version(folder, historyMigrations().back().to); },
          QStringLiteral("newer version of Offstage (format 99")}},
        {"another program writes",
         {[](const QString& folder) {
              makeHistory(folder);
              other = std::make_unique<Sql>(folder + kDatabase);
              QCOMPARE((*other)(QStringLiteral("BEGIN IMMEDIATE")), QVariant());
          },
          [](const QString&) { other.reset(); }, QStringLiteral("in use by another program")}},
        {"a pipe as the database", pipeAs(kDatabase)},
        {"a pipe as its log", pipeAs(kDatabase + QStringLiteral("-wal"))},
        {"a pipe as the lock", pipeAs(QStringLiteral("/opening.lock"))},
        {"a folder as the database",
         inThePlaceOf(
             kDatabase, [](const QByteArray& path) { QCOMPARE(::mkdir(path.constData(), 0700), 0); },
             QStringLiteral("conversations.sqlite is in the way"))},
        {"a file as the folder", inThePlaceOf(
                                     {},
                                     [](const QByteArray& path) {
                                         QFile file(QFile::decodeName(path));
                                         QVERIFY(QDir(file.fileName()).removeRecursively());
                                         QVERIFY(file.open(QIODevice::WriteOnly));
                                     },
                                     QStringLiteral("cannot be made"))},
        {"a disk that takes nothing",
         {[](const QString&) { limitFileSize(true); }, [](const QString&) { limitFileSize(false); },
          QStringLiteral("cannot be read or written")}},
    };
    return all;
}

// A window that started with the obstacle.
struct Obstructed {
    explicit Obstructed(const QByteArray& name, const Script& script = {}) : obstacle(obstacles().at(name)) {
        QVERIFY(QDir().mkpath(folder));
        obstacle.put(folder);
        f = std::make_unique<WindowFixture>(script, QString(), folder);
        f->window->core().history.setBusyTimeout(std::chrono::milliseconds(0));
        f->openAndWait();
    }
    ~Obstructed() { remove(); }
    void remove() {
        if (!removed) {
            removed = true;
            obstacle.remove(folder);
        }
    }
    void ask(const QString& prompt) {
        f->ask(prompt);
        QTRY_COMPARE(f->last().state, Message::State::Done);
    }
    UnsavedBar& bar() const { return part<UnsavedBar>(*f->window); }
    bool isSaid() const { return bar().isVisible() && !bar().isAsking(); }
    bool asks() const { return bar().isVisible() && bar().isAsking(); }
    // The number of conversations whose second line says that they are not saved.
    int nMarked() const {
        const ConversationListModel& model = part<ConversationList>(*f->window).model();
        int n = 0;
        for (int row = 0; row < model.rowCount(); ++row) {
            n += model.index(row)
                         .data(ConversationListModel::SecondLineRole)
                         .toString()
                         .contains(QStringLiteral("Not saved"))
                     ? 1
                     : 0;
        }
        return n;
    }
    int nListed() const { return part<ConversationList>(*f->window).model().rowCount(); }
    // "prompt/answer" of each conversation in the file, a draft after a bar, the oldest
    // first.
    QStringList inFile() const {
        History history;
        if (!history.open(folder)) {
            return {history.trouble()};
        }
        QList<ConversationInfo> all = history.conversations();
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
        QStringList out;
        for (const ConversationInfo& info : all) {
            QStringList texts;
            for (const Message& message : history.open(info.id)->path()) {
                texts += message.text;
            }
            out += texts.join(u'/') + (info.draft.isEmpty() ? QString() : u'|' + info.draft);
        }
        return out;
    }

    QTemporaryDir base;
    QString folder = base.filePath(QStringLiteral("home"));
    const Obstacle& obstacle;
    std::unique_ptr<WindowFixture> f;
    bool removed = false;
};

const QByteArray kAny = "a newer version's";

}  // namespace

class TestHistoryOpening : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() { std::signal(SIGXFSZ, SIG_IGN); }  // for a too large file, an error is enough
    void init() { QSettings().clear(); }

    void whatIsSaid_isNotLostInSilence_data() {
        QTest::addColumn<QByteArray>("name");
        for (const auto& [name, obstacle] : obstacles()) {
            QTest::newRow(name.constData()) << name;
        }
    }
    void whatIsSaid_isNotLostInSilence() {
        QFETCH(QByteArray, name);
        Obstructed t(name);
        QVERIFY(t.isSaid());
        QVERIFY2(t.bar().sentence().contains(t.obstacle.reason), qPrintable(t.bar().sentence()));
        QVERIFY(!find<QPushButton>(t.bar(), "Save as a file…").isVisible());  // nothing is unsaved yet
        t.ask(QStringLiteral("first"));
        const QString answered = t.f->last().text;
        QVERIFY(t.isSaid() && find<QPushButton>(t.bar(), "Save as a file…").isVisible());
        QCOMPARE(t.nMarked(), 1);
        part<QAction>(*t.f->window, "newConversation").trigger();
        t.f->type(QStringLiteral("half a thou"));
        QCOMPARE(t.nMarked(), 2);
        QVERIFY(!t.f->window->close());
        QVERIFY(t.f->window->isVisible() && t.asks());
        QVERIFY2(t.bar().sentence().contains(t.obstacle.reason), qPrintable(t.bar().sentence()));
        QTest::mouseClick(&find<QToolButton>(t.bar(), "Keep the window open"), Qt::LeftButton);
        QVERIFY(t.isSaid());
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QVERIFY(t.isSaid() && t.bar().sentence().contains(QStringLiteral("Tried again")));
        QCOMPARE(t.nMarked(), 2);

        t.remove();
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QVERIFY2(!t.bar().isVisible(), qPrintable(t.bar().sentence()));
        QCOMPARE(t.nMarked(), 0);
        QVERIFY(t.f->window->close());
        QVERIFY(!t.f->window->isVisible());
        QStringList inFile = t.inFile();
        if (inFile.size() == 3) {
            QCOMPARE(inFile.takeFirst(), QStringLiteral("kept"));
        }
        QCOMPARE(inFile, QStringList({QStringLiteral("first/") + answered, QStringLiteral("|half a thou")}));
    }

    void nothingSaid_closesAtOnce() {
        Obstructed t(kAny);
        t.f->type(QStringLiteral("x"));
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Backspace);
        QVERIFY(t.isSaid());
        QVERIFY(t.f->window->close());
    }

    void theQuestion_triedAgain_savesAndCloses() {
        Obstructed t(kAny);
        t.ask(QStringLiteral("first"));
        QVERIFY(!t.f->window->close());
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QVERIFY(t.asks());
        t.remove();
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QVERIFY(!t.f->window->isVisible());
        QCOMPARE(t.inFile().size(), 2);
    }

    void theQuestion_closedWithoutSaving_closes() {
        Obstructed t(kAny);
        t.ask(QStringLiteral("first"));
        QVERIFY(!t.f->window->close());
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Close without saving"), Qt::LeftButton);
        QVERIFY(!t.f->window->isVisible());
        t.remove();
        QCOMPARE(t.inFile(), QStringList(QStringLiteral("kept")));
    }

    void theSessionEnds_closes() {
        Obstructed t(kAny);
        t.ask(QStringLiteral("first"));
        t.remove();
        part<UnsavedGuard>(*t.f->window).endSession();
        QVERIFY(t.f->window->close());
        QCOMPARE(t.inFile().size(), 2);
    }

    void savedAsAFile_staysOpen_andClosesWithoutAsking() {
        Obstructed t(kAny);
        t.ask(QStringLiteral("first"));
        t.f->type(QStringLiteral("a draft"));
        const QString file = t.base.filePath(QStringLiteral("out.json"));
        part<UnsavedGuard>(*t.f->window).saveTo(t.base.filePath(QStringLiteral("no/such/folder/out.json")));
        QVERIFY(t.isSaid() && t.bar().sentence().contains(QStringLiteral("out.json cannot be written")));
        QVERIFY(!t.f->window->close());
        QTest::mouseClick(&find<QToolButton>(t.bar(), "Keep the window open"), Qt::LeftButton);
        part<UnsavedGuard>(*t.f->window).saveTo(file);
        QVERIFY(t.f->window->isVisible() && t.isSaid());
        QVERIFY2(t.bar().sentence().contains(QStringLiteral("Saved as ")), qPrintable(t.bar().sentence()));
        const ImportedConversations read = readConversations(file);
        QVERIFY2(read.error.isEmpty(), qPrintable(read.error));
        QCOMPARE(read.conversations.size(), 1);
        QCOMPARE(read.conversations.first().messages.size(), 2);
        QCOMPARE(read.conversations.first().info.draft, QStringLiteral("a draft"));
        // Later text is in no file.
        t.f->type(QStringLiteral("!"));
        QVERIFY(!t.f->window->close());
        QTest::mouseClick(&find<QToolButton>(t.bar(), "Keep the window open"), Qt::LeftButton);
        part<UnsavedGuard>(*t.f->window).saveTo(file);
        QVERIFY(t.f->window->close());
    }

    void savedAsAFile_importedAgain_hasItsDraft() {
        Obstructed t(kAny);
        t.f->type(QStringLiteral("only a draft"));
        QVERIFY(!t.f->window->close());
        const QString file = t.base.filePath(QStringLiteral("out.json"));
        part<UnsavedGuard>(*t.f->window).saveTo(file);
        QVERIFY(!t.f->window->isVisible());
        t.remove();
        WindowFixture again({}, {}, t.folder);
        part<ConversationList>(*again.window).importFrom(file);
        QCOMPARE(part<ChatPage>(*again.window).input().edit().toPlainText(), QStringLiteral("only a draft"));
        // To be given away, it is not.
        part<ConversationList>(*again.window).exportTo(file, 0);
        QFile out(file);
        QVERIFY(out.open(QIODevice::ReadOnly) && !out.readAll().contains("only a draft"));
    }

    void triedAgain_whatIsInTheFile_isListedToo() {
        Obstructed t(kAny);
        t.ask(QStringLiteral("first"));
        QCOMPARE(t.nListed(), 1);
        const ConversationId deleted = t.f->window->core().chat.current();
        part<QAction>(*t.f->window, "newConversation").trigger();
        t.ask(QStringLiteral("second"));
        t.f->window->core().history.remove(deleted);
        t.remove();
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QCOMPARE(t.nListed(), 2);
        QCOMPARE(t.f->last().kind, Message::Kind::Answer);  // the shown text stays
        t.f->window->core().history.undoRemove(deleted);
        QCOMPARE(t.nListed(), 3);
        QCOMPARE(t.f->window->core().history.search(QStringLiteral("kept")).size(), 2);  // its title, and its text
        QVERIFY(t.f->window->close());
        QCOMPARE(t.inFile().size(), 3);
    }

    // Everything that comes after the file was opened follows what came before.
    void triedAgain_whileAnswering_keepsTheWholeAnswer() {
        Script script;
        script.answer = longAnswer(1500);
        script.tokensPerSecond = 600;
        Obstructed t(kAny, script);
        t.f->stage->heldFrom = 300;
        t.f->ask(QStringLiteral("first"));
        QTRY_VERIFY(t.f->last().text.size() > 100);
        t.remove();
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QCOMPARE(t.f->last().state, Message::State::Streaming);
        t.f->stage->release();
        QTRY_COMPARE_WITH_TIMEOUT(t.f->last().state, Message::State::Done, 60'000);
        QVERIFY(t.f->window->close());
        QCOMPARE(t.inFile().value(1), QStringLiteral("first/") + QString::fromStdString(script.answer));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestHistoryOpening)
#include "tst_history_opening.moc"
