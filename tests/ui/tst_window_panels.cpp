// The window with its panels open, on the real engine: the user's control while the
// answer is being written, and the panels when the model changes or the window closes.
#include <QAction>
#include <QDockWidget>
#include <QFile>
#include <QPushButton>
#include <QSlider>
#include <QTest>

#include "kernels/formats.h"
#include "tests/ui/budget_texts.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/engine/format.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/event_log.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/selection.h"
#include "ui/plot/stacked_bar.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/hardware_menu.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::ui;
using State = EngineController::State;

namespace {

constexpr quint64 kMiB = quint64{1} << 20;
const char* const kPanels[] = {"experts",  "budget",    "dispatch", "cache",   "whatIf",
                               "machines", "benchmark", "log",      "sampling"};

}  // namespace

class TestWindowPanels : public QObject {
    Q_OBJECT

    QString m_model;
    quint64 m_vram = 0;
    std::unique_ptr<MainWindow> m_window;

    BudgetPanel& budget() const { return test::part<BudgetPanel>(*m_window); }
    ExpertsPanel& experts() const { return test::part<ExpertsPanel>(*m_window); }
    Message last() const {
        const auto& all = m_window->core().conversation.messages();
        return all.isEmpty() ? Message{} : all.last();
    }
    void ask(const QString& text) {
        auto& edit = test::part<ChatPage>(*m_window).input().edit();
        edit.setPlainText(text);
        QTest::keyClick(&edit, Qt::Key_Return);
    }
    // An answer that takes a while.
    void askAtLength() {
        Sampling sampling;
        // Almost evenly from all tokens: with this seed none of 1,500 is the answer's
        // end, and only the seed decides that. At lower temperatures the arithmetic,
        // chosen by measurements, matters as well.
        sampling.sampler.seed = 4;
        sampling.sampler.temperature = 100.0f;
        sampling.sampler.top_k = 0;
        sampling.sampler.top_p = 1.0f;
        sampling.maxTokens = 1500;
        m_window->core().chat.setSampling(sampling);
        ask(QStringLiteral("Tell me a long story about a fox who finds a lantern."));
        QTRY_VERIFY_WITH_TIMEOUT(last().kind == Message::Kind::Answer && last().text.size() > 20, 60'000);
    }
    void waitForTheAnswer() {
        QTRY_VERIFY_WITH_TIMEOUT(last().state == Message::State::Done || last().state == Message::State::Stopped,
                                 60'000);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
    }
    // By the handle, in steps, as a hand does it. share: 0 .. 1 of the slider's way.
    static void drag(QSlider& slider, double share) {
        const auto at = [&](double part) {
            return QPoint(8 + static_cast<int>(part * (slider.width() - 16)), slider.height() / 2);
        };
        const double range = std::max(1, slider.maximum() - slider.minimum());
        const double from = (slider.value() - slider.minimum()) / range;
        QTest::mousePress(&slider, Qt::LeftButton, {}, at(from));
        for (int i = 1; i <= 5; ++i) {
            const QPoint to = at(from + (share - from) * i / 5);
            QMouseEvent move(QEvent::MouseMove, to, slider.mapToGlobal(to), Qt::NoButton, Qt::LeftButton,
                             Qt::NoModifier);
            QApplication::sendEvent(&slider, &move);
        }
        QTest::mouseRelease(&slider, Qt::LeftButton, {}, at(share));
    }
    int residents() const {
        const auto& place = experts().snapshot().experts.place;
        return static_cast<int>(std::count(place.begin(), place.end(), std::uint8_t{0}));
    }

  private Q_SLOTS:
    void initTestCase() {
        m_model = test::demoModel();
        m_vram = test::demoVram(24 * kMiB, 0);
        if (!QFile::exists(m_model)) {
            QSKIP("the demo model is not in this tree");
        }
    }
    void init() {
        QSettings().clear();
        MainWindow::Options options;
        options.theme = Theme::Light;
        options.models.device = QStringLiteral("emulated:rtx-3060-desktop");
        options.models.vramBytes = m_vram;
        m_window = std::make_unique<MainWindow>([] { return engine::Session::create(); }, options);
        m_window->resize(1280, 900);
        m_window->show();
        for (const char* name : kPanels) {
            QDockWidget* dock = test::part<PanelDocks>(*m_window).dock(QString::fromLatin1(name));
            QVERIFY2(dock != nullptr, name);
            if (!dock->isVisible()) {
                PanelAction::of(*dock).trigger();  // as the menu and the inspector's tabs do
            }
            QVERIFY2(!dock->isHidden(), name);
            dock->setFloating(true);  // side by side: in the inspector one shows at a time
        }
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
    }
    void cleanup() { m_window.reset(); }

    void slider_draggedInMidStream_movesExpertsWhileTheAnswerGoesOn() {
        askAtLength();
        test::part<PanelDocks>(*m_window).show(QStringLiteral("experts"));
        QTRY_VERIFY(residents() > 0);
        const int before = residents();
        test::part<PanelDocks>(*m_window).show(QStringLiteral("budget"));
        auto* slider = budget().form().vram().findChild<QSlider*>();
        QVERIFY(slider != nullptr);
        const quint64 from = budget().form().vram().bytes();
        QCOMPARE(from, m_vram);
        drag(*slider, 1.0);
        QVERIFY(budget().form().vram().bytes() > from);
        QTRY_VERIFY_WITH_TIMEOUT(!test::previewText(budget()).isEmpty(), 60'000);
        QVERIFY(test::previewText(budget()).contains(QStringLiteral("to move")));
        const qsizetype written = last().text.size();
        QTest::mouseClick(&test::find<QPushButton>(budget(), "Apply"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(budget().notice().contains(QStringLiteral("In force")), 60'000);
        // The tool bar had the old budget until the answer ended.
        QTRY_VERIFY2(test::part<HardwareMenu>(*m_window).text().contains(bytesText(budget().form().vram().bytes())),
                     qPrintable(test::part<HardwareMenu>(*m_window).text()));
        QVERIFY(m_window->core().engine.state() == State::Generating);
        test::part<PanelDocks>(*m_window).show(QStringLiteral("experts"));
        QTRY_VERIFY_WITH_TIMEOUT(residents() > before, 60'000);
        QTRY_VERIFY(last().text.size() > written);
        QVERIFY(!last().figures);  // it has not ended by itself
        m_window->core().chat.stop();
        waitForTheAnswer();
        QVERIFY(m_window->core().log.size() > 2);
        QVERIFY(test::part<BenchmarkPanel>(*m_window).answers().rowCount() > 0);
    }

    void expert_clicked_underlinesItsTokens_andAToken_ringsItsExperts() {
        askAtLength();
        m_window->core().chat.stop();
        waitForTheAnswer();
        test::part<PanelDocks>(*m_window).show(QStringLiteral("experts"));
        TokenLog& log = m_window->core().tokens;
        const MessageId message = last().id;
        QTRY_VERIFY(log.tokenCount(message) > 3);
        const auto called = log.expertsOf(*log.token(message, 2));
        QVERIFY(!called.empty());
        HeatMap& map = experts().map();
        QTRY_VERIFY(map.rows() == 8);
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.rectOf({called[0].layer, called[0].expert}).center());
        QVERIFY(m_window->core().selection.expert().has_value());
        QVERIFY(m_window->core().selection.textOfExpert().contains(message));
        QVERIFY(m_window->core().selection.selectToken(message, 2));
        QCOMPARE(map.highlighted().size(), called.size());
    }

    void expert_givenFewerBitsInMidStream_isTakenOver() {
        askAtLength();
        experts().actions().change(engine::ExpertChange::Kind::kFormat, {{1, 2}}, kernels::WeightType::kHqq4);
        QTRY_VERIFY_WITH_TIMEOUT(!experts().actions().isWatching(), 60'000);
        QVERIFY2(experts().notice().contains(QStringLiteral("4 bit")), qPrintable(experts().notice()));
        m_window->core().chat.stop();
        waitForTheAnswer();
    }

    void model_openedAgainInMidStream_panelsStartAnew() {
        askAtLength();
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        QVERIFY(last().state == Message::State::Stopped);
        m_window->core().chat.setSampling({});
        ask(QStringLiteral("What is a cache hit?"));
        waitForTheAnswer();
        QCOMPARE(last().state, Message::State::Done);
        test::part<PanelDocks>(*m_window).show(QStringLiteral("experts"));
        QTRY_VERIFY(residents() > 0);
    }

    void replan_underWay_whenTheWindowCloses_nothingHangs() {
        askAtLength();
        test::part<PanelDocks>(*m_window).show(QStringLiteral("budget"));
        budget().form().vram().spin().setValue(48);
        QTRY_VERIFY_WITH_TIMEOUT(test::find<QPushButton>(budget(), "Apply").isEnabled(), 60'000);
        QTest::mouseClick(&test::find<QPushButton>(budget(), "Apply"), Qt::LeftButton);
        QVERIFY(m_window->close());
    }

    void tooLittle_isSaidInThePanel_andTheAnswerGoesOn() {
        askAtLength();
        test::part<PanelDocks>(*m_window).show(QStringLiteral("budget"));
        budget().form().vram().spin().setValue(2);
        QTRY_VERIFY_WITH_TIMEOUT(budget().problem().contains(QStringLiteral("does not fit")), 60'000);
        QVERIFY(!test::find<QPushButton>(budget(), "Apply").isEnabled());
        m_window->core().chat.stop();
        waitForTheAnswer();
        QVERIFY(last().kind == Message::Kind::Answer);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWindowPanels)
#include "tst_window_panels.moc"
