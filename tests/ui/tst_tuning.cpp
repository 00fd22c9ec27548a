// Somebody who tunes a model into a small GPU, or studies its routing: lists of hardware
// and results that can be read, colours that can be compared, buttons by keys.
#include <QComboBox>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLabel>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <QToolTip>

#include "engine/device/hardware_profile.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/engine/device_choice.h"
#include "ui/engine/engine_controller.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/what_if_panel.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/heat_map_legend.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

// The width of the inspector in a window of 1280 x 800.
constexpr QSize kInspector{512, 720};

engine::HardwareProfile card(const char* name, std::uint64_t gib, const char* host = nullptr) {
    engine::HardwareProfile profile = engine::find_hardware_profile("rtx-3060");
    profile.name = name;
    profile.memory_bytes = gib << 30;
    if (host != nullptr) {
        profile.host.emplace();
        profile.host->name = host;
    }
    return profile;
}

// Two layers of four experts, of whose calls expert 1 of layer 0 has the most.
engine::Snapshot snapshotOf(std::uint32_t most) {
    engine::Snapshot snapshot;
    snapshot.n_layers = 2;
    snapshot.n_experts = 4;
    snapshot.n_active = 1;
    snapshot.window_tokens = 100;
    snapshot.window_counts.assign(8, 5);
    snapshot.window_counts[1] = most;
    return snapshot;
}

// The texts of visible cells that are wider than their column.
QStringList cutCells(const QTableView& table, std::initializer_list<int> columns) {
    QStringList cut;
    for (int row = 0; row < table.model()->rowCount(); ++row) {
        for (const int column : columns) {
            const QModelIndex at = table.model()->index(row, column);
            const QString text = at.data().toString();
            const QRect cell = table.visualRect(at).adjusted(3, 0, -3, 0);
            const QRect needs =
                table.fontMetrics().boundingRect(QRect(0, 0, cell.width(), 1000), Qt::TextWordWrap, text);
            if (needs.width() > cell.width() || needs.height() > cell.height() ||
                table.visualRect(at).right() > table.viewport()->width()) {
                cut << QStringLiteral("%1 in %2 x %3").arg(text).arg(cell.width()).arg(cell.height());
            }
        }
    }
    return cut;
}

}  // namespace

class TestTuning : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void hardware_hasOneNameACard() {
        const std::vector<engine::HardwareProfile> profiles{
            card("RTX 1", 12), card("RTX 1", 12, "8 desktop cores, two channels"),
            card("RTX 2", 8),  card("RTX 2", 16),
            card("RTX 3", 8),  card("RTX 3 Laptop", 8)};
        QCOMPARE(hardwareNames(profiles),
                 (QStringList{QStringLiteral("RTX 1"), QStringLiteral("RTX 1 with 8 desktop cores"),
                              QStringLiteral("RTX 2, 8.0 GiB"), QStringLiteral("RTX 2, 16.0 GiB"),
                              QStringLiteral("RTX 3, desktop"), QStringLiteral("RTX 3, laptop")}));
        const DeviceChoices devices;
        QStringList names;
        for (const DeviceChoice& choice : devices.choices()) {
            names << choice.name;
        }
        QVERIFY(names.size() > 20);
        QCOMPARE(names.removeDuplicates(), 0);
        QVERIFY2(names.contains(QStringLiteral("GeForce RTX 3060 with 8 desktop cores")),
                 qPrintable(names.join(u'\n')));
    }

    // Names of hardware differ in their middle or at their ends.
    void narrowBox_hasWholeNamesInItsListAndItsTip() {
        applyTheme(*qApp, Theme::Light);  // the window's style
        QWidget window;
        QComboBox box(&window);
        const QString name = QStringLiteral("GeForce RTX 3060 with 8 desktop cores");
        box.addItems({name, QStringLiteral("H200")});
        box.setToolTip(QStringLiteral("The card"));
        window.resize(400, 300);
        box.setFixedWidth(120);
        window.show();
        QTest::keyClick(&box, Qt::Key_F4);
        QTRY_VERIFY(box.view()->isVisible());
        const int needed = box.fontMetrics().horizontalAdvance(name);
        QTRY_VERIFY2(box.view()->viewport()->width() >= needed,
                     qPrintable(QString::number(box.view()->viewport()->width())));
        box.hidePopup();
        const auto tip = [&] {
            QHelpEvent asked(QEvent::ToolTip, box.rect().center(), box.mapToGlobal(box.rect().center()));
            QApplication::sendEvent(&box, &asked);
            return QToolTip::text();
        };
        QCOMPARE(tip(), name + QStringLiteral("\nThe card"));
        box.setFixedWidth(390);
        QCOMPARE(tip(), QStringLiteral("The card"));
    }

    void whatIf_listUsesTheHeight_andShowsTheChosen() {
        if (!QFileInfo::exists(demoModel())) {
            QSKIP("the demo model is not in this tree");
        }
        EngineController engine([] { return engine::Session::create(); });
        WhatIfPanel panel(engine);
        panel.resize(kInspector);
        panel.show();
        engine::LoadRequest request;
        request.model = demoModel().toStdString();
        request.device = "emulated:t4-cloud";  // among the slowest
        request.vram_bytes = demoVram(24 << 20, 512);
        request.context = 512;
        request.n_threads = 1;
        engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(engine.state(), EngineController::State::Ready, 60'000);
        QPushButton& forecast = test::find<QPushButton>(panel, "Forecast");
        forecast.setFocus();
        QTest::keyClick(&forecast, Qt::Key_Space);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning() && panel.table().rowCount() > 20, 120'000);
        picture(panel, QStringLiteral("what-if-list"), {kInspector.width(), 1200}, kInspector.height());
        panel.resize(kInspector);
        QCoreApplication::processEvents();
        const QTableWidget& table = panel.table();
        const int shown = table.rowAt(table.viewport()->height() - 1) - table.rowAt(0) + 1;
        QVERIFY2(shown >= 9, qPrintable(QString::number(shown)));
        QCOMPARE(table.selectedItems().value(0)->text(), panel.profile().currentText());
        QTRY_VERIFY(table.viewport()->rect().contains(table.visualItemRect(table.selectedItems().value(0))));
        QCOMPARE(cutCells(table, {0, 1, 2, 3}), QStringList());
        // Nothing but the list scrolls; the bars, which repeat it, have no room beside
        // it.
        QVERIFY(panel.bars().barCount() > 20 && !panel.bars().isVisible());
        panel.resize(1200, kInspector.height());
        QTRY_VERIFY(panel.bars().isVisible());
        panel.close();
        engine.shutdown();
    }

    void benchmark_namesAndSpeedsAreWhole_data() {
        QTest::addColumn<int>("width");
        QTest::newRow("narrow") << 380;
        QTest::newRow("at 1280 x 800") << kInspector.width();
        QTest::newRow("wide") << 1100;
    }
    void benchmark_namesAndSpeedsAreWhole() {
        QFETCH(const int, width);
        EngineController engine([] { return makeFakeSession(std::make_shared<Stage>()); });
        BenchmarkPanel panel(engine);
        panel.resize(width, kInspector.height());
        panel.showPage(BenchmarkPanel::Scenario);
        panel.show();
        engine::LoadRequest request;
        request.model = "/models/fake-moe";
        engine.openModel(request);
        QTRY_COMPARE(engine.state(), EngineController::State::Ready);
        BenchmarkRun run;
        run.label = QStringLiteral("512 in, 32 out: the context was full after 31");
        run.tokensIn = 12'345;
        run.tokensOut = 32;
        run.tokensPerSecond = 1231.5;
        run.ttftSeconds = 12.3;
        panel.scenarios().append(run);
        const QTableView* table = nullptr;
        for (const QTableView* each : panel.findChildren<QTableView*>()) {
            table = each->model() == &panel.scenarios() ? each : table;
        }
        QVERIFY(table != nullptr);
        QTRY_VERIFY(table->isVisible());
        QCOMPARE(cutCells(*table, {BenchmarkTable::Label, BenchmarkTable::Speed}), QStringList());
        if (width >= kInspector.width()) {
            QCOMPARE(cutCells(*table, {BenchmarkTable::Ttft, BenchmarkTable::In, BenchmarkTable::Out}), QStringList());
        }
        panel.close();
        engine.shutdown();
    }

    // A scale that follows its maximum makes two pictures look alike that are not.
    void colours_ofAFixedScale_canBeCompared_andItIsKept() {
        EngineController engine([] { return makeFakeSession(std::make_shared<Stage>()); });
        const auto chosen = [](const ExpertsPanel& panel) -> QComboBox& {
            return test::find<QComboBox>(panel, "End of the colour scale");
        };
        {
            ExpertsPanel panel(engine);
            panel.resize(kInspector);
            panel.show();
            QApplication::setActiveWindow(&panel);
            panel.setSnapshot(snapshotOf(80));
            const QRgb fiveOfEighty = panel.map().colourOf({1, 0});
            panel.setSnapshot(snapshotOf(40));
            QVERIFY(panel.map().colourOf({1, 0}) != fiveOfEighty);
            QCOMPARE(panel.legend().endText(), QStringLiteral("highest: 40 %"));
            const QImage highest = panel.map().picture();
            chosen(panel).setFocus();
            QTest::keyClick(&chosen(panel), Qt::Key_End);
            QCOMPARE(panel.legend().endText(), QStringLiteral("100 % and more (fixed)"));
            QVERIFY(panel.legend().accessibleName().contains(QStringLiteral("(fixed)")));
            QVERIFY(panel.map().picture() != highest);
            const QRgb fixed = panel.map().colourOf({1, 0});
            panel.setSnapshot(snapshotOf(80));
            QCOMPARE(panel.map().colourOf({1, 0}), fixed);
            QTest::keyClick(&chosen(panel), Qt::Key_Up);
            QTest::keyClick(&chosen(panel), Qt::Key_Up);
            QCOMPARE(panel.legend().top(), 0.25);
            // What is beyond looks like the end; other amounts end at 100 %.
            QCOMPARE(panel.map().colourOf({0, 1}), ColorScale::on(ColorScale::Ground::Light).at(1));
            picture(panel, QStringLiteral("experts-fixed-scale"), {320, kInspector.width()}, kInspector.height());
            panel.setChannel(ExpertChannel::Recency);
            QVERIFY(!chosen(panel).isEnabled() && chosen(panel).toolTip().contains(QStringLiteral("100 %")));
        }
        const ExpertsPanel again(engine);
        QCOMPARE(chosen(again).currentText(), QStringLiteral("25 %"));
        engine.shutdown();
    }

    // Only Space did.
    void enter_pressesButtonsOfPanels_once() {
        WindowFixture f;
        f.window->resize(1280, 800);
        f.openAndWait();
        part<PanelDocks>(*f.window).show(QStringLiteral("budget"));
        auto& advanced = test::find<QToolButton>(part<BudgetPanel>(*f.window), "Advanced");
        QTRY_VERIFY(advanced.isVisible());
        advanced.setFocus();
        QTest::keyClick(&advanced, Qt::Key_Return);
        QVERIFY(advanced.isChecked());
        QTest::keyClick(&advanced, Qt::Key_Enter, Qt::KeypadModifier);
        QVERIFY(!advanced.isChecked());
        // Held down it does not press again; with Ctrl it is another key.
        QKeyEvent held(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier, {}, true);
        QCoreApplication::sendEvent(&advanced, &held);
        QTest::keyClick(&advanced, Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(!advanced.isChecked());
        advanced.setEnabled(false);
        QTest::keyClick(&advanced, Qt::Key_Return);
        QVERIFY(!advanced.isChecked());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestTuning)
#include "tst_tuning.moc"
