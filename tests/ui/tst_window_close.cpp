// The window's end, with a disk that accepts the data and with one that does not.
#include <QAction>
#include <QDockWidget>
#include <QPushButton>
#include <QTest>

#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/conversation_list.h"
#include "ui/history/conversation_files.h"
#include "ui/history/conversation_list_model.h"
#include "ui/widgets/panel_action.h"
#include "ui/window/main_window.h"
#include "ui/window/unsaved_bar.h"
#include "ui/window/unsaved_guard.h"

using namespace offstage::test;
using namespace offstage::ui;
using offstage::test::HistoryFolder;
using offstage::test::Sql;
using offstage::test::WindowFixture;

namespace {

// A window in which the prompt "kept" was sent and saved; then another program locked the
// file, and "new" was sent.
struct Refused {
    Refused() {
        f.openAndWait();
        ask(QStringLiteral("kept"));
        f.window->core().history.flush();
        f.window->core().history.setBusyTimeout(std::chrono::milliseconds(0));
        QCOMPARE(other(QStringLiteral("BEGIN IMMEDIATE")).toString(), QString());
        ask(QStringLiteral("new"));
    }
    void ask(const QString& prompt) {
        f.ask(prompt);
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }
    bool hasClosed() const { return !f.window->isVisible() && f.stage->sessionsAlive.load() == 0; }
    int nNewOnDisk() { return other(QStringLiteral("SELECT count(*) FROM messages WHERE text = 'new'")).toInt(); }
    UnsavedBar& bar() const { return offstage::test::part<UnsavedBar>(*f.window); }

    HistoryFolder folder;
    WindowFixture f{{}, {}, folder.path()};
    Sql other{folder.file()};
};

}  // namespace

class TestWindowClose : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void destroyed_whileVisible_docksAreHiddenByAWholeWindow() {
        WindowFixture f;
        f.openAndWait();
        int whole = 0;
        int partly = 0;
        for (QDockWidget* dock : f.window->findChildren<QDockWidget*>()) {
            PanelAction& action = PanelAction::of(*dock);
            if (!dock->isVisible()) {
                action.trigger();
            }
            connect(dock, &QDockWidget::visibilityChanged, dock, [dock, &whole, &partly] {
                ++(qobject_cast<MainWindow*>(dock->parent()) != nullptr ? whole : partly);
            });
        }
        f.window.reset();
        QVERIFY(whole > 0);
        QCOMPARE(partly, 0);
    }

    void saved_closesAtOnce() {
        Refused t;
        t.other(QStringLiteral("COMMIT"));
        QVERIFY(t.f.window->close());
        QVERIFY(t.hasClosed());
        QCOMPARE(t.nNewOnDisk(), 1);
    }

    void unsaved_staysOpenAndSaysSo_closesOnceItIsSaved() {
        Refused t;
        QVERIFY(!t.f.window->close());
        QVERIFY(t.f.window->isVisible() && t.bar().isVisible());
        QVERIFY2(t.bar().sentence().contains(QStringLiteral("in use by another program")),
                 qPrintable(t.bar().sentence()));
        QVERIFY(find<QPushButton>(t.bar(), "Save as a file…").isVisible());
        // The chat goes on.
        t.ask(QStringLiteral("more"));
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QVERIFY(t.f.window->isVisible() && t.bar().isVisible());
        t.other(QStringLiteral("COMMIT"));
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Try again"), Qt::LeftButton);
        QVERIFY(t.hasClosed());
        QCOMPARE(t.nNewOnDisk(), 1);
    }

    // Before any attempt to close: as long as it lasts, and no longer.
    void unsaved_isSaid() {
        Refused t;
        const auto line = [&t] {
            const ConversationListModel& model = offstage::test::part<ConversationList>(*t.f.window).model();
            return model.index(0).data(ConversationListModel::SecondLineRole).toString();
        };
        QTRY_VERIFY_WITH_TIMEOUT(t.bar().isVisible(), 60'000);
        QVERIFY(!t.bar().isAsking() && !find<QPushButton>(t.bar(), "Close without saving").isVisible());
        QVERIFY2(t.bar().sentence().contains(QStringLiteral("in use by another program")),
                 qPrintable(t.bar().sentence()));
        QVERIFY(line().contains(QStringLiteral("Not saved")));
        t.ask(QStringLiteral("more"));
        QVERIFY(t.bar().isVisible());
        t.other(QStringLiteral("COMMIT"));
        QTRY_VERIFY_WITH_TIMEOUT(!t.bar().isVisible(), 60'000);
        QVERIFY(!line().contains(QStringLiteral("Not saved")));
        QCOMPARE(t.nNewOnDisk(), 1);
    }

    void buttons_areNeverCutOff() {
        UnsavedBar bar;
        bar.ask(QStringLiteral("The chat history cannot be written."), true);
        int rows = 0;
        for (const int width : {900, 400, 1}) {
            bar.resize(width, bar.heightForWidth(width));
            QTest::qWait(0);  // the layout is made by an event
            QSet<int> tops;
            for (const QPushButton* button :
                 {&find<QPushButton>(bar, "Try again"), &find<QPushButton>(bar, "Save as a file…"),
                  &find<QPushButton>(bar, "Close without saving")}) {
                QVERIFY(button->width() >= button->minimumWidth());
                QVERIFY(bar.rect().contains(QRect(button->mapTo(&bar, QPoint()), button->size())));
                tops.insert(button->mapTo(&bar, QPoint()).y());
            }
            rows = std::max(rows, static_cast<int>(tops.size()));
            QVERIFY(width < 900 || tops.size() == 1);
        }
        QCOMPARE(rows, 3);
    }

    void unsaved_savedMeanwhile_theBarGoes() {
        Refused t;
        QVERIFY(!t.f.window->close());
        t.other(QStringLiteral("COMMIT"));
        QTRY_VERIFY_WITH_TIMEOUT(!t.bar().isVisible(), 60'000);
        QCOMPARE(t.nNewOnDisk(), 1);
        QVERIFY(t.f.window->close());
    }

    void unsaved_askedASecondTime_closes() {
        Refused t;
        QVERIFY(!t.f.window->close());
        QVERIFY(!t.f.window->close());  // too soon to be an answer
        QTRY_VERIFY_WITH_TIMEOUT(t.f.window->close(), 60'000);
        QVERIFY(t.hasClosed());
    }

    void unsaved_closedWithoutSaving_closes() {
        Refused t;
        QVERIFY(!t.f.window->close());
        QTest::mouseClick(&find<QPushButton>(t.bar(), "Close without saving"), Qt::LeftButton);
        QVERIFY(t.hasClosed());
        t.other(QStringLiteral("COMMIT"));
        QCOMPARE(t.nNewOnDisk(), 0);
    }

    void unsaved_theSessionEnds_closes() {
        Refused t;
        offstage::test::part<UnsavedGuard>(*t.f.window).endSession();
        QVERIFY(t.f.window->close());
        QVERIFY(t.hasClosed());
    }

    void unsaved_asAFile_hasWhatIsMissing_andCloses() {
        Refused t;
        const ConversationId id = t.f.window->core().chat.current();
        offstage::test::part<QAction>(*t.f.window, "newConversation").trigger();
        QVERIFY(!t.f.window->close());
        offstage::test::part<UnsavedGuard>(*t.f.window)
            .saveTo(t.folder.folder.filePath(QStringLiteral("no/such/folder/out.json")));
        QVERIFY(t.f.window->isVisible());
        QVERIFY(t.bar().sentence().contains(QStringLiteral("out.json cannot be written")));
        const QString file = t.folder.folder.filePath(QStringLiteral("out.json"));
        const QByteArray whole = conversationsToJson({t.f.window->core().history.stored(id).value()});
        offstage::test::part<UnsavedGuard>(*t.f.window).saveTo(file);
        QVERIFY(t.hasClosed());
        QFile in(file);
        QVERIFY(in.open(QIODevice::ReadOnly));
        QCOMPARE(in.readAll(), whole);
        QVERIFY(whole.contains("\"kept\"") && whole.contains("\"new\""));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWindowClose)
#include "tst_window_close.moc"
