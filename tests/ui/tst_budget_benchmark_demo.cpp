// Budget, What if and the fit view on the real engine and the demo model, with an
// emulated GPU.

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStyle>
#include <QTabWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include "tests/ui/budget_texts.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/format.h"
#include "ui/load/fit_view.h"
#include "ui/load/open_model_dialog.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/comparison_view.h"
#include "ui/panels/profile_editor.h"
#include "ui/panels/what_if_panel.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/line_plot.h"
#include "ui/plot/stacked_bar.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"

using namespace offstage;
using namespace offstage::ui;
using test::picture;

namespace {

constexpr quint64 kMiB = quint64{1} << 20;

}  // namespace

class TestBudgetBenchmarkDemo : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    QString m_model = test::demoModel();
    std::unique_ptr<EngineController> m_engine;

    engine::LoadRequest request(const std::string& device, quint64 vram) const {
        engine::LoadRequest request;
        request.model = m_model.toStdString();
        request.device = device;
        request.vram_bytes = vram;
        request.context = 512;
        request.n_threads = 1;  // a pool of threads waits for the slowest, and tests run side by side
        request.cache_directory = request.quant_cache_directory = m_cache.path().toStdString();
        return request;
    }
    void open(const engine::LoadRequest& request) {
        m_engine->openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), EngineController::State::Ready, 60'000);
    }
    static void finish(WhatIfPanel& panel) { QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning(), 120'000); }

  private Q_SLOTS:
    void initTestCase() {
        if (!QFileInfo::exists(m_model)) {
            QSKIP("the demo model is not in this tree");
        }
    }
    void init() {
        m_engine = std::make_unique<EngineController>([] { return engine::Session::create(); });
    }
    void cleanup() { m_engine.reset(); }

    // The demo model ends its answer to meaningless words after a token or two; a
    // scenario continues.
    void benchmark_scenarioHasTheTokensAskedFor() {
        BenchmarkPanel panel(*m_engine);
        panel.show();
        panel.showPage(BenchmarkPanel::Scenario);
        engine::LoadRequest roomy = request("emulated:rtx-3060-desktop", 16 * kMiB);
        roomy.context = 1024;
        open(roomy);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Run"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(panel.scenarios().rowCount() == 3 && !panel.runner().isRunning(), 120'000);
        for (const BenchmarkRun& run : panel.scenarios().runs()) {
            QCOMPARE(run.tokensIn, qint64{512});
            QCOMPARE(run.tokensReused, qint64{0});
            QCOMPARE(run.tokensOut, qint64{32});
            QCOMPARE(run.itlSeconds.size(), std::size_t{31});
            QVERIFY(run.hasSpeed());
        }
        // If the context has no room for the answer the row shows that, and no speed.
        QVERIFY(panel.runner().runScenario({1000, 100, 1, 1}));
        QTRY_COMPARE_WITH_TIMEOUT(panel.scenarios().rowCount(), 4, 60'000);
        const BenchmarkRun& full = panel.scenarios().runs().back();
        QCOMPARE(full.tokensIn, qint64{1000});
        QVERIFY(full.endedEarly && !full.hasSpeed() && full.label.contains(QStringLiteral("context was full")));
    }

    // The model before had no VRAM, which is no limit for this one's plans.
    void benchmark_planB_mayHaveMoreVram() {
        QWidget window;
        auto* const rows = new QVBoxLayout(&window);
        auto* const message = new QLineEdit;
        auto* const panel = new BenchmarkPanel(*m_engine);
        rows->addWidget(message);
        rows->addWidget(panel);
        panel->showPage(BenchmarkPanel::Compare);
        window.show();
        open(request("cpu", 0));
        QTRY_VERIFY(m_engine->snapshot() && m_engine->snapshot()->ram.total > 0);
        // Who looked at a field and has left it changes nothing there.
        panel->findChild<BudgetForm*>()->ram().spin().setFocus();
        message->setFocus();
        open(request("emulated:rtx-3060-desktop", 24 * kMiB));
        auto& vram = panel->findChild<BudgetForm*>()->vram();
        QTRY_COMPARE(vram.bytes(), 24 * kMiB);
        QTRY_VERIFY(vram.spin().maximum() > 40);
        vram.spin().setFocus();
        vram.spin().selectAll();
        QTest::keyClicks(&vram.spin(), QStringLiteral("40 MiB"));
        QTest::keyClick(&vram.spin(), Qt::Key_Return);
        QCOMPARE(vram.bytes(), 40 * kMiB);
    }

    // Its columns stand where they stood, whatever the next result says.
    void comparison_keepsTheWidthsOfItsColumns() {
        ComparisonView view;
        view.show();
        BenchmarkComparison comparison;
        const auto show = [&](double speed, std::uint64_t copied) {
            for (BenchmarkRun* run : {&comparison.a, &comparison.b}) {
                run->text = QStringLiteral("words");
                run->tokensPerSecond = speed;
                run->ttftSeconds = 12.3456;
                run->hitRate = run == &comparison.a ? 1 : 0;
                run->bytesCopied = copied;
                run->meanBits = 16;
                run->tokensOut = 1234;
            }
            view.setComparison(comparison, true);
        };
        QList<int> rights;
        for (const auto& [speed, copied] :
             {std::pair(1.0, std::uint64_t{0}), std::pair(1234.5, std::uint64_t{9000} << 20)}) {
            show(speed, copied);
            view.resize(400, 600);
            QCoreApplication::processEvents();
            rights << test::find<QLabel>(view, "Hit rate, plan A").geometry().right();
        }
        QCOMPARE(rights.front(), rights.back());
        QVERIFY(test::textOf(view, QStringLiteral("Hit rate, difference")).contains(QStringLiteral("100.0 points")));
    }

    // "Now" is the last answers' time, "after" the next ones', and What if shows the same
    // for this GPU. All times are accounted: they do not depend on this machine.
    void budget_promisesWhatAnswersKeep() {
        BudgetPanel panel(*m_engine);
        WhatIfPanel whatIf(*m_engine);
        panel.show();
        open(request("emulated:rtx-3060-desktop", 24 * kMiB));
        QTRY_COMPARE(panel.form().vram().bytes(), 24 * kMiB);
        QSignalSpy answered(m_engine.get(), &EngineController::answered);
        const auto answer = [&] {
            engine::GenerationRequest ask;
            ask.messages = {{engine::Role::kUser, "Tell me a story about a fox."}};
            ask.sampler.temperature = 0;
            ask.max_tokens = 100;
            ask.ignore_end = true;
            answered.clear();
            m_engine->resetConversation();
            m_engine->generate(ask);
            if (!answered.wait(60'000)) {
                return 0.0;
            }
            return answered[0][1].value<engine::GenerationResult>().decode_tokens_per_s;
        };
        engine::ReplanPreview preview;
        connect(m_engine.get(), &EngineController::previewed, &panel,
                [&](RequestId, const engine::ReplanPreview& p, const QString&) { preview = p; });
        // A step in which a preview is answered is not among the measured ones.
        QTRY_VERIFY_WITH_TIMEOUT(!test::nowText(panel).contains(QStringLiteral("Tokens/s: –")), 60'000);
        const double before = answer();
        panel.form().vram().spin().setValue(80);
        QTRY_VERIFY2_WITH_TIMEOUT(test::previewText(panel).contains(QStringLiteral("Now: simulated, 99 token")),
                                  qPrintable(test::previewText(panel) + u'\n' + panel.problem()), 60'000);
        QVERIFY(!test::previewText(panel).contains(QStringLiteral(" 0 ms")));
        QVERIFY(std::abs(preview.before.decode_tokens_per_s - before) < 0.05 * before);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(panel.notice().contains(QStringLiteral("In force")), 60'000);
        const double after = answer();
        QVERIFY2(std::abs(preview.after.decode_tokens_per_s - after) < 0.25 * after,
                 qPrintable(QStringLiteral("before %1, promised %2, after %3")
                                .arg(before)
                                .arg(preview.after.decode_tokens_per_s)
                                .arg(after)));

        const bool beyond = m_engine->snapshot()->decode_overhead_us > 0;  // small, for the forecast is true
        QVERIFY(!whatIf.claim().contains(QStringLiteral("beyond")));
        QTest::mouseClick(&test::find<QPushButton>(whatIf, "Forecast"), Qt::LeftButton);
        finish(whatIf);
        QVERIFY2(whatIf.claim().contains(QStringLiteral("beyond the forecast")) == beyond, qPrintable(whatIf.claim()));
        const auto& points = whatIf.curve().points(0);
        QVERIFY(!points.empty());
        QVERIFY2(std::abs(points.back().y() - after) < 0.25 * after, qPrintable(QString::number(points.back().y())));
    }

    void budget_movesExpertsOfTheRealEngine() {
        BudgetPanel panel(*m_engine);
        panel.show();
        const quint64 vram = test::demoVram(16 * kMiB, 512);
        open(request("emulated:rtx-3060-desktop", vram));
        QTRY_COMPARE(panel.bars().rows().size(), std::size_t{2});
        QVERIFY(panel.badge().contains(QStringLiteral("emulated")));
        QCOMPARE(panel.form().vram().bytes(), vram);
        panel.form().vram().spin().setValue(static_cast<double>(vram / kMiB + 8));
        QTRY_VERIFY_WITH_TIMEOUT(!test::previewText(panel).isEmpty(), 60'000);
        QVERIFY(test::previewText(panel).contains(QStringLiteral("to move")));
        picture(panel, QStringLiteral("demo-budget"));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(panel.notice().contains(QStringLiteral("In force")), 60'000);
        QCOMPARE(panel.inForce().vramBytes, vram + 8 * kMiB);
        QTRY_COMPARE(panel.snapshot().vram.budget, vram + 8 * kMiB);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(panel.inForce().vramBytes, vram, 60'000);
        // Too little: the planner's own sentence, and no Apply.
        panel.form().vram().spin().setValue(2);
        QTRY_VERIFY_WITH_TIMEOUT(panel.problem().contains(QStringLiteral("does not fit")), 60'000);
        QVERIFY(!test::find<QPushButton>(panel, "Apply").isEnabled());
    }

    void budget_onTheCpuSaysWhyThereIsNoVram() {
        BudgetPanel panel(*m_engine);
        panel.show();
        open(request("cpu", 0));
        QTRY_COMPARE(panel.bars().rows().size(), std::size_t{1});
        QVERIFY(!panel.form().vram().isEnabled());
        QVERIFY(panel.form().vramReason().contains(QStringLiteral("CPU")));
        QVERIFY(panel.badge().isEmpty());
        panel.form().context().spin().setValue(768);
        QTRY_VERIFY_WITH_TIMEOUT(!test::previewText(panel).isEmpty(), 60'000);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(panel.notice().contains(QStringLiteral("In force")), 60'000);
        QTRY_COMPARE(panel.snapshot().context_size, std::int64_t{768});
        picture(panel, QStringLiteral("demo-budget-cpu"));
    }

    // "Fits" in calm blue was shown for models that are read from disk at each token.
    void fit_ofAModelLargerThanRam_saysHowSlow() {
        OpenModelDialog dialog(*m_engine);
        dialog.show();
        engine::LoadRequest small = request("cpu", 0);
        small.ram_bytes = 22 * kMiB;
        dialog.view().setRequest(small);
        QTRY_VERIFY_WITH_TIMEOUT(
            dialog.view().estimate() && dialog.view().estimate()->plan.n_in(engine::Place::kDisk) > 0, 60'000);
        QVERIFY2(dialog.view().fits(), qPrintable(dialog.view().verdict()));
        QVERIFY2(dialog.view().verdict().contains(QStringLiteral("on disk")), qPrintable(dialog.view().verdict()));
        picture(dialog, QStringLiteral("open-model-slow"));
    }

    void fit_estimatesBeforeLoadingAndWhatItApprovesLoads() {
        OpenModelDialog dialog(*m_engine);
        dialog.show();
        QVERIFY(!dialog.openButton().isEnabled());
        dialog.view().setRequest(request("emulated:rtx-3060-desktop", 16 * kMiB));
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().fits(), 60'000);
        QVERIFY(dialog.openButton().isEnabled());
        QCOMPARE(dialog.view().bars().rows().size(), std::size_t{2});
        QVERIFY(dialog.view().verdict().startsWith(QStringLiteral("Fits")));
        picture(dialog, QStringLiteral("open-model"));
        const auto estimated = *dialog.view().estimate();
        open(dialog.request());
        QCOMPARE(m_engine->model()->resident_experts, estimated.plan.n_resident());
        QCOMPARE(m_engine->model()->vram_budget_bytes, 16 * kMiB);
        const engine::FitHeld held = heldBy(*m_engine);
        QVERIFY(held.ram_bytes > 10 * kMiB && held.device == "emulated:rtx-3060-desktop");
    }

    // The dialog's figures equal those of the Budget panel after this computer was
    // measured.
    void fit_speed_isMeasuredOnRequest_andThatOfTheBudget() {
        const QTemporaryDir nothing;
        engine::LoadRequest unknown = request("cpu", 0);
        unknown.ram_bytes = 256 * kMiB;
        unknown.compute = engine::ComputeMode::kF32;
        unknown.cache_directory = nothing.path().toStdString();
        OpenModelDialog dialog(*m_engine);
        dialog.show();
        FitView& view = dialog.view();
        view.setRequest(unknown);
        QTRY_VERIFY_WITH_TIMEOUT(view.fits(), 60'000);
        QVERIFY2(view.speed().contains(QStringLiteral("not measured yet")), qPrintable(view.speed()));
        QVERIFY(view.measureButton().isVisible() && view.measureButton().isEnabled());
        view.setMayMeasure(false);
        QVERIFY(!view.measureButton().isEnabled());
        view.setMayMeasure(true);
        picture(dialog, QStringLiteral("open-model-unmeasured"));

        QTest::mouseClick(&view.measureButton(), Qt::LeftButton);
        QVERIFY(view.isMeasuring());
        QTest::mouseClick(&view.measureButton(), Qt::LeftButton);  // cancels
        QTRY_VERIFY_WITH_TIMEOUT(!view.isMeasuring(), 120'000);
        if (!view.estimate()->forecast) {  // it may have been done by then
            QVERIFY2(view.speed().contains(QStringLiteral("not measured yet")), qPrintable(view.speed()));
            QVERIFY(dialog.openButton().isEnabled());
            QTest::mouseClick(&view.measureButton(), Qt::LeftButton);
            QTRY_VERIFY_WITH_TIMEOUT(!view.isMeasuring(), 120'000);
        }
        QVERIFY(view.estimate()->forecast.has_value());
        QVERIFY(view.measureButton().isVisible());  // again
        picture(dialog, QStringLiteral("open-model-measured"));

        engine::LoadRequest chosen = dialog.request();
        chosen.checks_costs = false;  // a load that times costs again counts with those
        open(chosen);
        BudgetPanel panel(*m_engine);
        panel.show();
        QTRY_VERIFY(panel.form().ram().isEnabled());
        panel.form().ram().setBytes(panel.inForce().ramBytes - kMiB);
        Q_EMIT panel.form().changed();
        QTRY_VERIFY_WITH_TIMEOUT(!test::previewText(panel).isEmpty(), 60'000);
        const engine::Forecast& forecast = *view.estimate()->forecast;
        for (const QString& figure : {QStringLiteral("Tokens/s: %1 ->").arg(rateText(forecast.decode_tokens_per_s)),
                                      QStringLiteral("First token: %1 ->").arg(firstTokenText(forecast.ttft_s))}) {
            QVERIFY2(test::previewText(panel).contains(figure), qPrintable(figure + u'\n' + test::previewText(panel)));
        }
        QVERIFY2(view.speed().contains(rateText(forecast.decode_tokens_per_s)) &&
                     view.speed().contains(firstTokenText(forecast.ttft_s)),
                 qPrintable(view.speed()));
    }

    void fit_saysWhatIsShortAndOffersWhatFits() {
        OpenModelDialog dialog(*m_engine);
        dialog.show();
        dialog.view().setRequest(request("emulated:rtx-3060-desktop", 4 * kMiB));
        QTRY_VERIFY_WITH_TIMEOUT(!dialog.view().isEstimating(), 60'000);
        QVERIFY(dialog.view().verdict().startsWith(QStringLiteral("Does not fit")));
        QVERIFY(!dialog.openButton().isEnabled());
        const auto buttons = dialog.view().changeButtons();
        QVERIFY(!buttons.isEmpty());
        picture(dialog, QStringLiteral("open-model-short"));
        QTest::mouseClick(buttons.first(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().fits(), 60'000);
        open(dialog.request());
    }

    void fit_emptiedPath_cannotBeOpened() {
        OpenModelDialog dialog(*m_engine);
        dialog.show();
        dialog.view().setRequest(request("emulated:rtx-3060-desktop", 16 * kMiB));
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().fits(), 60'000);
        QVERIFY(dialog.openButton().isEnabled());
        dialog.setModel({});
        QVERIFY(!dialog.view().fits());
        QVERIFY(!dialog.openButton().isEnabled());
    }

    void fit_whileAPathIsTyped_saysNothingOfTheOneBefore() {
        OpenModelDialog dialog(*m_engine);
        dialog.show();
        dialog.setModel(QString::fromStdString(request("cpu", 0).model));
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().fits(), 60'000);
        QVERIFY(dialog.openButton().isEnabled());
        QTest::keyClick(&dialog.path(), Qt::Key_End);
        for (const char letter : {'x', 'y'}) {
            QTest::keyClick(&dialog.path(), letter);
            QVERIFY(!dialog.openButton().isEnabled());
            QVERIFY2(!dialog.view().verdict().startsWith(QStringLiteral("Fits")), qPrintable(dialog.view().verdict()));
            QVERIFY(dialog.view().bars().rows().empty());
        }
        QTRY_VERIFY_WITH_TIMEOUT(!dialog.view().isEstimating(), 60'000);
        QVERIFY(dialog.view().verdict().contains(QStringLiteral("xy")));
        QVERIFY(!dialog.openButton().isEnabled());
        QTest::keyClick(&dialog.path(), Qt::Key_Backspace);
        QTest::keyClick(&dialog.path(), Qt::Key_Backspace);
        QVERIFY(!dialog.openButton().isEnabled());
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().fits(), 60'000);
        QVERIFY(dialog.openButton().isEnabled());
        QCOMPARE(dialog.request().model, request("cpu", 0).model);
    }

    void fit_ofNoModelSaysSo() {
        OpenModelDialog dialog(*m_engine);
        dialog.show();
        dialog.setModel(QStringLiteral("/nowhere/at/all"));
        QTRY_VERIFY(dialog.view().verdict().contains(QStringLiteral("/nowhere/at/all")));
        QVERIFY(!dialog.openButton().isEnabled());
    }

    void whatIf_forecastsAndCancels() {
        WhatIfPanel panel(*m_engine);
        panel.show();
        QVERIFY(!panel.emptyText().isEmpty());
        open(request("emulated:rtx-3060-desktop", 16 * kMiB));
        QVERIFY(panel.emptyText().isEmpty());
        QCOMPARE(panel.profile().currentData().toString(), QStringLiteral("rtx-3060-desktop"));
        const QLabel& why = test::child<QLabel>(*panel.table().viewport());
        QVERIFY(why.isVisible() && why.text().contains(QStringLiteral("Press Forecast")));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        QVERIFY(panel.isRunning());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Cancel"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning(), 120'000);
        QCOMPARE(panel.table().rowCount(), 0);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning(), 120'000);
        QCOMPARE(panel.notice(), QString());
        QCOMPARE(panel.table().rowCount(), panel.profile().count());
        QVERIFY(!why.isVisible());
        QVERIFY(panel.bars().barCount() > 5);
        QVERIFY(test::textOf(panel, QStringLiteral("What more VRAM would bring")).contains(QStringLiteral("forecast")));
        QVERIFY(panel.curve().seriesCount() == 1);
        QCOMPARE(test::find<QTableWidget>(panel, "Forecasts by number of machines").rowCount(), 16);
        QCOMPARE(test::find<LinePlot>(panel, "Forecast tokens per second over the number of machines").points(0).size(),
                 std::size_t{8});  // a machine for each expert of a layer
        QVERIFY(panel.machinesText().contains(QStringLiteral("forecast")));
        QCOMPARE(panel.measurements(), 1);
        QCOMPARE(panel.tabs().count(), 3);
        // No name is cut, also where there is little room: two could look alike.
        panel.resize(360, 760);
        const QTableWidget& table = panel.table();
        QTRY_VERIFY(table.width() < 360);
        const int margin = table.style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, &table) + 1;
        for (int row = 0; row < table.rowCount(); ++row) {
            const QRect room(0, 0, table.columnWidth(0) - 2 * margin, 1000);
            const QRect taken =
                table.fontMetrics().boundingRect(room, Qt::AlignLeft | Qt::TextWordWrap, table.item(row, 0)->text());
            QVERIFY2(taken.height() <= table.rowHeight(row) && taken.width() <= room.width(),
                     qPrintable(table.item(row, 0)->text()));
        }
        panel.price().setValue(2'000);
        for (int i = 0; i < panel.tabs().count(); ++i) {
            panel.tabs().setCurrentIndex(i);
            picture(panel, QStringLiteral("what-if-%1").arg(i));
        }
    }

    void whatIf_controlsHaveNames() {
        WhatIfPanel panel(*m_engine);
        const QList<QWidget*> controls = {
            &panel.profile(),
            &panel.machines(),
            &panel.network(),
            &panel.table(),
            &panel.bars(),
            &panel.curve(),
            &test::find<QTableWidget>(panel, "Forecasts by number of machines"),
            &test::find<LinePlot>(panel, "Forecast tokens per second over the number of machines"),
            &panel.price()};
        QStringList names;
        for (const QWidget* control : controls) {
            QVERIFY(!control->accessibleName().isEmpty());
            names << control->accessibleName();
        }
        QCOMPARE(names.removeDuplicates(), 0);
        for (const QWidget* control :
             {static_cast<QWidget*>(&panel.machines()), static_cast<QWidget*>(&panel.network()),
              static_cast<QWidget*>(&test::find<QPushButton>(panel, "Forecast"))}) {
            QVERIFY(!control->toolTip().isEmpty());
        }
        QCOMPARE(panel.machines().minimum(), 1);
        QCOMPARE(panel.machines().maximum(), 16);
        QCOMPARE(panel.network().count(), 4);
    }

    // Machines and network change the display by themselves, and this computer is
    // measured once.
    void whatIf_machinesAndNetwork_areForecastAnewByThemselves() {
        WhatIfPanel panel(*m_engine);
        panel.show();
        open(request("emulated:rtx-3060-desktop", 16 * kMiB));
        const int chosen = panel.profile().currentIndex();
        const QString chosenName = panel.profile().itemText(chosen);
        const auto row = [&] {  // of the chosen one
            int found = 0;
            while (!panel.table().item(found, 0)->text().endsWith(chosenName)) {
                ++found;
            }
            return found;
        };
        const auto name = [&] { return panel.table().item(row(), 0)->text(); };
        const auto speedOfTwo = [&] {
            return QLocale().toDouble(
                test::find<QTableWidget>(panel, "Forecasts by number of machines").item(1, 1)->text());
        };
        // No request yet.
        QVERIFY(!panel.network().isEnabled());
        QTest::keyClick(&panel.machines(), Qt::Key_Up);
        QVERIFY(panel.network().isEnabled());
        QVERIFY(!panel.isRunning());
        QTest::keyClick(&panel.machines(), Qt::Key_Down);
        QVERIFY(!panel.network().isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        finish(panel);
        const QString alone = name();
        const QString speedAlone = panel.table().item(row(), 1)->text();
        QCOMPARE(test::find<QTableWidget>(panel, "Forecasts by number of machines").item(0, 1)->text(), speedAlone);
        const double overTcp = speedOfTwo();
        QVERIFY(test::find<QTableWidget>(panel, "Forecasts by number of machines").isColumnHidden(3));
        panel.price().setValue(500);  // two cost 1,000 USD
        QVERIFY(!test::find<QTableWidget>(panel, "Forecasts by number of machines").isColumnHidden(3));
        QVERIFY(std::abs(QLocale().toDouble(
                             test::find<QTableWidget>(panel, "Forecasts by number of machines").item(1, 3)->text()) /
                             overTcp -
                         1) < 0.01);
        const QString perPrice = test::find<QTableWidget>(panel, "Forecasts by number of machines").item(0, 3)->text();
        QVERIFY2(!perPrice.contains(u'e'), qPrintable(perPrice));

        QTest::keyClick(&panel.machines(), Qt::Key_Up);
        QVERIFY(panel.isRunning());
        QVERIFY(!test::find<QPushButton>(panel, "Forecast").isEnabled());
        finish(panel);
        QCOMPARE(name(), QStringLiteral("2 × ") + alone);
        QCOMPARE(panel.table().item(row(), 1)->text(),
                 test::find<QTableWidget>(panel, "Forecasts by number of machines").item(1, 1)->text());
        QVERIFY(test::textOf(panel, QStringLiteral("What more VRAM would bring")).startsWith(QStringLiteral("2 × ")));
        QCOMPARE(test::find<QTableWidget>(panel, "Forecasts by number of machines").currentRow(), 1);
        QCOMPARE(speedOfTwo(), overTcp);

        QTest::keyClick(&panel.network(), Qt::Key_End);  // the fastest
        QVERIFY(panel.isRunning());
        finish(panel);
        QVERIFY(speedOfTwo() > 2 * overTcp);
        QVERIFY(panel.machinesText().contains(QStringLiteral("InfiniBand")));

        QTest::keyClick(&panel.machines(), Qt::Key_Down);
        finish(panel);
        QCOMPARE(name(), alone);
        QCOMPARE(panel.table().item(row(), 1)->text(), speedAlone);
        QCOMPARE(panel.measurements(), 1);
        panel.profile().setCurrentIndex(chosen == 0 ? 1 : 0);
        QVERIFY(panel.isRunning());
        finish(panel);
        QVERIFY(panel.machinesText().startsWith(panel.profile().currentText()));
        QCOMPARE(panel.measurements(), 1);
        // Another model is measured anew, on request.
        open(request("emulated:rtx-3060-desktop", 24 * kMiB));
        QCOMPARE(test::find<QTableWidget>(panel, "Forecasts by number of machines").rowCount(), 0);
        panel.machines().setValue(3);
        QVERIFY(!panel.isRunning());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        finish(panel);
        QCOMPARE(panel.measurements(), 2);
    }

    void whatIf_quickChanges_showOnlyTheLast() {
        WhatIfPanel panel(*m_engine);
        panel.show();
        open(request("emulated:rtx-3060-desktop", 16 * kMiB));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        QStringList shown;  // as the first row's name, in turn
        connect(&panel.table(), &QTableWidget::itemChanged, this, [&shown](const QTableWidgetItem* item) {
            if (item->row() == 0 && item->column() == 0 && (shown.isEmpty() || shown.last() != item->text())) {
                shown << item->text();
            }
        });
        // While the first is computed: its result is dropped.
        panel.machines().setValue(2);
        panel.machines().setValue(3);
        panel.network().setCurrentIndex(2);
        panel.machines().setValue(4);
        finish(panel);
        QCOMPARE(shown.size(), 1);
        QVERIFY2(shown.first().startsWith(QStringLiteral("4 × ")), qPrintable(shown.first()));
        QCOMPARE(test::find<QTableWidget>(panel, "Forecasts by number of machines").currentRow(), 3);
        QVERIFY(panel.machinesText().contains(panel.network().currentText()));
    }

    void whatIf_moreMachinesThanExperts_saysSo() {
        WhatIfPanel panel(*m_engine);
        panel.show();
        open(request("emulated:rtx-3060-desktop", 16 * kMiB));
        panel.machines().setValue(9);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        finish(panel);
        QCOMPARE(panel.table().item(0, 1)->text(), QStringLiteral("not possible"));
        QVERIFY(panel.table().item(0, 1)->toolTip().contains(QStringLiteral("9 machines")));
        QVERIFY(
            test::textOf(panel, QStringLiteral("What more VRAM would bring")).contains(QStringLiteral("9 machines")));
        QCOMPARE(panel.bars().barCount(), 0);
        QCOMPARE(test::find<QTableWidget>(panel, "Forecasts by number of machines").item(8, 1)->text(),
                 QStringLiteral("not possible"));
        QVERIFY(QLocale().toDouble(
                    test::find<QTableWidget>(panel, "Forecasts by number of machines").item(7, 1)->text()) > 0);
        QCOMPARE(panel.table().columnSpan(0, 1), 2);  // the words have room
        panel.tabs().setCurrentIndex(2);
        picture(panel, QStringLiteral("what-if-nine"));
        panel.machines().setValue(8);
        finish(panel);
        QVERIFY(panel.bars().barCount() > 5);
        QCOMPARE(panel.table().columnSpan(0, 1), 1);
    }

    void whatIf_cancelledChange_leavesWhatWasShown() {
        WhatIfPanel panel(*m_engine);
        panel.show();
        open(request("emulated:rtx-3060-desktop", 16 * kMiB));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        finish(panel);
        const QString name = panel.table().item(0, 0)->text();
        panel.machines().setValue(2);
        QVERIFY(test::find<QPushButton>(panel, "Cancel").isVisible());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Cancel"), Qt::LeftButton);
        QVERIFY(!panel.isRunning());
        QVERIFY(panel.notice().contains(QStringLiteral("before")));
        QCOMPARE(panel.table().item(0, 0)->text(), name);
        // From here on only the button requests.
        panel.machines().setValue(3);
        QVERIFY(!panel.isRunning());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Forecast"), Qt::LeftButton);
        QVERIFY(panel.isRunning());
        finish(panel);
        QCOMPARE(panel.notice(), QString());
        QCOMPARE(panel.table().item(0, 0)->text(), QStringLiteral("3 × ") + name);
        QCOMPARE(panel.measurements(), 1);
    }

    void profile_isCheckedSavedAndListed() {
        engine::HardwareProfile profile = engine::find_hardware_profile("t4");
        {
            ProfileEditor editor(profile);
            editor.name().setText(QStringLiteral("Wide bus"));
            editor.bus().setValue(64);
            editor.save();
            QCOMPARE(editor.problem(), QString());
            QVERIFY(ProfileEditor::own().contains(editor.savedPath()));
            const auto read = engine::find_hardware_profile(editor.savedPath().toStdString());
            QCOMPARE(read.bus_gbps, 64.0);
            QCOMPARE(read.memory_gbps, profile.memory_gbps);
            WhatIfPanel panel(*m_engine);
            QVERIFY(panel.profile().findData(editor.savedPath()) >= 0);
            QFile::remove(editor.savedPath());
        }
        // Two of one name, and names that no file can have: each is kept.
        QSet<QString> paths;
        for (const QString& name :
             {QStringLiteral("Twice"), QStringLiteral("Twice"), QStringLiteral("Моя карта"), QStringLiteral("显卡")}) {
            ProfileEditor editor(profile);
            editor.name().setText(name);
            editor.save();
            QCOMPARE(editor.problem(), QString());
            paths.insert(editor.savedPath());
        }
        QCOMPARE(paths.size(), 4);
        for (const QString& path : std::as_const(paths)) {
            QFile::remove(path);
        }
        ProfileEditor nameless(profile);
        nameless.name().setText(QStringLiteral("  "));
        nameless.save();
        QVERIFY(nameless.problem().contains(QStringLiteral("name")));
        QVERIFY(nameless.savedPath().isEmpty());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestBudgetBenchmarkDemo)
#include "tst_budget_benchmark_demo.moc"
