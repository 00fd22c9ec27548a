// Levels of quality in the Budget panel, what they are made of, and names of GPUs in
// What if, by real keys and clicks on a scripted engine.

#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QScopeGuard>
#include <QScrollBar>
#include <QSet>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QTableWidget>
#include <QToolButton>

#include "kernels/formats.h"
#include "tests/ui/budget_texts.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/geometry.h"
#include "tests/ui/panel_bench.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/load/precision_fields.h"
#include "ui/load/quality_levels.h"
#include "ui/panels/left_out_edit.h"
#include "ui/panels/what_if_panel.h"
#include "ui/plot/bar_plot.h"
#include "ui/widgets/size_spin_box.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

QString levelText(const BudgetPanel& panel) {
    return panel.form().level().currentText();
}

QString changeText(const BudgetPanel& panel) {
    return textOf(panel, QStringLiteral("What this quality changes"));
}

// With arrow keys, to the item whose text begins so.
void keysTo(QComboBox& box, const QString& begin) {
    box.setFocus();
    const int way = box.findText(begin, Qt::MatchStartsWith) - box.currentIndex();
    for (int i = 0; i < std::abs(way); ++i) {
        QTest::keyClick(&box, way > 0 ? Qt::Key_Down : Qt::Key_Up);
    }
}

}  // namespace

class TestBudgetLevels : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // After Undo there may be nothing left to do here: the next keys are a message.
    void undo_inTheWindow_givesTheFocusToTheConversation() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        QMainWindow window;
        auto* const message = new QPlainTextEdit;
        window.setCentralWidget(message);
        auto* const dock = new QDockWidget;
        dock->setWidget(&panel);
        window.addDockWidget(Qt::RightDockWidgetArea, dock);
        const auto away = qScopeGuard([&panel] { panel.setParent(nullptr); });
        window.resize(1280, 800);
        window.show();
        bench.show();
        QPushButton &apply = find<QPushButton>(panel, "Apply"), &undo = find<QPushButton>(panel, "Undo");
        panel.form().vram().spin().stepUp();
        QTRY_VERIFY(apply.isEnabled());
        apply.setFocus();
        QTest::keyClick(&apply, Qt::Key_Space);
        QTRY_VERIFY(undo.isEnabled());
        undo.setFocus();
        QTest::keyClick(&undo, Qt::Key_Space);
        QTRY_COMPARE(panel.inForce().vramBytes, 6 * kGiB);
        QTRY_COMPARE(window.focusWidget(), message);
        QTest::keyClicks(window.focusWidget(), QStringLiteral("hello 5"));
        QCOMPARE(message->toPlainText(), QStringLiteral("hello 5"));
        QVERIFY(panel.form().setting() == panel.inForce());
    }

    void level_isAFloorOfBits_previewedAppliedAndUndone() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.with([](ReplanStage& s) {
            s.predictedLoss = 0.006;
            s.previewFormat = kernels::WeightType::kHqq4;
        });
        bench.show();
        QTRY_COMPARE(changeText(panel), QStringLiteral("Quality change: none"));
        QCOMPARE(levelText(panel), QStringLiteral("Original"));
        keysTo(panel.form().level(), QStringLiteral("Bal"));
        QCOMPARE(levelText(panel), QStringLiteral("Balanced"));
        QCOMPARE(panel.form().setting().quality.min_mean_bits, 4.25);
        QTRY_COMPARE(changeText(panel), QStringLiteral("Quality change: small (predicted, 0.6 % error)"));
        picture(panel, QStringLiteral("budget-level"), {360, 500});
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        bench.with([](ReplanStage& s) {
            QCOMPARE(s.requests.size(), std::size_t{1});
            QVERIFY(s.requests[0].quality && !s.requests[0].experts && !s.requests[0].vram_bytes);
            QCOMPARE(s.requests[0].quality->min_mean_bits, 4.25);
        });
        QCOMPARE(levelText(panel), QStringLiteral("Balanced"));
        keysTo(panel.form().level(), QStringLiteral("Small"));
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_COMPARE(panel.inForce().quality.min_mean_bits, 3.25);
        QVERIFY2(test::find<QPushButton>(panel, "Undo").toolTip().contains(QStringLiteral("quality: Balanced")),
                 qPrintable(test::find<QPushButton>(panel, "Undo").toolTip()));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QTRY_COMPARE(panel.inForce().quality.min_mean_bits, 4.25);
        QCOMPARE(levelText(panel), QStringLiteral("Balanced"));
    }

    // A floor of bits is no order to have fewer: where the plan keeps the file's formats the
    // panel says so, before and after.
    void level_thatChangesNoFormat_saysWhy() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        const auto says = [&panel] {
            const QList<QLabel*> labels = panel.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [](const QLabel* each) {
                return each->isVisible() && each->text().contains(QStringLiteral("fewer are not known to be faster"));
            });
        };
        keysTo(panel.form().level(), QStringLiteral("Small"));
        QTRY_VERIFY(says());
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        QVERIFY2(says(), qPrintable(panel.notice()));
    }

    // Applied, it threw the measured speed away and left all else as it was.
    void level_thatMovesNothing_cannotBeApplied() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.with([](ReplanStage& s) {
            s.bytesToMove = 0;
            s.measuredSteps = 12;
        });
        bench.show();
        const auto& basis = find<QLabel>(panel, "What the figures rest on");
        QTRY_VERIFY(basis.text().contains(QStringLiteral("measured, 12 token")));
        QPushButton& apply = find<QPushButton>(panel, "Apply");
        keysTo(panel.form().level(), QStringLiteral("Small"));
        QTRY_VERIFY(apply.toolTip().contains(QStringLiteral("fewer are not known to be faster")));
        QVERIFY(!apply.isEnabled() && find<QPushButton>(panel, "Reset").isEnabled());
        QTest::mouseClick(&apply, Qt::LeftButton);
        bench.with([](ReplanStage& s) { QVERIFY(s.requests.empty()); });
        QVERIFY2(basis.text().contains(QStringLiteral("measured, 12 token")), qPrintable(basis.text()));
        picture(panel, QStringLiteral("budget-level-moves-nothing"), {360, 500});
        // The figures of now may go; the reason is the preview's, and not the next level's.
        bench.with([](ReplanStage& s) { s.nowProblem = "no figures"; });
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "Hello"}};
        QVERIFY(bench.engine.generate(request) != 0);
        QTRY_VERIFY(basis.text().isEmpty());
        QVERIFY2(apply.toolTip().contains(QStringLiteral("fewer are not known to be faster")),
                 qPrintable(apply.toolTip()));
        keysTo(panel.form().level(), QStringLiteral("Bal"));
        QCOMPARE(apply.toolTip(), QStringLiteral("What it would change is being worked out"));
        keysTo(panel.form().level(), QStringLiteral("Small"));
        QTRY_VERIFY(apply.toolTip().contains(QStringLiteral("fewer are not known to be faster")));
        // With another change beside it, it counts.
        panel.form().ram().spin().setFocus();
        QTest::keyClick(&panel.form().ram().spin(), Qt::Key_Down);
        QTRY_VERIFY(apply.isEnabled());
        QTest::mouseClick(&apply, Qt::LeftButton);
        QTRY_COMPARE(panel.inForce().quality.min_mean_bits, 3.25);
        // And back to the original one, which is an order.
        keysTo(panel.form().level(), QStringLiteral("Orig"));
        QTRY_VERIFY(apply.isEnabled());
    }

    // Beside a button the line of the change has two lines of text, or one.
    void change_withAdvancedOpen_movesNothing() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.with([](ReplanStage& s) {
            s.predictedLoss = 0.006;
            s.previewFormat = kernels::WeightType::kHqq4;
        });
        bench.show();
        panel.resize(360, 760);
        QTest::mouseClick(&find<QToolButton>(panel.form(), "Advanced"), Qt::LeftButton);
        QTRY_COMPARE(changeText(panel), QStringLiteral("Quality change: none"));
        QCoreApplication::processEvents();
        const auto before = placesOf(panel);
        const int bars = panel.bars().y();
        keysTo(panel.form().level(), QStringLiteral("Bal"));
        QTRY_COMPARE(changeText(panel), QStringLiteral("Quality change: small (predicted, 0.6 % error)"));
        QCoreApplication::processEvents();
        QCOMPARE(movedSince(before, panel).join(u'\n'), QString());
        QCOMPARE(panel.bars().y(), bars);
    }

    // Measured for the format that all experts have: its figure, not a prediction.
    void change_isAsMeasured_whereItWas() {
        BudgetBench bench;
        bench.with([](ReplanStage& s) {
            s.predictedLoss = 0.00003;
            s.previewFormat = kernels::WeightType::kInt8;
            s.thresholds.formats = {{kernels::WeightType::kInt8, 0.0004, "a text", 1000}};
        });
        bench.show();
        keysTo(bench.panel.form().level(), QStringLiteral("Nearly"));
        QTRY_COMPARE(changeText(bench.panel), QStringLiteral("Quality change: very small (KL 0.0004)"));
    }

    void changeText_hasAWordAndAFigure() {
        const auto text = [](double loss, std::optional<double> kl, bool skips = false,
                             std::optional<double> skipped = {}) {
            return qualityChangeText({loss, kl, skips, skipped});
        };
        // Before the first snapshot no format is known: that is not KL 0.
        const auto unknown = measuredKl(engine::ModelSummary(), std::vector<std::uint8_t>());
        QVERIFY(!unknown);
        QCOMPARE(text(0.08, unknown), QStringLiteral("large (predicted, 8 % error)"));
        QCOMPARE(text(0, 0), QStringLiteral("none"));
        QCOMPARE(text(0.1, 0.0004), QStringLiteral("very small (KL 0.0004)"));
        QCOMPARE(text(0.1, 0.0077), QStringLiteral("small (KL 0.0077)"));
        QCOMPARE(text(0.1, 0.05), QStringLiteral("noticeable (KL 0.05)"));
        QCOMPARE(text(0.1, 0.4), QStringLiteral("large (KL 0.4)"));
        QCOMPARE(text(0.0001, {}), QStringLiteral("very small (predicted, 0.01 % error)"));
        QCOMPARE(text(0.02, {}), QStringLiteral("noticeable (predicted, 2 % error)"));
        QCOMPARE(text(0.2, {}), QStringLiteral("large (predicted, 20 % error)"));
        // Neurons add what was measured of them; nothing is said that was not.
        QCOMPARE(text(0, 0, true, 0.002), QStringLiteral("small (KL 0.002)"));
        QCOMPARE(text(0.1, 0.004, true, 0.002), QStringLiteral("small (KL 0.006)"));
        QCOMPARE(text(0.006, {}, true, 0.002),
                 QStringLiteral("small (predicted, 0.6 % error); skipped neurons: small (KL 0.002)"));
        QCOMPARE(text(0, 0, true), QStringLiteral("not measured"));
    }

    // What the levels are made of is folded away, and shows in the level as "Custom".
    void advanced_isFolded_andItsChoicesAreCustom() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        panel.resize(360, 760);
        BudgetForm& form = panel.form();
        const auto& loss = test::find<QLabel>(panel, "Predicted loss, now");
        const auto& lossOfSkipped = test::find<QLabel>(panel, "Loss by skipped neurons, now");
        QVERIFY(!form.quality().isVisible() && !form.leftOut().isVisible() && !loss.isVisible());
        find<QToolButton>(form, "Advanced").setFocus();
        QTest::keyClick(&find<QToolButton>(form, "Advanced"), Qt::Key_Space);
        QVERIFY(form.quality().isVisible() && form.leftOut().isVisible() && loss.isVisible());
        QVERIFY(!lossOfSkipped.isVisible());  // none are
        picture(panel, QStringLiteral("budget-advanced"), {360, 500});
        form.quality().choice().setFocus();
        QTest::keyClick(&form.quality().choice(), Qt::Key_End);  // the last format
        QCOMPARE(levelText(panel), QStringLiteral("Custom"));
        QVERIFY(form.setting().experts.has_value());
        // A level takes all of it back.
        keysTo(form.level(), QStringLiteral("Orig"));
        QVERIFY(!form.setting().experts && form.setting() == panel.inForce());
        // The floor of a level is that level; neurons that are skipped are none.
        keysTo(form.quality().choice(), QStringLiteral("Mean"));
        QCOMPARE(levelText(panel), QStringLiteral("Custom"));
        auto& bits = form.quality().value();
        bits.setFocus();
        bits.selectAll();
        QTest::keyClicks(&bits, QLocale().toString(4.25));
        QTest::keyClick(&bits, Qt::Key_Return);
        QCOMPARE(levelText(panel), QStringLiteral("Balanced"));
        keysTo(form.leftOut().how(), QStringLiteral("Up"));
        QCOMPARE(levelText(panel), QStringLiteral("Custom"));
        QVERIFY(lossOfSkipped.isVisible());
        keysTo(form.level(), QStringLiteral("Small"));
        QVERIFY(!form.setting().theta.leaves_out());
        QTest::mouseClick(&find<QToolButton>(form, "Advanced"), Qt::LeftButton);
        QVERIFY(!form.quality().isVisible());
        // "Custom" itself changes nothing, and shows what there is to choose.
        const BudgetSetting before = form.setting();
        keysTo(form.level(), QStringLiteral("Cust"));
        QVERIFY(form.quality().isVisible() && form.setting() == before);
        QCOMPARE(levelText(panel), QStringLiteral("Small"));
    }

    // A file's experts have no more bits than the level asks for.
    void level_thatAFileCannotReach_isNotOffered() {
        BudgetForm form;
        engine::ModelSummary model;
        model.context = model.max_context = 4096;
        model.expert_formats = {"Q4_K", true, 4.5, {kernels::WeightType::kHqq4, kernels::WeightType::kHqq3}};
        form.setLimits(model, {});
        const auto item = [&](int level) {
            return qobject_cast<QStandardItemModel*>(form.level().model())->item(level);
        };
        QVERIFY(item(0)->isEnabled() && !item(1)->isEnabled() && item(2)->isEnabled() && item(3)->isEnabled());
        QVERIFY2(item(1)->toolTip().contains(QStringLiteral("4.5")), qPrintable(item(1)->toolTip()));
        model.expert_formats = {"IQ1_S", true, 1.6, {}};
        form.setLimits(model, {});
        QVERIFY(item(0)->isEnabled() && !item(2)->isEnabled() && !item(3)->isEnabled());
    }

    void singleExperts_openTheirPanel() {
        WindowFixture f;
        f.openAndWait();
        auto& budget = part<BudgetPanel>(*f.window);
        auto* dock = f.window->findChild<QDockWidget*>(QStringLiteral("budgetDock"));
        auto* experts = f.window->findChild<QDockWidget*>(QStringLiteral("expertsDock"));
        dock->show();
        dock->raise();
        QTRY_VERIFY(budget.isVisible());
        QTest::mouseClick(&find<QToolButton>(budget, "Advanced"), Qt::LeftButton);
        auto& single = test::find<QPushButton>(budget, "Single experts…");
        QTRY_VERIFY(single.isVisible());
        experts->close();
        QTest::mouseClick(&single, Qt::LeftButton);
        QTRY_VERIFY(experts->isVisible());
    }

    // GPUs whose names differ at their ends, or in the middle, stay apart where there is
    // little room for bars beside the list.
    void whatIf_namesOfBars_areToldApart() {
        Bench bench;
        WhatIfPanel panel(bench.engine);
        bench.open();
        panel.resize(1180, 760);
        panel.show();
        const auto& choice = test::find<QComboBox>(panel, "GPU whose VRAM and machines are varied");
        BarPlot::Bars bars{QStringLiteral("tokens/s"), {}, {}, true};
        for (int i = 0; i < choice.count(); ++i) {
            bars.names << choice.itemText(i);
            bars.values.push_back(30 + i);
        }
        QVERIFY(choice.count() > 20);
        panel.bars().setBars(bars);
        QTRY_VERIFY(panel.bars().isVisible() && panel.bars().width() < panel.bars().parentWidget()->width() / 2);
        const QStringList names = panel.bars().names();
        QCOMPARE(names.size(), choice.count());
        QCOMPARE(QSet<QString>(names.begin(), names.end()).size(), choice.count());
        picture(panel, QStringLiteral("what-if-names"), {360, 1180});
    }

    // Names in two lines need a scroll bar, which leaves them less room: at no width does
    // that go round and round.
    void whatIf_table_settlesAtEveryWidth() {
        Bench bench;
        WhatIfPanel panel(bench.engine);
        bench.open();
        QTableWidget& table = panel.table();
        table.setRowCount(9);
        for (int row = 0; row < table.rowCount(); ++row) {
            table.setItem(row, 0,
                          new QTableWidgetItem(QStringLiteral("GeForce RTX 4070 Ti Super and a host %1").arg(row)));
        }
        panel.resize(360, 760);
        panel.show();
        QCoreApplication::processEvents();
        bool hadBar = false, hadNone = false;
        for (const int rows : {9, 4}) {
            table.setRowCount(rows);
            for (int width = 360; width < 620; width += 5) {  // it did from 403 to 413, and from 459 to 469
                panel.resize(width, 400 + 12 * rows);
                QCoreApplication::processEvents();
                const int before = table.columnWidth(0);
                const test::EventCount layouts(*table.viewport(), QEvent::Resize);
                for (int turn = 0; turn < 3; ++turn) {
                    QCoreApplication::processEvents();
                }
                QVERIFY2(layouts.count() == 0, qPrintable(QString::number(width)));
                QCOMPARE(table.columnWidth(0), before);
                (table.verticalScrollBar()->isVisible() ? hadBar : hadNone) = true;
            }
        }
        QVERIFY(hadBar && hadNone);
    }

    // A column that has no room is left out, not squeezed: also one that had it while the
    // table was empty.
    void whatIf_numbers_haveOneLine() {
        Bench bench;
        WhatIfPanel panel(bench.engine);
        bench.open();
        QTableWidget& table = panel.table();
        panel.resize(360, 760);
        panel.show();
        for (int width = 360; width < 620; width += 10) {
            table.setRowCount(0);
            panel.resize(width, 760);
            QCoreApplication::processEvents();
            table.setRowCount(1);
            for (int column = 0; column < table.columnCount(); ++column) {
                table.setItem(0, column, new QTableWidgetItem(QStringLiteral("139.0 GiB")));
            }
            QCoreApplication::processEvents();
            QCoreApplication::processEvents();
            table.resizeRowToContents(0);
            QVERIFY2(table.rowHeight(0) < 2 * table.fontMetrics().lineSpacing(), qPrintable(QString::number(width)));
        }
    }

    // Reached by Tab, a table shows that keys are for it, also without rows.
    void whatIf_table_showsItsFocus() {
        applyTheme(*qApp, Theme::Light);  // the program's style draws it
        Bench bench;
        WhatIfPanel panel(bench.engine);
        bench.open();
        panel.resize(360, 760);
        panel.show();
        QApplication::setActiveWindow(&panel);
        auto& table = test::find<QTableWidget>(panel, "Forecasts by GPU");
        panel.profile().setFocus();
        const QImage without = table.grab().toImage();
        QStringList passed;
        for (int i = 0; i < 12 && panel.focusWidget() != &table; ++i) {
            QTest::keyClick(panel.focusWidget(), Qt::Key_Tab);
            passed << QString::fromLatin1(panel.focusWidget()->metaObject()->className()) + u' ' +
                          panel.focusWidget()->accessibleName();
        }
        QVERIFY2(table.hasFocus(), qPrintable(passed.join(u'\n')));
        const QImage with = table.grab().toImage();
        const QPoint edge(with.width() / 2, 0);
        QVERIFY(with.pixelColor(edge) != without.pixelColor(edge));
        QCOMPARE(with.pixelColor(edge), table.palette().color(QPalette::Highlight));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestBudgetLevels)
#include "tst_budget_levels.moc"
