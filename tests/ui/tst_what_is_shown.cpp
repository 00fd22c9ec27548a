// The texts of panels: whether a speed is measured, simulated or forecast; differences;
// changes; why a control is disabled; the palette and the list of conversations.
#include <cmath>

#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "engine/plan/plan_messages.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/panel_parts.h"
#include "tests/ui/replan_session.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/history/conversation_list_model.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/selection.h"
#include "ui/panels/token_log.h"
#include "ui/panels/what_if_panel.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/stacked_bar.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/conversation_setup.h"
#include "ui/window/hardware_menu.h"
#include "ui/window/panel_docks.h"
#include "ui/window/status_line.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

constexpr quint64 kMiB = quint64{1} << 20;

struct Bench {
    std::shared_ptr<Stage> stage = std::make_shared<Stage>();
    std::shared_ptr<ReplanStage> replans = std::make_shared<ReplanStage>();
    EngineController engine{[s = stage, r = replans] { return std::make_unique<ReplanSession>(s, r); }};

    void open() {
        engine::LoadRequest request;
        request.model = "/models/fake-moe";
        engine.openModel(request);
        QTRY_COMPARE(engine.state(), EngineController::State::Ready);
    }
    ~Bench() { engine.shutdown(); }
};

// The window on the scripted engine with re-plans, and its model.
struct ReplanWindow {
    std::shared_ptr<Stage> stage = std::make_shared<Stage>();
    std::shared_ptr<ReplanStage> replans = std::make_shared<ReplanStage>();
    std::unique_ptr<MainWindow> window;

    explicit ReplanWindow(const Script& script = {}) {
        stage->setScript(script);
        MainWindow::Options options;
        options.theme = Theme::Light;
        window = std::make_unique<MainWindow>(
            [s = stage, r = replans] { return std::make_unique<ReplanSession>(s, r); }, options);
        window->resize(1280, 800);
        window->show();
        window->opener().open(QStringLiteral("/models/fake-moe"));
        QTRY_COMPARE(engine().state(), EngineController::State::Ready);
    }
    EngineController& engine() const { return window->core().engine; }
    ChatController& chat() const { return window->core().chat; }
    Message last() const {
        const auto& all = window->core().conversation.messages();
        return all.isEmpty() ? Message{} : all.last();
    }
    void ask(const QString& text) const {
        QVERIFY(chat().send(text));
        QTRY_COMPARE(last().state, Message::State::Done);
        QTRY_COMPARE(engine().state(), EngineController::State::Ready);
    }
    BudgetPanel& budget() const { return part<BudgetPanel>(*window); }
    void apply(const std::function<void(BudgetPanel&)>& change) const {
        part<PanelDocks>(*window).show(QStringLiteral("budget"));
        change(budget());
        QTRY_VERIFY(test::find<QPushButton>(budget(), "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(budget(), "Apply"), Qt::LeftButton);
    }
    void applyLongerContext() const {
        apply([](BudgetPanel& panel) { QTest::keyClick(&panel.form().context().spin(), Qt::Key_Up); });
    }
};

// Every number of tokens/s on the screen must have its kind.
QStringList bareSpeeds(const QWidget& root) {
    static const QRegularExpression speed(QStringLiteral("\\d tokens/s(?! \\((measured|simulated|forecast)\\))"));
    QStringList bare;
    for (const QLabel* label : root.findChildren<QLabel*>()) {
        if (label->isVisible() && label->text().contains(speed) &&
            !label->text().contains(QStringLiteral("forecast"))) {
            bare << label->text();
        }
    }
    return bare;
}

}  // namespace

class TestWhatIsShown : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void speed_ofARealDevice_isMeasured() {
        WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QVERIFY2(part<StatusLine>(*f.window).speedText().endsWith(QStringLiteral("tokens/s (measured)")),
                 qPrintable(part<StatusLine>(*f.window).speedText()));
        QVERIFY(figuresText(*f.last().figures).contains(QStringLiteral("tokens/s (measured)")));
        QCOMPARE(bareSpeeds(*f.window), QStringList());
    }

    // Each piece of an answer brings another speed and another place in the context: that
    // must not lay the window out.
    void speed_whileAnAnswerIsWritten_laysNothingOut() {
        Script script;
        script.residents = 3;
        script.emulated = true;  // the speed of the text's arrival changes with each piece
        script.answer = longAnswer(10'000);
        script.tokensPerSecond = 100;
        WindowFixture f(script);
        f.openAndWait();
        QSignalSpy speeds(&part<StatusLine>(*f.window), &StatusLine::speedChanged);
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(speeds.count() > 3);
        const EventCount layouts(*f.window->statusBar(), QEvent::LayoutRequest);
        const qsizetype before = speeds.count();
        QTRY_VERIFY_WITH_TIMEOUT(speeds.count() > before + 20, 60'000);
        QVERIFY2(layouts.count() <= 6, qPrintable(QString::number(layouts.count())));
        f.window->core().chat.stop();
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
    }

    void speed_ofAnEmulatedDevice_isSimulated_besideHowFastTextCame() {
        Script script;
        script.residents = 3;
        script.emulated = true;
        script.answer = longAnswer(40);
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const QString text = part<StatusLine>(*f.window).speedText();
        QVERIFY2(text.contains(QStringLiteral("tokens/s (simulated)")), qPrintable(text));
        QVERIFY2(text.contains(QRegularExpression(QStringLiteral("here [\\d.,]+ tokens/s"))), qPrintable(text));
        QCOMPARE(bareSpeeds(*f.window), QStringList());
        // A narrow window has no room for both.
        const int wide = f.window->width();
        f.window->resize(f.window->minimumWidth(), f.window->height());
        QTRY_COMPARE(part<StatusLine>(*f.window).speedText(), text.section(QStringLiteral(" · "), 0, 0));
        f.window->resize(wide, f.window->height());
        QTRY_COMPARE(part<StatusLine>(*f.window).speedText(), text);
    }

    // An answer that is not the model's own is marked, and so is the window while such
    // answers are written.
    void theta_isSaidOfTheAnswer_andInTheStatusBar() {
        const ReplanWindow f;
        const auto answered = [&f] {
            f.ask(QStringLiteral("hi"));
            return f.last().figures ? figuresText(*f.last().figures) : QString();
        };
        const StatusLine& status = part<StatusLine>(*f.window);
        QString figures = answered();
        QVERIFY2(!figures.isEmpty() && !figures.contains(QStringLiteral("skipped")), qPrintable(figures));
        QCOMPARE(status.thetaText(), QString());
        QVERIFY(f.engine().setTheta(0.2));
        QCOMPARE(status.thetaText(), QStringLiteral("neurons up to 0.2 skipped"));
        QVERIFY(answered().contains(QStringLiteral("neurons up to 0.2 skipped")));
        QVERIFY(f.engine().setTheta({0, 0.003, engine::NeuronGuesses::kAccept}));
        const QString byExpert = QStringLiteral("neurons skipped by expert, for a loss of 0.003, guesses accepted");
        QCOMPARE(status.thetaText(), byExpert);
        figures = answered();
        QVERIFY2(figures.contains(byExpert), qPrintable(figures));
        QVERIFY(f.engine().setTheta(0));
        QCOMPARE(status.thetaText(), QString());
        figures = answered();
        QVERIFY2(!figures.isEmpty() && !figures.contains(QStringLiteral("skipped")), qPrintable(figures));
    }

    // The status line had the old context until something was typed.
    void context_applied_isInTheStatusLineAtOnce() {
        const ReplanWindow f;
        const StatusLine& status = part<StatusLine>(*f.window);
        QTRY_VERIFY2(status.contextText().endsWith(QStringLiteral("of 2,048 tokens")),
                     qPrintable(status.contextText()));
        f.ask(QStringLiteral("Hello"));
        f.applyLongerContext();
        QTRY_VERIFY(f.budget().notice().contains(QStringLiteral("In force")));
        const QString applied = QStringLiteral("of %1 tokens").arg(QLocale().toString(f.budget().inForce().context));
        QVERIFY(f.budget().inForce().context > 2048);
        QTRY_VERIFY2(status.contextText().endsWith(applied), qPrintable(status.contextText() + u' ' + applied));
    }

    // It is the conversation's from now on, also where another one is shown when it comes
    // into force: nothing offers the one before.
    void budget_applied_isThatOfItsConversation() {
        const ReplanWindow f;
        f.ask(QStringLiteral("Hello"));
        const ConversationId conversation = f.chat().current();
        const auto setFinishes = [&f](bool finishes) {
            const std::lock_guard lock(f.replans->mutex);
            f.replans->finishes = finishes;
        };
        setFinishes(false);
        f.applyLongerContext();
        QTRY_VERIFY(f.budget().progress().isVisible());
        part<QAction>(*f.window, "newConversation").trigger();
        setFinishes(true);
        QSignalSpy ended(&f.engine(), &EngineController::replanEnded);
        f.engine().requestPreview({});  // the engine gets a turn
        QTRY_COMPARE(ended.size(), 1);
        f.chat().openConversation(conversation);
        QCOMPARE(part<SetupBar>(*f.window).sentence(), QString());
    }

    // The tool bar had the old budget until the answer ended.
    void budget_appliedWhileAnAnswerIsWritten_isInTheToolBarAtOnce() {
        Script script;
        script.answer = std::string(400'000, 'x');
        script.tokensPerSecond = 100;
        const ReplanWindow f(script);
        const HardwareMenu& menu = part<HardwareMenu>(*f.window);
        QVERIFY2(menu.text().contains(bytesText(6144 * kMiB)), qPrintable(menu.text()));
        QVERIFY(f.chat().send(QStringLiteral("Tell me a long story.")));
        QTRY_VERIFY(f.last().kind == Message::Kind::Answer && f.last().text.size() > 20);
        f.apply([](BudgetPanel& panel) { panel.form().vram().spin().setValue(4); });
        QTRY_VERIFY2(menu.text().contains(bytesText(4096 * kMiB)), qPrintable(menu.text()));
        QVERIFY(f.engine().state() == EngineController::State::Generating);
        QCOMPARE(f.last().state, Message::State::Streaming);
        QTRY_COMPARE(f.budget().inForce().vramBytes, 4096 * kMiB);
        f.chat().stop();
        QTRY_COMPARE(f.engine().state(), EngineController::State::Ready);
        QVERIFY(menu.text().contains(bytesText(4096 * kMiB)));
    }

    // The status line and What if showed two speeds of one model, without an explanation.
    void whatIf_namesBothSpeedsOfWhatRunsHere_andSortsTheOthers() {
        if (!QFileInfo::exists(demoModel())) {
            QSKIP("the demo model is not in this tree");
        }
        EngineController engine([] { return engine::Session::create(); });
        WhatIfPanel panel(engine);
        panel.resize(420, 700);
        panel.show();
        engine::LoadRequest request;
        request.model = demoModel().toStdString();
        request.device = "emulated:rtx-3060-desktop";
        request.vram_bytes = demoVram(24 * kMiB, 512);
        request.context = 512;
        request.n_threads = 1;
        engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(engine.state(), EngineController::State::Ready, 60'000);
        QVERIFY2(panel.hereText().contains(QStringLiteral("not measured yet")), qPrintable(panel.hereText()));
        engine::GenerationRequest ask;
        ask.messages = {{engine::Role::kUser, "Tell me a story about a fox."}};
        ask.sampler.temperature = 0;
        ask.max_tokens = 24;
        ask.ignore_end = true;
        engine.generate(ask);
        QTRY_VERIFY_WITH_TIMEOUT(panel.hereText().contains(QStringLiteral("(simulated)")), 60'000);
        QTRY_COMPARE_WITH_TIMEOUT(engine.state(), EngineController::State::Ready, 60'000);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning() && panel.table().rowCount() > 0, 120'000);
        QVERIFY2(panel.hereText().contains(QStringLiteral("(simulated)")) &&
                     panel.hereText().contains(QStringLiteral("(forecast)")),
                 qPrintable(panel.hereText()));
        // The chosen one, then the fastest first; what does not run comes last.
        QCOMPARE(panel.table().item(0, 0)->text(), panel.profile().currentText());
        double last = 1e18;
        const QLocale locale;
        for (int row = 1; row < panel.table().rowCount(); ++row) {
            bool ok = false;
            const double speed = locale.toDouble(panel.table().item(row, 1)->text(), &ok);
            QVERIFY2(!ok || speed <= last, qPrintable(panel.table().item(row, 0)->text()));
            last = ok ? speed : -1;
        }
        // The chosen one is in view, also where the bars make the table high.
        QTableWidget& table = panel.table();
        for (const QSize size : {QSize(420, 700), QSize(1300, 420)}) {
            panel.resize(size);
            QTRY_VERIFY(table.viewport()->visibleRegion().contains(table.visualItemRect(table.currentItem()).center()));
        }
        // Names of hardware, not of files.
        for (int row = 0; row < panel.table().rowCount(); ++row) {
            const QString name = panel.table().item(row, 0)->text();
            QVERIFY2(!name.contains(QStringLiteral("fiddler")) && !name.contains(QStringLiteral("-desktop")),
                     qPrintable(name));
        }
        panel.close();
        engine.shutdown();
    }

    // The speed that was measured is that of the plan before.
    void whatIf_afterAReplan_saysNoSpeedOfBefore() {
        Script script;
        script.answer = longAnswer(40);
        const ReplanWindow f(script);
        part<PanelDocks>(*f.window).show(QStringLiteral("whatIf"));
        const auto& panel = part<WhatIfPanel>(*f.window);
        f.ask(QStringLiteral("one"));
        QTRY_VERIFY2(panel.hereText().contains(QStringLiteral("(measured)")), qPrintable(panel.hereText()));
        f.applyLongerContext();
        QTRY_COMPARE(f.budget().form().setting(), f.budget().inForce());
        QTRY_VERIFY2(panel.hereText().contains(QStringLiteral("not measured since the last change: ask again")),
                     qPrintable(panel.hereText()));
        f.ask(QStringLiteral("two"));
        QTRY_VERIFY2(panel.hereText().contains(QStringLiteral("(measured)")), qPrintable(panel.hereText()));
    }

    // Its forecasts are of the files' own formats: with fewer bits in force they were
    // told as what runs now.
    void whatIf_inFewerBits_namesTheQualityOfItsForecast() {
        if (!QFileInfo::exists(demoModel())) {
            QSKIP("the demo model is not in this tree");
        }
        EngineController engine([] { return engine::Session::create(); });
        WhatIfPanel panel(engine);
        panel.resize(420, 700);
        panel.show();
        QTemporaryDir cache;
        engine::LoadRequest request;
        request.model = demoModel().toStdString();
        request.device = "emulated:rtx-3060-desktop";
        request.vram_bytes = demoVram(24 * kMiB, 512);
        request.context = 512;
        request.n_threads = 1;
        request.checks_costs = false;
        request.cache_directory = request.quant_cache_directory = cache.path().toStdString();
        request.quant.experts = kernels::WeightType::kInt8;
        engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(engine.state(), EngineController::State::Ready, 60'000);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning() && panel.table().rowCount() > 0, 60'000);
        const QStringList sentences = panel.hereText().split(QStringLiteral(". "));
        QCOMPARE(sentences.size(), 2);
        QVERIFY2(!sentences.first().contains(QStringLiteral("forecast")), qPrintable(panel.hereText()));
        QVERIFY2(sentences.last().startsWith(QStringLiteral("In original quality: ")) &&
                     sentences.last().endsWith(QStringLiteral("(forecast).")),
                 qPrintable(panel.hereText()));
        panel.close();
        engine.shutdown();
    }

    // Both began with what was in force when the model was opened.
    void planBAndComparedCache_beginWithWhatIsInForce() {
        Bench bench;
        BenchmarkPanel panel(bench.engine);
        TokenLog log(bench.engine);
        Selection selection(log);
        CachePanel cache(bench.engine, selection);
        bench.open();
        panel.show();
        cache.show();
        panel.showPage(BenchmarkPanel::Compare);
        QTRY_COMPARE(panel.planB().vram().bytes(), 6144 * kMiB);
        QSignalSpy ended(&bench.engine, &EngineController::replanEnded);
        const auto replan = [&](quint64 vram) {
            engine::ReplanRequest request;
            request.vram_bytes = vram;
            return bench.engine.replan(request);
        };
        QVERIFY(replan(4096 * kMiB) != 0);
        QTRY_COMPARE(ended.size(), 1);
        QTRY_COMPARE(panel.planB().vram().bytes(), 4096 * kMiB);
        auto& slots_ = test::find<QSpinBox>(cache, "Experts in the cache");
        QCOMPARE(slots_.value(), 24);
        // What a person has chosen stays.
        panel.planB().vram().spin().setFocus();
        panel.planB().vram().spin().selectAll();
        QTest::keyClicks(&panel.planB().vram().spin(), QStringLiteral("3"));
        QTest::keyClick(&panel.planB().vram().spin(), Qt::Key_Return);
        slots_.setFocus();
        slots_.selectAll();
        QTest::keyClicks(&slots_, QStringLiteral("10"));
        QTest::keyClick(&slots_, Qt::Key_Return);
        QVERIFY(replan(5120 * kMiB) != 0);
        QTRY_COMPARE(ended.size(), 2);
        QTRY_COMPARE(panel.snapshot().revision, bench.engine.snapshot()->revision);
        QCOMPARE(panel.planB().vram().bytes(), 3072 * kMiB);
        QCOMPARE(slots_.value(), 10);
    }

    // A change of the device left its page empty.
    void answers_stayWhenTheModelIsOpenedOnAnotherDevice() {
        WindowFixture f;
        f.openAndWait();
        part<PanelDocks>(*f.window).show(QStringLiteral("benchmark"));
        f.askAndWait(QStringLiteral("one"));
        auto& panel = part<BenchmarkPanel>(*f.window);
        QCOMPARE(panel.answers().rowCount(), 1);
        Script onGpu;
        onGpu.residents = 3;
        onGpu.emulated = true;
        f.stage->setScript(onGpu);
        f.openAndWait();
        f.askAndWait(QStringLiteral("two"));
        QCOMPARE(panel.answers().rowCount(), 2);
        QCOMPARE(panel.answers().runs()[0].device, QStringLiteral("cpu"));
        QCOMPARE(panel.answers().runs()[1].device, QStringLiteral("emulated:fake-gpu"));
        const QByteArray csv = benchmarkCsv(panel.report());
        QVERIFY(csv.contains("cpu,0") && csv.contains("emulated:fake-gpu,1"));
        QVERIFY(benchmarkMarkdown(panel.report()).contains("| emulated:fake-gpu |"));
        const auto labels = panel.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->text().startsWith(QStringLiteral("Emulated devices have simulated times"));
        }));
        f.openAndWait(QStringLiteral("/models/another"));
        QCOMPARE(panel.answers().rowCount(), 0);
    }

    void twoPlans_sayTheDifference() {
        Bench bench;
        BenchmarkPanel panel(bench.engine);
        bench.open();
        panel.show();
        panel.showPage(BenchmarkPanel::Compare);
        QTRY_COMPARE(panel.planB().vram().bytes(), 6144 * kMiB);
        QVERIFY(
            test::find<QPushButton>(panel, "Compare").toolTip().contains(QStringLiteral("change one of its budgets")));
        panel.prompt().setPlainText(QStringLiteral("Tell me of the sea."));
        panel.planB().vram().spin().setValue(9);
        QTRY_VERIFY(test::find<QPushButton>(panel, "Compare").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Compare"), Qt::LeftButton);
        QTRY_COMPARE(panel.comparisons().size(), std::size_t{1});
        static const QRegularExpression headline(
            QStringLiteral("^Plan B against plan A: ([+\u2212][\\d,]+ %|the same) tokens/s, same text\\.$"));
        QVERIFY2(test::textOf(panel, QStringLiteral("What the comparison says")).contains(headline),
                 qPrintable(test::textOf(panel, QStringLiteral("What the comparison says"))));
        // Shares differ by points, not by a share of the share.
        const BenchmarkComparison& compared = panel.comparisons().front();
        const double points = std::round(1000 * (compared.b.hitRate - compared.a.hitRate)) / 10;
        QString difference;
        for (const QLabel* label : panel.findChildren<QLabel*>()) {
            if (label->accessibleName() == QStringLiteral("Hit rate, difference")) {
                difference = label->text();
            }
        }
        const QString number = QLocale().toString(std::abs(points), 'f', 1);
        QVERIFY(points != 0);
        QCOMPARE(difference, (points > 0 ? u'+' : QChar(0x2212)) + number + QStringLiteral(" points"));
        QTRY_VERIFY(!panel.runner().isRunning());
    }

    void scenario_hasAMedian() {
        Bench bench;
        BenchmarkPanel panel(bench.engine);
        bench.open();
        panel.show();
        panel.showPage(BenchmarkPanel::Scenario);
        test::find<QSpinBox>(panel, "Tokens of the prompt").setValue(8);
        test::find<QSpinBox>(panel, "Tokens of the answer").setValue(6);
        panel.repeats().setValue(3);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Run"), Qt::LeftButton);
        QTRY_COMPARE(panel.scenarios().rowCount(), 3);
        QVERIFY2(
            test::textOf(panel, QStringLiteral("Median of the runs")).startsWith(QStringLiteral("Median of 3 runs")),
            qPrintable(test::textOf(panel, QStringLiteral("Median of the runs"))));
    }

    // Pinned, evicted, in other bits: visible in every channel of the map.
    void experts_thatWereChanged_areMarkedInEveryChannel() {
        Script script;
        script.residents = 3;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        ExpertsPanel& panel = part<ExpertsPanel>(*f.window);
        QTRY_COMPARE(panel.map().rows(), 8);
        using Kind = engine::ExpertChange::Kind;
        const auto change = [&](Kind kind, ExpertId expert) {
            panel.actions().change(kind, {expert}, kernels::WeightType::kHqq4);
            QTRY_VERIFY(!panel.actions().isWatching());
        };
        change(Kind::kPin, {1, 2});
        change(Kind::kEvict, {2, 1});
        change(Kind::kFormat, {3, 4});
        const auto has = [&](HeatMap::Cell cell, HeatMap::Sign sign) {
            const auto& marks = panel.map().marks();
            return std::find(marks.begin(), marks.end(), HeatMap::Mark{cell, sign}) != marks.end();
        };
        for (int i = 0; i < kExpertChannels; ++i) {
            panel.setChannel(static_cast<ExpertChannel>(i));
            if (panel.map().rows() == 0) {
                continue;  // nothing is planned here
            }
            QTRY_VERIFY(has({1, 2}, HeatMap::Sign::Filled));
            QVERIFY(has({2, 1}, HeatMap::Sign::Hollow));
            QVERIFY(has({3, 4}, HeatMap::Sign::Dot));
        }
        // And it is painted: the corner differs from the same cell without a mark.
        panel.setChannel(ExpertChannel::Recency);
        QTRY_COMPARE(panel.map().rows(), 8);
        const QImage with = panel.map().grab().toImage();
        const QRect cell = panel.map().rectOf({1, 2});
        panel.map().setMarks({});
        const QImage without = panel.map().grab().toImage();
        QVERIFY(with.copy(cell) != without.copy(cell));
    }

    void greyControls_sayWhy() {
        WindowFixture f;  // on the CPU
        f.openAndWait();
        QMenu menu;
        part<ExpertsPanel>(*f.window).actions().fill(menu, {{0, 0}}, {});
        int grey = 0;
        for (const QAction* action : menu.actions()) {
            if (!action->isEnabled() && !action->isSeparator()) {
                ++grey;
                QVERIFY2(action->toolTip().contains(QStringLiteral("CPU")), qPrintable(action->toolTip()));
            }
        }
        QVERIFY(grey >= 2);
        QVERIFY(test::find<QToolButton>(part<ExpertsPanel>(*f.window), "Change the selected experts")
                    .toolTip()
                    .contains(QStringLiteral("first")));
        Bench bench;
        BudgetPanel budget(bench.engine);
        bench.open();
        budget.show();
        QTRY_COMPARE(budget.form().vram().bytes(), 6144 * kMiB);
        QVERIFY(!test::find<QPushButton>(budget, "Apply").isEnabled());
        QVERIFY(test::find<QPushButton>(budget, "Apply").toolTip().contains(QStringLiteral("move a slider")));
        QVERIFY(find<QPushButton>(budget, "Reset").toolTip() !=
                QStringLiteral("Put the sliders back to what is in force"));
    }

    void sentences_giveASizeOnce() {
        constexpr std::uint64_t kBytes = 152060224;
        using Style = engine::ByteSize::Style;
        const engine::Message message = engine::messages::ram_too_small(engine::ByteSize{kBytes, Style::kBoth},
                                                                        engine::ByteSize{kBytes, Style::kBoth},
                                                                        engine::ByteSize{kBytes, Style::kExact});
        QVERIFY(message.english().find("152060224 bytes (145.0 MiB)") != std::string::npos);  // for logs
        const QString text = engineText(message);
        QVERIFY2(text.contains(QStringLiteral("145.0 MiB")), qPrintable(text));
        QVERIFY2(!text.contains(QStringLiteral("152060224")) && !text.contains(u'('), qPrintable(text));
        QVERIFY2(text.endsWith(QStringLiteral("145.0 MiB more.")), qPrintable(text));
        for (const auto& [bytes, words] : {std::pair(0, "0 bytes"), std::pair(1, "1 byte"), std::pair(2, "2 bytes")}) {
            const auto size = static_cast<std::uint64_t>(bytes);
            QCOMPARE(engine::format_bytes(size), std::string(words));
            QCOMPARE(bytesText(size), QString::fromLatin1(words));
            const engine::Message exact = engine::messages::ram_too_small(
                engine::ByteSize{kBytes}, engine::ByteSize{kBytes}, engine::ByteSize{size, Style::kExact});
            QVERIFY2(exact.english().ends_with(std::string(", ") + words + " more."), exact.english().c_str());
        }
    }

    // The sides of a layer work at the same time: their lanes begin together, and idle
    // time is shown.
    void dispatch_namesIdleTime_andDrawsSidesSideBySide() {
        Script script;
        script.residents = 3;
        script.answer = longAnswer(20);
        WindowFixture f(script);
        f.openAndWait();
        part<PanelDocks>(*f.window).show(QStringLiteral("dispatch"));
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        auto& panel = *part<PanelDocks>(*f.window).dock(QStringLiteral("dispatch"))->findChild<DispatchPanel*>();
        QTRY_VERIFY2(idleOf(panel).startsWith(QStringLiteral("Idle: GPU ")), qPrintable(idleOf(panel)));
        QVERIFY(idleOf(panel).contains(QStringLiteral("CPU ")));
        showMeanOf(panel, 16);
        StackedBar& bars = panel.bars();
        QTRY_VERIFY(!bars.rows().empty() && bars.rows().front().sideBySide);
        int compared = 0;
        for (int row = 0; row < static_cast<int>(bars.rows().size()); ++row) {
            std::optional<QRectF> first;
            for (int part = 0; part < static_cast<int>(bars.rows()[static_cast<size_t>(row)].parts.size()); ++part) {
                const QRectF lane = bars.rectOf({row, part});
                if (lane.isEmpty()) {
                    continue;
                }
                if (first) {
                    QCOMPARE(lane.left(), first->left());
                    QVERIFY(lane.top() >= first->bottom());
                    ++compared;
                } else {
                    first = lane;
                }
            }
        }
        QVERIFY(compared > 0);
    }

    void cache_plotsBeginInOneLine_andNameTheirHighest() {
        Script script;
        script.residents = 3;
        script.answer = longAnswer(30);
        WindowFixture f(script);
        f.openAndWait();
        part<PanelDocks>(*f.window).show(QStringLiteral("cache"));
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        auto& panel = *part<PanelDocks>(*f.window).dock(QStringLiteral("cache"))->findChild<CachePanel*>();
        QTRY_VERIFY(panel.hits().highestText().startsWith(QStringLiteral("highest ")));
        const auto begin = [](LinePlot& plot) {
            const Axis axis = plot.xAxis();
            return axis.pixelOf(axis.lo());
        };
        for (LinePlot* plot : {&panel.prefetch(), &panel.bytes(), &panel.exchanges()}) {
            QCOMPARE(begin(*plot), begin(panel.hits()));
        }
    }

    void palette_hasShortcutsAtTheRight_andWhatWasChosenFirst() {
        WindowFixture f;
        CommandPalette& palette = part<CommandPalette>(*f.window);
        palette.open();
        auto* list = palette.findChild<QListWidget*>();
        QVERIFY(list->sizeHintForRow(0) >= list->fontMetrics().height() + 10);
        // What is common first, then panels, then commands with a shortcut, which is
        // separate from the name.
        const QStringList listed = palette.listed();
        const qsizetype open = listed.indexOf(QStringLiteral("File › New conversation"));
        QCOMPARE(open, 0);
        const auto panel = std::find_if(listed.begin(), listed.end(), [](const QString& each) {
            return each.endsWith(QStringLiteral("Conversations"));
        });
        QVERIFY(panel != listed.end() && panel - listed.begin() < listed.indexOf(QStringLiteral("File › Quit")));
        QVERIFY(!list->item(static_cast<int>(open))->text().contains(QStringLiteral("Ctrl")));
        QVERIFY(!list->item(static_cast<int>(open))->data(Qt::UserRole + 1).toString().isEmpty());
        QTest::keyClicks(&palette.input(), QStringLiteral("theme dark"));
        QTest::keyClick(&palette.input(), Qt::Key_Return);
        applyTheme(*qApp, Theme::Light);
        palette.open();
        QVERIFY2(palette.listed().first().contains(QStringLiteral("Dark")), qPrintable(palette.listed().first()));
        QTest::keyClick(&palette.input(), Qt::Key_Escape);
    }

    void conversations_areGroupedByTheirDay() {
        History history;
        const qint64 now = QDateTime::currentMSecsSinceEpoch();
        constexpr qint64 kDay = 24 * 3600 * 1000;
        for (const auto& [title, days] :
             {std::pair{"old", 30}, {"week", 3}, {"yesterday", 1}, {"now", 0}, {"also", 0}}) {
            StoredConversation conversation;
            conversation.info.title = QString::fromLatin1(title);
            conversation.info.createdMs = conversation.info.changedMs = now - days * kDay;
            conversation.messages.append(prompt(QStringLiteral("hello")));
            history.insert(conversation);
        }
        ConversationListModel model(history);
        QStringList sections;
        for (int row = 0; row < model.rowCount(); ++row) {
            sections << model.index(row).data(ConversationListModel::SectionRole).toString();
        }
        QCOMPARE(sections.size(), 5);
        QCOMPARE(sections.count(QString()), 1);  // one heading for two of the same day
        sections.removeAll(QString());
        QCOMPARE(sections, (QStringList{QStringLiteral("Today"), QStringLiteral("Yesterday"),
                                        QStringLiteral("This week"), QStringLiteral("Older")}));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWhatIsShown)
#include "tst_what_is_shown.moc"
