// Nothing moves under the pointer: streaming, Apply, Undo, notices and verdicts leave
// every control where it is.
#include <QAction>
#include <QDockWidget>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/ui/budget_texts.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/geometry.h"
#include "tests/ui/replan_session.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/load/fit_view.h"
#include "ui/load/open_model_dialog.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/plot/stacked_bar.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/panel_docks.h"
#include "ui/window/unsaved_bar.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

constexpr quint64 kMiB = quint64{1} << 20;

struct Fixture {
    std::shared_ptr<Stage> stage = std::make_shared<Stage>();
    std::shared_ptr<ReplanStage> replans = std::make_shared<ReplanStage>();
    std::unique_ptr<MainWindow> window;

    explicit Fixture(const Script& script = {}) {
        stage->setScript(script);
        MainWindow::Options options;
        options.theme = Theme::Light;
        window = std::make_unique<MainWindow>(
            [s = stage, r = replans] { return std::make_unique<ReplanSession>(s, r); }, options);
        window->resize(1280, 800);
        part<PanelDocks>(*window).show(QStringLiteral("experts"));
        window->show();
        QApplication::setActiveWindow(window.get());
        window->opener().open(QStringLiteral("/models/fake-moe"));
        QTRY_COMPARE(window->core().engine.state(), EngineController::State::Ready);
    }
    void with(const std::function<void(ReplanStage&)>& change) const {
        const std::lock_guard lock(replans->mutex);
        change(*replans);
    }
    void ask(const QString& text) const {
        auto& edit = part<ChatPage>(*window).input().edit();
        edit.setFocus();
        QTest::keyClicks(&edit, text);
        QTest::keyClick(&edit, Qt::Key_Return);
    }
    bool isDone() const {
        const auto& all = window->core().conversation.messages();
        return !all.isEmpty() && all.last().kind == Message::Kind::Answer && all.last().state == Message::State::Done;
    }
    void settle() const {
        for (int pass = 0; pass < 4; ++pass) {
            QCoreApplication::processEvents();
        }
    }
};

#define COMPARE_PLACES(before, root) QCOMPARE(movedSince(before, root).join(u'\n'), QString())

}  // namespace

class TestSteadyControls : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void budget_previewApplyUndoAndProblems_moveNothing() {
        Fixture f;
        part<PanelDocks>(*f.window).show(QStringLiteral("budget"));
        BudgetPanel& panel = part<BudgetPanel>(*f.window);
        QTRY_COMPARE(panel.form().vram().bytes(), 6144 * kMiB);
        f.settle();
        const auto before = placesOf(panel);
        QVERIFY(before.size() >= 10);
        QVERIFY(before.contains(&test::find<QPushButton>(panel, "Apply")) &&
                before.contains(&test::find<QPushButton>(panel, "Undo")));

        QTest::keyClick(&panel.form().vram().spin(), Qt::Key_Up);
        COMPARE_PLACES(before, panel);
        QTRY_VERIFY(!test::previewText(panel).isEmpty());
        f.settle();
        COMPARE_PLACES(before, panel);
        QVERIFY(!panel.bars().rows().front().ghost.empty());
        f.with([](ReplanStage& s) { s.finishes = false; });
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(panel.progress().isVisible());
        // What is under way is read whole, in two lines too.
        const QLabel& moved = *panel.progress().parentWidget()->findChild<QLabel*>();
        QTRY_VERIFY2(moved.visibleRegion().boundingRect() == moved.rect() &&
                         moved.height() >= 2 * moved.fontMetrics().lineSpacing(),
                     qPrintable(moved.text()));
        f.settle();
        COMPARE_PLACES(before, panel);
        QTest::mouseClick(&find<QPushButton>(panel, "Cancel"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("Cancelled")));
        f.settle();
        COMPARE_PLACES(before, panel);
        f.with([](ReplanStage& s) { s.finishes = true; });
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        f.settle();
        COMPARE_PLACES(before, panel);
        QVERIFY(panel.bars().rows().front().ghost.empty());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QTRY_COMPARE(panel.form().vram().bytes(), 6144 * kMiB);
        f.settle();
        COMPARE_PLACES(before, panel);

        f.with([](ReplanStage& s) {
            s.previewProblem =
                "The model does not fit in 1.0 MiB of VRAM. Its dense weights alone need 1.0 GiB, and "
                "so much is not there, however the experts are placed and whatever they are kept in.";
        });
        QTest::keyClick(&panel.form().vram().spin(), Qt::Key_Down);
        QTRY_VERIFY(!panel.problem().isEmpty());
        f.settle();
        COMPARE_PLACES(before, panel);
        QTest::mouseClick(&find<QPushButton>(panel, "Reset"), Qt::LeftButton);
        f.settle();
        COMPARE_PLACES(before, panel);
    }

    void streaming_movesNoControlOfAnyPanel_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"experts", "cache", "budget", "whatIf", "benchmark", "sampling", "log", "dispatch"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }

    void streaming_movesNoControlOfAnyPanel() {
        QFETCH(QString, name);
        Script script;
        script.answer = longAnswer(60);
        script.residents = 3;
        Fixture f(script);
        part<PanelDocks>(*f.window).show(name);
        f.ask(QStringLiteral("Once"));  // empty parts may look different before it
        QTRY_VERIFY(f.isDone());
        QDockWidget* dock = part<PanelDocks>(*f.window).dock(name);
        QTRY_VERIFY(dock->isVisible());
        QTRY_VERIFY(f.window->core().engine.snapshot()->window_tokens > 0);
        f.settle();
        const auto before = placesOf(*dock);
        f.ask(QStringLiteral("Again"));
        while (!f.isDone()) {
            QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
            COMPARE_PLACES(before, *dock);
        }
        f.settle();
        COMPARE_PLACES(before, *dock);
    }

    void experts_channelsAndNotices_moveNothing() {
        Script script;
        script.residents = 3;
        Fixture f(script);
        ExpertsPanel& panel = part<ExpertsPanel>(*f.window);
        f.ask(QStringLiteral("Once"));
        QTRY_VERIFY(f.isDone());
        QTRY_VERIFY(panel.map().rows() == 8);
        f.settle();
        const auto before = placesOf(panel);
        for (int i = 0; i < kExpertChannels; ++i) {
            panel.setChannel(static_cast<ExpertChannel>(i));
            f.settle();
            COMPARE_PLACES(before, panel);
        }
        QTest::mouseMove(&panel.map(), panel.map().rectOf({2, 3}).center());
        f.settle();
        COMPARE_PLACES(before, panel);
        panel.actions().change(engine::ExpertChange::Kind::kPin, {{1, 2}});
        QTRY_VERIFY(!panel.notice().isEmpty());
        f.settle();
        COMPARE_PLACES(before, panel);
    }

    void savedAs_movesNothing() {
        Fixture f;
        part<PanelDocks>(*f.window).show(QStringLiteral("benchmark"));
        BenchmarkPanel& panel = part<BenchmarkPanel>(*f.window);
        f.ask(QStringLiteral("Once"));
        QTRY_VERIFY(f.isDone());
        QTRY_COMPARE(panel.answers().rowCount(), 1);
        f.settle();
        const auto before = placesOf(*f.window);
        QPushButton* save = nullptr;
        for (QPushButton* each : panel.findChildren<QPushButton*>()) {
            save = each->text().startsWith(QStringLiteral("Export")) ? each : save;
        }
        QVERIFY(save != nullptr);
        const QTemporaryDir folder;
        QTest::mouseClick(save, Qt::LeftButton);
        QFileDialog* dialog = nullptr;
        QTRY_VERIFY((dialog = f.window->findChild<QFileDialog*>()) != nullptr);
        Q_EMIT dialog->fileSelected(folder.filePath(QStringLiteral("answers-of-this-session.json")));
        dialog->close();
        QTRY_VERIFY2(panel.notice().startsWith(QStringLiteral("Saved as")), qPrintable(panel.notice()));
        f.settle();
        COMPARE_PLACES(before, panel);

        // And of a conversation: the list keeps its rows where they are.
        ConversationList& list = part<ConversationList>(*f.window);
        f.settle();
        const auto ofList = placesOf(list);
        list.exportTo(folder.filePath(QStringLiteral("conversation.json")), f.window->core().chat.current());
        QVERIFY2(list.notice().startsWith(QStringLiteral("Saved as")), qPrintable(list.notice()));
        f.settle();
        COMPARE_PLACES(ofList, list);
        COMPARE_PLACES(before, part<ChatPage>(*f.window));
    }

    // "Saved as ..." is added below the present sentence.
    void unsavedBar_whatIsAdded_movesNothing() {
        UnsavedBar bar;
        const QString trouble = QStringLiteral(
            "The disk that conversations are kept on is full. What is written is kept in memory; saving is tried again "
            "every second.");
        bar.resize(600, 400);
        bar.tell(trouble, true);
        bar.resize(600, bar.heightForWidth(600));
        QCoreApplication::processEvents();
        const auto before = placesOf(bar);
        QVERIFY(before.size() >= 2);
        bar.tell(
            trouble + QStringLiteral(" Saved as /home/person/Documents/conversations-that-were-not-saved.json: what "
                                     "is written from now on is not in it."),
            true);
        bar.resize(600, bar.heightForWidth(600));
        QCoreApplication::processEvents();
        COMPARE_PLACES(before, bar);
    }

    void openDialog_verdicts_moveNothing() {
        const QString model = demoModel();
        if (!QFile::exists(model)) {
            QSKIP("the demo model is not in this tree");
        }
        EngineController engine([] { return engine::Session::create(); });
        OpenModelDialog dialog(engine);
        dialog.resize(620, 640);
        dialog.show();
        auto* view = dialog.findChild<FitView*>();
        dialog.setModel(model);
        view->device().setCurrentIndex(view->device().findData(QStringLiteral("emulated:rtx-3060-desktop")));
        QTRY_VERIFY_WITH_TIMEOUT(view->estimate() && !view->isEstimating(), 60'000);
        QCoreApplication::processEvents();
        const auto before = placesOf(dialog);
        QVERIFY(before.size() >= 10);
        QStringList verdicts{view->verdict()};
        for (const double mib : {2.0, 24.0, 4.0, 200.0}) {
            view->vram().spin().setValue(mib);
            QCoreApplication::processEvents();
            COMPARE_PLACES(before, dialog);
            QTRY_VERIFY_WITH_TIMEOUT(!view->isEstimating(), 60'000);
            for (int pass = 0; pass < 4; ++pass) {
                QCoreApplication::processEvents();
            }
            COMPARE_PLACES(before, dialog);
            verdicts << view->verdict();
        }
        verdicts.removeDuplicates();
        QVERIFY2(verdicts.size() > 2, qPrintable(verdicts.join(u'\n')));
        dialog.close();
        engine.shutdown();
    }
};

OFFSTAGE_UI_TEST_MAIN(TestSteadyControls)
#include "tst_steady_controls.moc"
