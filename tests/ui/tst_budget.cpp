// The panel Budget, its form, and what it shares with other panels, on a scripted engine.

#include <algorithm>
#include <array>
#include <cmath>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QSet>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QToolButton>

#include "kernels/formats.h"
#include "tests/ui/budget_texts.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/panel_bench.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/chat/load_banner.h"
#include "ui/engine/format.h"
#include "ui/load/format_categories.h"
#include "ui/load/memory_rows.h"
#include "ui/load/precision_fields.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/expert_channels.h"
#include "ui/panels/left_out_edit.h"
#include "ui/panels/what_if_panel.h"
#include "ui/plot/plot_colors.h"
#include "ui/plot/stacked_bar.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

using Linear = std::array<double, 3>;  // red, green, blue

// G. Machado et al., "A Physiologically-based Model for Simulation of Color Vision
// Deficiency", 2009, of full severity: all cones, without long, middle or short ones.
constexpr std::array<std::array<Linear, 3>, 4> kEyes = {{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
}};

Linear seenBy(const std::array<Linear, 3>& eye, const QColor& colour) {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    const Linear in{linear(colour.redF()), linear(colour.greenF()), linear(colour.blueF())};
    Linear out{};
    for (std::size_t row = 0; row < 3; ++row) {
        const double sum = eye[row][0] * in[0] + eye[row][1] * in[1] + eye[row][2] * in[2];
        out[row] = std::clamp(sum, 0.0, 1.0);
    }
    return out;
}

// OKLab (B. Ottosson, 2020).
Linear labOf(const Linear& c) {
    const double l = std::cbrt(0.4122214708 * c[0] + 0.5363325363 * c[1] + 0.0514459929 * c[2]);
    const double m = std::cbrt(0.2119034982 * c[0] + 0.6806995451 * c[1] + 0.1073969566 * c[2]);
    const double s = std::cbrt(0.0883024619 * c[0] + 0.2817188376 * c[1] + 0.6299787005 * c[2]);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

// As the eye sees them that sees the least: 1 from black to white.
double leastDifference(const QColor& a, const QColor& b) {
    double least = 1;
    for (const auto& eye : kEyes) {
        const Linear x = labOf(seenBy(eye, a)), y = labOf(seenBy(eye, b));
        least = std::min(least, std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]));
    }
    return least;
}

}  // namespace

class TestBudget : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---- budget
    void budget_withoutModelSaysWhatToDo() {
        Bench bench;
        BudgetPanel panel(bench.engine);
        QVERIFY(panel.emptyText().contains(QStringLiteral("Open a model")));
        QVERIFY(!test::find<QPushButton>(panel, "Apply").isEnabled());
    }

    void budget_showsBothMemories() {
        Bench bench;
        BudgetPanel panel(bench.engine);
        bench.open();
        panel.show();
        QTRY_COMPARE(panel.bars().rows().size(), std::size_t{2});
        QVERIFY(panel.emptyText().isEmpty());
        const StackedBar::Row vram = panel.bars().rows().front();
        QCOMPARE(vram.total, 12.0 * static_cast<double>(kGiB));
        QCOMPARE(vram.budget, 6.0 * static_cast<double>(kGiB));
        QCOMPARE(vram.parts.size(), std::size_t{6});  // dense, two formats of experts, KV, buffers, others
        QCOMPARE(panel.form().vram().bytes(), 6 * kGiB);
        QCOMPARE(panel.form().ram().bytes(), 20 * kGiB);
        QCOMPARE(panel.form().vram().highest(), 11.0 * static_cast<double>(kGiB));  // without other programs' memory
        QCOMPARE(namelessControls(panel).join(u'|'), QString());
        picture(panel, QStringLiteral("budget-rest"));
    }

    // A card of 12 GiB with 32 of RAM, and one of 24 with 384, for Qwen3-30B-A3B and
    // DeepSeek-V3.
    void budget_ofLargeModels_hasRoomForItsNumbers() {
        for (const auto& [layers, experts, dense, vram, ram] :
             {std::tuple{48, 128, 0, quint64{1}, quint64{1}}, std::tuple{58, 256, 3, quint64{2}, quint64{12}}}) {
            Bench bench;
            Script script;
            script.layers = layers;
            script.experts = experts;
            script.active = 8;
            script.denseLayers = dense;
            script.residents = layers * experts / 5;
            bench.stage->setScript(script);
            bench.with([times = std::pair(vram, ram)](ReplanStage& s) { std::tie(s.vram_times, s.ram_times) = times; });
            BudgetPanel panel(bench.engine);
            bench.open();
            panel.resize(360, 640);
            panel.show();
            QTRY_COMPARE(panel.bars().rows().size(), std::size_t{2});
            QCOMPARE(panel.bars().rows().back().total, static_cast<double>(ram * 32 * kGiB));
            QTRY_COMPARE(panel.form().ram().bytes(), ram * 20 * kGiB);
            panel.form().vram().spin().stepUp();
            QTRY_VERIFY(!test::previewText(panel).isEmpty());
            QCOMPARE(panel.width(), 360);
            picture(panel, QStringLiteral("budget-%1x%2").arg(layers + dense).arg(experts));
        }
    }

    void budget_previewsOnceWhenTheSliderRests_thenAppliesAndUndoes() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        QVERIFY(!test::find<QPushButton>(panel, "Apply").isEnabled());
        for (int i = 0; i < 4; ++i) {
            panel.form().vram().spin().stepUp();  // without a rest between them
        }
        QTRY_VERIFY(!test::previewText(panel).isEmpty());
        bench.with([](ReplanStage& s) { QCOMPARE(s.previews, 1); });
        QVERIFY(test::previewText(panel).contains(QStringLiteral("20.0 -> 31.0")));
        QVERIFY(test::previewText(panel).contains(bytesText(3'000'000'000) + QStringLiteral(" to move")));
        bench.with([](ReplanStage& s) { QVERIFY(s.requests.empty()); });
        QVERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        picture(panel, QStringLiteral("budget-preview"));

        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        QCOMPARE(panel.inForce().vramBytes, 7 * kGiB);
        bench.with([](ReplanStage& s) {
            QCOMPARE(s.requests.size(), std::size_t{1});
            QCOMPARE(s.requests[0].vram_bytes.value_or(0), 7 * kGiB);
            QVERIFY(!s.requests[0].ram_bytes && !s.requests[0].context && !s.requests[0].quality);
        });
        QVERIFY(test::find<QPushButton>(panel, "Undo").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QTRY_COMPARE(panel.inForce().vramBytes, 6 * kGiB);
        QTRY_VERIFY(!test::find<QPushButton>(panel, "Undo").isEnabled());
        QCOMPARE(panel.form().vram().bytes(), 6 * kGiB);
        QTRY_VERIFY(!panel.notice().isEmpty());
        bench.open();  // another model: the earlier one's messages go
        QCOMPARE(panel.notice(), QString());
    }

    void budget_now_isShownBeforeAnythingIsMoved() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        QTRY_VERIFY2(test::nowText(panel).contains(QStringLiteral("Tokens/s: 20.0")), qPrintable(test::nowText(panel)));
        QVERIFY2(test::nowText(panel).contains(QStringLiteral("Hit rate of answers: 50")),
                 qPrintable(test::nowText(panel)));
        QVERIFY(test::previewText(panel).isEmpty() && !test::find<QPushButton>(panel, "Apply").isEnabled());
        picture(panel, QStringLiteral("budget-now"));
        panel.form().vram().spin().stepUp();
        QTRY_VERIFY(!test::previewText(panel).isEmpty());
        QTest::mouseClick(&find<QPushButton>(panel, "Reset"), Qt::LeftButton);
        QVERIFY(test::previewText(panel).isEmpty());
        QVERIFY(test::nowText(panel).contains(QStringLiteral("Tokens/s: 20.0")));
        bench.with([](ReplanStage& s) { QCOMPARE(s.previews, 1); });
    }

    // Where the keyboard's focus goes: during a re-plan to Cancel, then to the next
    // possible action.
    void budget_focusStaysInTheFooter() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        panel.form().vram().spin().stepUp();
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        bench.with([](ReplanStage& s) { s.finishes = false; });
        test::find<QPushButton>(panel, "Apply").setFocus();
        QTest::keyClick(&test::find<QPushButton>(panel, "Apply"), Qt::Key_Space);
        QTRY_VERIFY(find<QPushButton>(panel, "Cancel").isVisible());
        QCOMPARE(panel.focusWidget(), &find<QPushButton>(panel, "Cancel"));
        bench.with([](ReplanStage& s) { s.finishes = true; });
        panel.engine().requestPreview({});  // the engine gets a turn
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        QCOMPARE(panel.focusWidget(), &test::find<QPushButton>(panel, "Undo"));
        QTest::keyClick(&test::find<QPushButton>(panel, "Undo"), Qt::Key_Space);
        QTRY_VERIFY(!test::find<QPushButton>(panel, "Undo").isEnabled() && panel.inForce().vramBytes == 6 * kGiB);
        QTRY_COMPARE(panel.focusWidget(), &panel.form().vram().slider());  // takes no letters
        // A change that is taken back can be applied again, or reset.
        panel.form().vram().spin().stepUp();
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        bench.with([](ReplanStage& s) { s.finishes = false; });
        test::find<QPushButton>(panel, "Apply").setFocus();
        QTest::keyClick(&test::find<QPushButton>(panel, "Apply"), Qt::Key_Space);
        QCOMPARE(panel.focusWidget(), &find<QPushButton>(panel, "Cancel"));
        find<QPushButton>(panel, "Reset").setFocus();
        QTest::mouseClick(&find<QPushButton>(panel, "Cancel"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("Cancelled")));
        find<QPushButton>(panel, "Reset").setFocus();
        QTest::keyClick(&find<QPushButton>(panel, "Reset"), Qt::Key_Space);
        QCOMPARE(panel.focusWidget(), &panel.form().vram().slider());
        const BudgetSetting before = panel.form().setting();
        QTest::keyClicks(panel.focusWidget(), QStringLiteral("hello 5"));  // somebody writes on
        QVERIFY(panel.form().setting() == before);
    }

    // The one number of experts that are there now, which follows the cache.
    void budget_countsTheExpertsThatAreThere() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        QTRY_VERIFY(test::nowText(panel).contains(QStringLiteral("Tokens/s: 20.0")));
        engine::Snapshot now = panel.snapshot();
        const auto device = static_cast<std::uint8_t>(engine::Place::kDevice);
        now.experts.place = {device, device, static_cast<std::uint8_t>(engine::Place::kRam)};
        panel.setSnapshot(now);
        QVERIFY2(test::nowText(panel).contains(QStringLiteral("Experts on the device: 2")),
                 qPrintable(test::nowText(panel)));
        now.experts.place[0] = static_cast<std::uint8_t>(engine::Place::kRam);  // the cache let one go
        panel.setSnapshot(now);
        QVERIFY2(test::nowText(panel).contains(QStringLiteral("Experts on the device: 1")),
                 qPrintable(test::nowText(panel)));
        panel.form().vram().spin().stepUp();
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        QVERIFY2(!panel.notice().contains(QStringLiteral("experts")), qPrintable(panel.notice()));
    }

    void whatIf_takesWhatIsInForceNow() {
        Bench bench;
        WhatIfPanel panel(bench.engine);
        bench.open();
        QCOMPARE(panel.request().kept_context, std::int64_t{0});
        engine::ReplanRequest change;
        change.kv = engine::KvType::kInt8;
        change.context = 1024;
        change.kept_context = 8192;
        QVERIFY(bench.engine.replan(change) != 0);
        QTRY_COMPARE(panel.request().kept_context, std::int64_t{8192});
        QCOMPARE(panel.request().context, std::int64_t{1024});
        QVERIFY(panel.request().kv == engine::KvType::kInt8);
    }

    void budget_previewSaysWhatWasMeasured() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        panel.form().vram().spin().stepUp();
        QTRY_VERIFY(!test::previewText(panel).isEmpty());
        QVERIFY2(test::previewText(panel).contains(QStringLiteral("“now” is a forecast too")),
                 qPrintable(test::previewText(panel)));
        QVERIFY(!test::previewText(panel).contains(QStringLiteral(" 0 ms")));
        QVERIFY2(test::previewText(panel).contains(QStringLiteral("0.60 ms")), qPrintable(test::previewText(panel)));
        bench.with([](ReplanStage& s) {
            s.measuredSteps = 183;
            s.quantized = 12;
        });
        panel.form().vram().spin().stepUp();
        QTRY_VERIFY2(test::previewText(panel).contains(QStringLiteral("Now: measured, 183 token")),
                     qPrintable(test::previewText(panel)));
        QVERIFY(!test::previewText(panel).contains(QStringLiteral("forecast too")));
        QVERIFY(test::previewText(panel).contains(QStringLiteral("Less for experts that were quantized before")));
        picture(panel, QStringLiteral("budget-measured"));
    }

    void budget_cancelGoesBack() {
        Bench bench;
        bench.with([](ReplanStage& s) { s.finishes = false; });
        BudgetPanel panel(bench.engine);
        bench.open();
        panel.show();
        QTRY_COMPARE(panel.form().ram().bytes(), 20 * kGiB);
        panel.form().ram().spin().setValue(10);
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(find<QPushButton>(panel, "Cancel").isVisible());
        QTRY_COMPARE(panel.progress().value(), 12);
        QCOMPARE(panel.progress().maximum(), 40);
        QVERIFY(!test::find<QPushButton>(panel, "Apply").isEnabled());
        picture(panel, QStringLiteral("budget-moving"));
        // Whole, also in a narrow panel.
        panel.resize(330, 700);
        const auto& moving = test::find<QLabel>(panel, "What is being moved");
        QTRY_VERIFY2(moving.isVisible() && moving.heightForWidth(moving.width()) <= moving.height() &&
                         moving.text().contains(QStringLiteral("12 of 40 copies")),
                     qPrintable(moving.text()));
        picture(panel, QStringLiteral("budget-moving-narrow"));
        bench.with([](ReplanStage& s) { s.finishesExpertFirst = true; });
        auto& cancel = find<QPushButton>(panel, "Cancel");
        QTest::mouseClick(&cancel, Qt::LeftButton);
        // At once, though the engine takes its time.
        QVERIFY(!cancel.isEnabled());
        const auto& said = test::find<QLabel>(panel, "What is being moved");
        QVERIFY2(said.text().contains(QStringLiteral("Going back")), qPrintable(said.text()));
        bench.with([](ReplanStage& s) { s.finishesExpertFirst = false; });
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("Cancelled")));
        QVERIFY(cancel.isEnabled());
        QCOMPARE(panel.inForce().ramBytes, 20 * kGiB);
        QVERIFY(!test::find<QPushButton>(panel, "Undo").isEnabled());
    }

    void budget_problemStandsInline() {
        BudgetBench bench;
        bench.with([](ReplanStage& s) { s.previewProblem = "The model does not fit in 1.0 MiB of VRAM."; });
        BudgetPanel& panel = bench.panel;
        bench.show();
        panel.form().vram().spin().setValue(0.25);
        QTRY_VERIFY(panel.problem().contains(QStringLiteral("does not fit")));
        QVERIFY(!test::find<QPushButton>(panel, "Apply").isEnabled());
        QVERIFY(test::previewText(panel).isEmpty());
        picture(panel, QStringLiteral("budget-problem"));
        QTest::mouseClick(&find<QPushButton>(panel, "Reset"), Qt::LeftButton);
        QCOMPARE(panel.problem(), QString());
        QCOMPARE(panel.form().vram().bytes(), 6 * kGiB);
    }

    void budget_failureKeepsWhatWas() {
        BudgetBench bench;
        bench.with([](ReplanStage& s) { s.failure = "RAM had no room."; });
        BudgetPanel& panel = bench.panel;
        bench.show();
        panel.form().vram().spin().setValue(8);
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_COMPARE(panel.notice(), QStringLiteral("RAM had no room."));
        QCOMPARE(panel.inForce().vramBytes, 6 * kGiB);
    }

    void quality_isAskedForAsChosen() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        const BudgetSetting before = panel.form().setting();
        const auto choose = [&](int index) {
            panel.form().quality().choice().setCurrentIndex(index);
            Q_EMIT panel.form().quality().choice().activated(index);
        };
        choose(1);
        panel.form().quality().value().setValue(4.25);
        engine::ReplanRequest request = changeBetween(before, panel.form().setting());
        QVERIFY(request.quality && !request.experts && !request.vram_bytes);
        QCOMPARE(request.quality->min_mean_bits, 4.25);
        choose(2);
        request = changeBetween(before, panel.form().setting());
        QVERIFY(request.quality && request.quality->max_loss > 0);
        choose(panel.form().quality().choice().findData(static_cast<int>(kernels::WeightType::kHqq3)));
        request = changeBetween(before, panel.form().setting());
        QCOMPARE(request.experts.value_or(kernels::WeightType::kBf16), kernels::WeightType::kHqq3);
        QVERIFY(!request.quality);
    }

    // A file's blocks can be converted to formats in fewer bits or none; the file's own
    // name shows its formats.
    void quality_offersWhatAFilesBlocksCanBecome() {
        using kernels::WeightType;
        QualityEdit edit;
        const auto has = [&](WeightType format) { return edit.choice().findData(static_cast<int>(format)) >= 0; };
        QVERIFY(has(WeightType::kInt8) && has(WeightType::kBf16));  // no model is known yet
        edit.setChoices({"Q4_K, Q6_K", true, 4.9, {WeightType::kHqq4, WeightType::kHqq3}});
        QCOMPARE(edit.choice().itemText(0), QStringLiteral("Original: Q4_K, Q6_K"));
        QVERIFY(has(WeightType::kHqq4) && has(WeightType::kHqq3));
        QVERIFY(!has(WeightType::kInt8) && !has(WeightType::kBf16));
        const auto choose = [&](int index) {
            edit.choice().setCurrentIndex(index);
            Q_EMIT edit.choice().activated(index);
        };
        choose(1);
        QCOMPARE(edit.floor().min_mean_bits, 4.5);
        QCOMPARE(edit.value().maximum(), 4.9);
        edit.setChoices({"Q2_K", true, 3.1, {WeightType::kHqq2}});
        choose(1);
        QCOMPARE(edit.floor().min_mean_bits, 3.0);  // nothing has 4.5 bits
        edit.set({}, WeightType::kInt8);            // of another model: it is shown, and the plan refuses it
        QCOMPARE(edit.experts().value_or(WeightType::kF32), WeightType::kInt8);
        edit.set({}, std::nullopt);
        edit.setChoices({"IQ1_S", true, 1.6, {}});
        QVERIFY(!edit.experts() && !edit.floor().allows_fewer_bits());
        for (const int index : {1, 2}) {
            const QModelIndex item = edit.choice().model()->index(index, 0);
            QVERIFY(!item.flags().testFlag(Qt::ItemIsEnabled));
            QVERIFY(!item.data(Qt::ToolTipRole).toString().isEmpty());
        }
        edit.setChoices({"BF16", false, 16, {}});
        QVERIFY(has(WeightType::kInt8) && has(WeightType::kHqq2));
        QCOMPARE(edit.choice().itemText(0), QStringLiteral("Original"));
    }

    // Q4_K has 4.5 bits: our 4 bits of 4.28 are fewer, though both are called 4.
    void form_ofAFilesBlocks_offersWhatIsSmallerByTheirRealBits() {
        BudgetForm form;
        engine::ModelSummary model;
        model.context = model.max_context = 4096;
        model.weight_type = "HQQ3";  // chosen for this load
        model.expert_formats = {"Q4_K", true, 4.5, {kernels::WeightType::kHqq4, kernels::WeightType::kHqq3}};
        form.setLimits(model, {});
        QComboBox& choice = form.quality().choice();
        QCOMPARE(choice.itemText(0), QStringLiteral("Original: Q4_K"));
        QVERIFY(choice.findData(static_cast<int>(kernels::WeightType::kHqq4)) >= 0);
        QVERIFY(choice.findData(static_cast<int>(kernels::WeightType::kHqq4Down8)) < 0);
        choice.setCurrentIndex(1);
        Q_EMIT choice.activated(1);
        QCOMPARE(form.quality().value().maximum(), 4.5);
    }

    void kvFormat_isPreviewedAndAskedFor() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        const BudgetSetting before = panel.form().setting();
        QVERIFY(before.kv == engine::KvType::kBf16);
        QVERIFY(!changeBetween(before, before).kv.has_value());
        panel.form().kv().setFocus();
        QTest::keyClick(&panel.form().kv(), Qt::Key_Down);
        QVERIFY(panel.form().setting().kv == engine::KvType::kInt8);
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());  // previewed
        const engine::ReplanRequest request = changeBetween(before, panel.form().setting());
        QVERIFY(request.kv == engine::KvType::kInt8 && !request.context && !request.vram_bytes && !request.quality);
        QVERIFY(settingText(panel.form().setting()).contains(QStringLiteral("KV cache in 8 bits")));
        panel.form().setSetting(before);
        QCOMPARE(panel.form().kv().currentIndex(), 0);
    }

    // Previewed with measured values, applied without moving anything, reverted by Undo,
    // and shown with the answers.
    void theta_isPreviewedAppliedAndUndone() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.with([](ReplanStage& s) {
            s.thresholds = {"m", "t", "BF16", 100, 7, {{0.1, 0.8, 7.1, 0.01, 0.99}, {0.3, 0.4, 8, 0.05, 0.9}}, {}, {}};
        });
        bench.show();
        QTest::mouseClick(&find<QToolButton>(panel, "Advanced"), Qt::LeftButton);
        LeftOutEdit& leftOut = panel.form().leftOut();
        QCOMPARE(leftOut.how().currentText(), QStringLiteral("None"));
        QVERIFY(!leftOut.value().isVisible() && !leftOut.guesses().isVisible());
        leftOut.how().setFocus();
        QTest::keyClick(&leftOut.how(), Qt::Key_Down);
        QCOMPARE(panel.form().setting().theta, engine::ThetaChoice(0.1));
        QVERIFY(leftOut.value().isVisible());
        QCOMPARE(leftOut.value().maximum(), 0.3);  // the loss beyond is unknown
        leftOut.value().setFocus();
        leftOut.value().selectAll();
        QTest::keyClicks(&leftOut.value(), QStringLiteral("0.2"));
        QTest::keyClick(&leftOut.value(), Qt::Key_Return);
        QCOMPARE(panel.form().setting().theta, engine::ThetaChoice(0.2));
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QVERIFY2(test::previewText(panel).contains(QStringLiteral("Active neurons: all -> ") + percentText(0.6)),
                 qPrintable(test::previewText(panel)));
        QVERIFY(test::previewText(panel).contains(QStringLiteral("none -> KL 0.03")));
        bench.with([](ReplanStage& s) {
            QVERIFY(!s.theta.leaves_out());
            QVERIFY(s.previewTheta == engine::ThetaChoice(0.2) && !s.choosesTheta);
        });
        picture(panel, QStringLiteral("budget-theta"));
        // In a narrow column nothing of it is cut off.
        panel.resize(360, 760);
        QTRY_COMPARE(panel.width(), 360);
        QStringList wide;
        for (const QWidget* widget : panel.findChildren<QWidget*>()) {
            const int least = std::max(widget->minimumSizeHint().width(), widget->minimumWidth());
            if (least > 250) {
                wide << QStringLiteral("%1 %2").arg(QLatin1String(widget->metaObject()->className())).arg(least);
            }
        }
        for (const QScrollBar* bar : panel.findChildren<QScrollBar*>()) {
            QVERIFY2(bar->orientation() == Qt::Vertical || bar->maximum() == bar->minimum(),
                     qPrintable(wide.join(QStringLiteral(", "))));
        }

        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QVERIFY(panel.notice().contains(QStringLiteral("no longer the model's own")));
        bench.with([](ReplanStage& s) {
            QCOMPARE(s.theta, engine::ThetaChoice(0.2));
            QVERIFY(s.requests.empty());
        });
        QCOMPARE(bench.engine.theta(), engine::ThetaChoice(0.2));
        QCOMPARE(panel.inForce().theta, engine::ThetaChoice(0.2));
        QVERIFY(settingText(panel.inForce()).contains(QStringLiteral("neurons up to 0.2 skipped")));
        QVERIFY(test::find<QPushButton>(panel, "Undo").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QCOMPARE(bench.engine.theta(), engine::ThetaChoice());
        QVERIFY(!test::find<QPushButton>(panel, "Undo").isEnabled());
        QCOMPARE(panel.form().setting().theta, engine::ThetaChoice());
    }

    // Thresholds of each expert, chosen for a loss, with their measured share and
    // divergence.
    void thetaByExpert_isPreviewedAppliedAndUndone() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        const auto chosen = [](double loss, double share, double kl) {
            return engine::ChosenThresholds{loss, "chat.txt", 7999, share, 5.1, kl, 0.98, {share}, 1, {0.1f}};
        };
        bench.with([&](ReplanStage& s) {
            s.thresholds = {"m",
                            "t",
                            "BF16",
                            100,
                            7,
                            {{0.1, 0.8, 7.1, 0.01, 0.99}},
                            {chosen(0.001, 0.585, 0.00095), chosen(0.003, 0.447, 0.0029)},
                            {}};
        });
        bench.show();
        QTest::mouseClick(&find<QToolButton>(panel, "Advanced"), Qt::LeftButton);
        LeftOutEdit& leftOut = panel.form().leftOut();
        QCOMPARE(leftOut.how().count(), 4);
        QCOMPARE(leftOut.how().itemText(3), QStringLiteral("By expert, loss 0.003"));
        const QString tip = leftOut.how().itemData(3, Qt::ToolTipRole).toString();
        QVERIFY2(tip.contains(percentText(0.447)) && tip.contains(QStringLiteral("0.0029")) &&
                     tip.contains(QStringLiteral("chat.txt, 7,999 tokens")),
                 qPrintable(tip));
        leftOut.how().setFocus();
        for (int i = 0; i < 3; ++i) {
            QTest::keyClick(&leftOut.how(), Qt::Key_Down);
        }
        const engine::ThetaChoice wanted = engine::ThetaChoice::for_loss(0.003);
        QCOMPARE(panel.form().setting().theta, wanted);
        QVERIFY(!leftOut.value().isVisible() && leftOut.guesses().isVisible());
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QVERIFY2(test::previewText(panel).contains(QStringLiteral("Active neurons: all -> ") + percentText(0.447)) &&
                     test::previewText(panel).contains(QStringLiteral("none -> KL 0.0029")),
                 qPrintable(test::previewText(panel)));
        picture(panel, QStringLiteral("budget-theta-by-expert"));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        bench.with([&](ReplanStage& s) { QCOMPARE(s.theta, wanted); });
        QVERIFY(panel.notice().contains(QStringLiteral("skipped by expert, for a loss of 0.003")));
        QCOMPARE(panel.inForce().theta, wanted);
        // Accepted guesses change answers too: the loss is not measured.
        QTest::mouseClick(&leftOut.guesses(), Qt::LeftButton, {}, QPoint(8, leftOut.guesses().height() / 2));
        QVERIFY(panel.form().setting().theta.accepts_guesses());
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QVERIFY2(test::previewText(panel).contains(QStringLiteral("KL 0.0029 -> not measured")),
                 qPrintable(test::previewText(panel)));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QVERIFY(bench.engine.theta().accepts_guesses());
        QVERIFY(settingText(panel.inForce()).contains(QStringLiteral("for a loss of 0.003, guesses accepted")));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QCOMPARE(bench.engine.theta(), wanted);
        QVERIFY(!leftOut.guesses().isChecked());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QVERIFY(!bench.engine.theta().leaves_out());
        QCOMPARE(leftOut.how().currentIndex(), 0);
    }

    void leftOut_whereNothingWasMeasured_saysHow() {
        LeftOutEdit edit;
        QCOMPARE(edit.how().count(), 3);
        const QModelIndex none = edit.how().model()->index(2, 0);
        QVERIFY(!none.flags().testFlag(Qt::ItemIsEnabled));
        QVERIFY(none.data(Qt::ToolTipRole).toString().contains(QStringLiteral("--thresholds-for-loss")));
        edit.set(engine::ThetaChoice::for_loss(0.02));  // of a file that is gone: it is in force, and stays visible
        QCOMPARE(edit.how().currentText(), QStringLiteral("By expert, loss 0.02"));
        QCOMPARE(edit.choice(), engine::ThetaChoice::for_loss(0.02));
        edit.set(engine::ThetaChoice(0.12345));  // shown rounded, and kept as it is
        QCOMPARE(edit.choice(), engine::ThetaChoice(0.12345));
        edit.setMeasured({}, false);
        QVERIFY(edit.guesses().isHidden());  // on the CPU nothing is copied, and nothing guessed
    }

    // One floor for bits and neurons: the plan's thresholds are shown, applied and
    // reverted with it.
    void measuredLoss_letsThePlanChooseWhatIsLeftOut() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.with([](ReplanStage& s) { s.planTheta = engine::ThetaChoice(0.15); });
        bench.show();
        QualityEdit& quality = panel.form().quality();
        quality.choice().setFocus();
        for (int i = 0; i < 3; ++i) {
            QTest::keyClick(&quality.choice(), Qt::Key_Down);
        }
        QCOMPARE(panel.form().setting().quality.max_kl, 0.01);
        QVERIFY(!panel.form().leftOut().how().isEnabled());
        QVERIFY(panel.form().leftOut().how().toolTip().contains(QStringLiteral("the plan chooses")));
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        bench.with([](ReplanStage& s) { QVERIFY(s.choosesTheta); });
        QCOMPARE(panel.form().setting().theta, engine::ThetaChoice(0.15));
        picture(panel, QStringLiteral("budget-measured-loss"));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        bench.with([](ReplanStage& s) {
            QCOMPARE(s.theta, engine::ThetaChoice(0.15));
            QCOMPARE(s.requests.size(), std::size_t{1});
            QCOMPARE(s.requests[0].quality->max_kl, 0.01);
            QVERIFY(s.requests[0].theta == engine::ThetaChoice(0.15) && !s.requests[0].chooses_theta);
        });
        const QString said = settingText(panel.inForce());
        QVERIFY2(said.contains(QStringLiteral("measured loss at most 0.01 nats")) &&
                     said.contains(QStringLiteral("neurons up to 0.15 skipped")),
                 qPrintable(said));
        QTest::mouseClick(&test::find<QPushButton>(panel, "Undo"), Qt::LeftButton);
        QTRY_COMPARE(panel.inForce().quality.max_kl, 0.0);
        QVERIFY(!test::find<QPushButton>(panel, "Undo").isEnabled());
        QVERIFY(!bench.engine.theta().leaves_out());
        QVERIFY(panel.form().leftOut().how().isEnabled());
    }

    // Together with a budget it is one change: a failure leaves neither.
    void theta_withABudget_isWholeOrNotAtAll() {
        BudgetBench bench;
        BudgetPanel& panel = bench.panel;
        bench.show();
        const auto change = [&](double theta) {
            panel.form().vram().spin().stepUp();
            BudgetSetting setting = panel.form().setting();
            setting.theta = theta;
            test::propose(panel, setting);
            QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
            QVERIFY(test::previewText(panel).contains(QStringLiteral("not measured")));
            QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        };
        bench.with([](ReplanStage& s) { s.failure = "The GPU is gone"; });
        change(0.5);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("The GPU is gone")));
        QCOMPARE(bench.engine.theta(), engine::ThetaChoice());
        bench.with([](ReplanStage& s) { s.failure.clear(); });
        change(0.5);
        QTRY_VERIFY(panel.notice().contains(QStringLiteral("In force")));
        QCOMPARE(bench.engine.theta(), engine::ThetaChoice(0.5));
        QVERIFY(panel.inForce().vramBytes > 6 * kGiB && panel.inForce().theta == engine::ThetaChoice(0.5));
        bench.with([](ReplanStage& s) { s.leavesOut = false; });
        BudgetSetting setting = panel.form().setting();
        setting.theta = 0.25;
        test::propose(panel, setting);
        QTRY_VERIFY(test::find<QPushButton>(panel, "Apply").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Apply"), Qt::LeftButton);
        QVERIFY(panel.notice().contains(QStringLiteral("cannot skip")));
        QCOMPARE(bench.engine.theta(), engine::ThetaChoice(0.5));
    }

    void slider_andSpinBoxAgree() {
        ValueSlider slider(QStringLiteral("VRAM"));
        slider.setByteRange(0, 16 * kGiB);
        slider.setBytes(5'000'000'001);
        QCOMPARE(slider.bytes(), quint64{5'000'000'001});  // untouched: not rounded
        QSignalSpy changed(&slider, &ValueSlider::changed);
        slider.slider().setValue(500);
        QCOMPARE(changed.size(), 1);
        QCOMPARE(slider.bytes(), 8 * kGiB);
        slider.spin().setValue(4);
        QCOMPARE(slider.slider().value(), 250);
        QCOMPARE(changed.size(), 2);
        slider.setByteRange(0, kGiB);
        QCOMPARE(slider.bytes(), kGiB);
        QVERIFY(slider.spin().text().contains(QStringLiteral("MiB")));
    }

    void slider_typedSizes_areTakenOrRefused_data() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<QString>("typed");
        QTest::addColumn<quint64>("bytes");  // 0: refused
        const auto row = [](const char* language, const char* typed, quint64 bytes) {
            QTest::addRow("%s: %s", language, typed)
                << QString::fromLatin1(language) << QString::fromUtf8(typed) << bytes;
        };
        row("en", "600MiB", 600 * kMiB);
        row("en", "0.05 GiB", static_cast<quint64>(std::llround(0.05 * static_cast<double>(kGiB))));
        row("en", "60000KiB", 60000 * 1024);
        row("en", "600 mb", 600'000'000);
        row("en", "2", 2 * kGiB);
        row("en", "1,5", 3 * kGiB / 2);
        row("en", "1,024 MiB", kGiB);
        row("de", "1,5 GiB", 3 * kGiB / 2);
        row("de", "1.5 GiB", 3 * kGiB / 2);
        row("de", "1.024 MiB", kGiB);
        row("en", "17 GiB", 0);
        row("en", "1 MiB", 0);
        row("en", "many", 0);
        row("en", "6 pounds", 0);
        row("en", "-1", 0);
        row("en", "", 0);
    }

    // "600MiB" became 6.00 GiB, invalid input the old number, without any message.
    void slider_typedSizes_areTakenOrRefused() {
        QFETCH(QString, language);
        QFETCH(QString, typed);
        QFETCH(quint64, bytes);
        ValueSlider slider(QStringLiteral("VRAM"));
        slider.setLocale(QLocale(language));
        slider.setByteRange(24 * kMiB, 16 * kGiB);
        slider.setBytes(6 * kGiB);
        QSignalSpy changed(&slider, &ValueSlider::changed);
        slider.show();
        slider.spin().selectAll();
        QTest::keyClick(&slider.spin(), Qt::Key_Delete);
        QTest::keyClicks(&slider.spin(), typed);
        QCOMPARE(slider.spin().text(), typed);  // no key is swallowed
        QTest::keyClick(&slider.spin(), Qt::Key_Return);
        if (bytes > 0) {
            QCOMPARE(slider.bytes(), bytes);
            QCOMPARE(changed.size(), 1);
            QVERIFY(slider.spin().refusal().isEmpty());
            // Nor does leaving the box change its rounded number.
            QTest::keyClick(&slider.spin(), Qt::Key_Return);
            QCOMPARE(slider.bytes(), bytes);
            return;
        }
        QCOMPARE(slider.bytes(), 6 * kGiB);
        QCOMPARE(changed.size(), 0);
        QVERIFY(!slider.spin().refusal().isEmpty());
        QVERIFY2(slider.spin().refusal().contains(typed), qPrintable(slider.spin().refusal()));
        QTest::keyClicks(&slider.spin(), QStringLiteral("8"));
        QVERIFY(slider.spin().refusal().isEmpty());
    }

    // What was refused was told for a few seconds only, while the number jumped back.
    void context_belowTheLeast_saysTheLeastUntilItIsRight() {
        BudgetBench bench;
        bench.panel.resize(360, 800);
        bench.show();
        QApplication::setActiveWindow(&bench.panel);  // the keyboard is there
        ValueSlider& context = bench.panel.form().context();
        context.spin().setFocus();
        context.spin().selectAll();
        QTest::keyClicks(&context.spin(), QStringLiteral("10"));
        QTest::keyClick(&context.spin(), Qt::Key_Tab);
        QCOMPARE(bench.panel.form().setting().context, bench.panel.inForce().context);
        QCOMPARE(context.limitShown(), QStringLiteral("at least 64"));
        QVERIFY(!context.slider().isVisible());
        const int before = bench.panel.form().height();
        QLabel& limit = test::find<QLabel>(context, "Context in tokens, limit");
        QVERIFY(limit.isVisible() && limit.geometry().right() < context.spin().geometry().left());
        picture(bench.panel, QStringLiteral("budget-limit"), {360}, 800);
        context.spin().setFocus();
        context.spin().selectAll();
        QTest::keyClicks(&context.spin(), QStringLiteral("128"));
        QCOMPARE(context.limitShown(), QString());
        QVERIFY(context.slider().isVisible());
        QCOMPARE(bench.panel.form().height(), before);
        QTest::keyClick(&context.spin(), Qt::Key_Tab);
        QCOMPARE(bench.panel.form().setting().context, qint64{128});
        // The pointer on the limit brings the slider back as well.
        context.spin().setFocus();
        context.spin().selectAll();
        QTest::keyClicks(&context.spin(), QStringLiteral("99999999"));
        QTest::keyClick(&context.spin(), Qt::Key_Return);
        QCOMPARE(context.limitShown(), QStringLiteral("at most 32,768"));
        QTest::mouseMove(&context.spin());
        QTest::mouseMove(&limit);
        QTRY_VERIFY(context.slider().isVisible() && context.limitShown().isEmpty());
    }

    // Another model is opened while experts move: what comes of them is not the new
    // model's.
    void anotherModel_duringAReplan_leavesThePanelAlone() {
        BudgetBench bench;
        bench.show();
        bench.with([](ReplanStage& stage) { stage.finishes = false; });
        bench.panel.form().vram().spin().setFocus();
        bench.panel.form().vram().spin().selectAll();
        QTest::keyClicks(&bench.panel.form().vram().spin(), QStringLiteral("4"));
        QTest::keyClick(&bench.panel.form().vram().spin(), Qt::Key_Return);
        QPushButton& apply = test::find<QPushButton>(bench.panel, "Apply");
        QTRY_VERIFY(apply.isEnabled());
        QTest::mouseClick(&apply, Qt::LeftButton);
        QTRY_VERIFY(bench.panel.progress().isVisible());
        Script slow;
        slow.loadMs = 300;
        bench.stage->setScript(slow);
        QSignalSpy loading(&bench.engine, &EngineController::loadStarted);
        engine::LoadRequest other;
        other.model = "/models/another";
        bench.engine.openModel(other);
        QTRY_COMPARE(loading.size(), 1);
        QVERIFY(!bench.panel.progress().isVisible());
        bench.with([](ReplanStage& stage) { stage.finishes = true; });
        QTRY_COMPARE(bench.engine.state(), EngineController::State::Ready);
        QTRY_COMPARE(bench.panel.form().vram().bytes(), 6 * kGiB);
        QCOMPARE(bench.panel.inForce().vramBytes, 6 * kGiB);
        QVERIFY(!bench.panel.progress().isVisible());
        QVERIFY(!apply.isEnabled() && !test::find<QPushButton>(bench.panel, "Undo").isEnabled());
        QCOMPARE(bench.panel.notice(), QString());
        QVERIFY(bench.panel.problem().isEmpty());
        // And it works for the new model.
        bench.panel.form().vram().spin().setFocus();
        bench.panel.form().vram().spin().selectAll();
        QTest::keyClicks(&bench.panel.form().vram().spin(), QStringLiteral("5"));
        QTest::keyClick(&bench.panel.form().vram().spin(), Qt::Key_Return);
        QTRY_VERIFY(apply.isEnabled());
        QTest::mouseClick(&apply, Qt::LeftButton);
        QTRY_COMPARE(bench.panel.inForce().vramBytes, 5 * kGiB);
    }

    // A limit that the spin box shows rounded is kept to the byte, by every way of
    // reaching it.
    void slider_atItsLimits_isExact() {
        ValueSlider slider(QStringLiteral("VRAM"));
        const quint64 lo = 20'012'345, hi = 140'067'891;
        slider.setByteRange(lo, hi);
        slider.setBytes(hi);
        QCOMPARE(slider.bytes(), hi);
        slider.slider().setValue(slider.slider().minimum());
        QCOMPARE(slider.bytes(), lo);
        slider.slider().setValue(slider.slider().maximum());
        QCOMPARE(slider.bytes(), hi);
        QCOMPARE(slider.highest(), static_cast<double>(hi));
    }

    void memoryRow_whatIsLarge_hasAColourOfItsOwn() {
        engine::MemoryLedger ledger;
        ledger.total = 64 * kGiB;
        ledger.budget = 40 * kGiB;
        ledger.dense = ledger.kv_cache = ledger.staging = ledger.workspace = ledger.experts_spare = ledger.others =
            kGiB;
        std::size_t n_formats = 0;
        for (const engine::FormatRow& row : engine::format_rows()) {
            const bool own = row.kind == engine::FormatRow::Kind::kOwn;
            ledger.experts.push_back(own ? kGiB : 0);
            n_formats += own ? 1 : 0;
        }
        const StackedBar::Row row = memoryRow(QStringLiteral("VRAM"), ledger);
        QCOMPARE(row.parts.size(), 5 + n_formats);
        for (const auto& a : row.parts) {
            for (const auto& b : row.parts) {
                if (&a != &b) {
                    QVERIFY2(a.category != b.category, qPrintable(a.name + QStringLiteral(" / ") + b.name));
                }
            }
        }
        ledger = {};
        ledger.total = 64 * kGiB;
        ledger.budget = 40 * kGiB;
        ledger.dense = ledger.kv_cache = 8 * kGiB;
        for (const auto type : {kernels::WeightType::kBf16, kernels::WeightType::kInt8, kernels::WeightType::kHqq4,
                                kernels::WeightType::kHqq3}) {
            ledger.add_experts(type, 4 * kGiB);
        }
        QSet<QRgb> colours;
        for (const auto& part : memoryRow(QStringLiteral("VRAM"), ledger).parts) {
            colours.insert(seriesColour(part.category, QPalette()).rgb());
        }
        QCOMPARE(colours.size(), 6);
    }

    // Parts that touch have 3:1, and no two parts look alike, also where two kinds of
    // cones are one.
    void memoryRow_parts_areToldApartByEveryEye() {
        engine::MemoryLedger ledger;
        ledger.total = ledger.budget = 64 * kGiB;
        ledger.dense = ledger.kv_cache = ledger.staging = ledger.workspace = ledger.others = kGiB;
        const auto colours = [](const StackedBar::Row& row) {
            QList<QColor> list;
            for (const StackedBar::Part& part : row.parts) {
                list << seriesColour(part.category, qApp->palette());
            }
            return list;
        };
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            engine::MemoryLedger all = ledger;
            for (const auto type : {kernels::WeightType::kBf16, kernels::WeightType::kInt8, kernels::WeightType::kHqq4,
                                    kernels::WeightType::kHqq3}) {
                engine::MemoryLedger one = ledger;
                one.add_experts(type, 4 * kGiB);
                all.add_experts(type, 4 * kGiB);
                const StackedBar::Row row = memoryRow(QStringLiteral("VRAM"), one);
                const QList<QColor> parts = colours(row);
                for (qsizetype i = 1; i < parts.size(); ++i) {
                    QVERIFY2(contrastOf(parts[i - 1], parts[i]) >= 3,
                             qPrintable(QStringLiteral("%1, %2: %3")
                                            .arg(nameOf(theme), row.parts[static_cast<std::size_t>(i)].name)
                                            .arg(contrastOf(parts[i - 1], parts[i]))));
                }
            }
            const StackedBar::Row row = memoryRow(QStringLiteral("VRAM"), all);
            const QList<QColor> parts = colours(row);
            for (qsizetype i = 0; i < parts.size(); ++i) {
                for (qsizetype j = 0; j < i; ++j) {
                    QVERIFY2(leastDifference(parts[i], parts[j]) >= 0.05,
                             qPrintable(QStringLiteral("%1, %2 and %3: %4")
                                            .arg(nameOf(theme), row.parts[static_cast<std::size_t>(i)].name,
                                                 row.parts[static_cast<std::size_t>(j)].name)
                                            .arg(leastDifference(parts[i], parts[j]))));
                }
            }
        }
        applyTheme(*qApp, Theme::Light);
    }

    // A format that is unknown to this program: rows are values, and nothing is read past
    // them.
    void formats_oneMoreThanThereAre_areNamedAndToldApart() {
        std::vector<engine::FormatRow> rows(engine::format_rows().begin(), engine::format_rows().end());
        const auto last = static_cast<std::uint8_t>(rows.size());
        rows.push_back({engine::FormatId{last}, "rtn4", "RTN4", "RTN", 4, true, false});
        // The formats of experts, for any model.
        std::vector<std::uint8_t> ids;
        for (std::uint8_t id = 0; id <= last; ++id) {
            if (rows[id].kind == engine::FormatRow::Kind::kOwn) {
                ids.push_back(id);
            }
        }

        engine::Snapshot snapshot;
        snapshot.formats = rows;
        snapshot.n_layers = 1;
        snapshot.n_experts = static_cast<std::int64_t>(ids.size());
        snapshot.experts.format = ids;
        const auto n = static_cast<std::size_t>(snapshot.n_experts);
        snapshot.experts.place.resize(n);
        snapshot.experts.pinned.resize(n);
        snapshot.experts.uses.resize(n);
        const ExpertCells cells = expertCells(ExpertChannel::Precision, snapshot, {}, true);
        QCOMPARE(cells.categories.size(), n);
        QCOMPARE(cells.categories.back().name, QStringLiteral("4 bit (RTN)"));
        QCOMPARE(cells.categories.back().glyph, QStringLiteral("4b"));  // HQQ's are 4a
        QSet<QString> glyphs;
        for (const HeatMap::Category& category : cells.categories) {
            glyphs.insert(category.glyph);
        }
        QCOMPARE(glyphs.size(), static_cast<qsizetype>(n));
        for (std::size_t i = 0; i < n; ++i) {
            QCOMPARE(int{cells.kinds[i]}, static_cast<int>(i));
            for (std::size_t j = 0; j < i; ++j) {
                const HeatMap::Category &a = cells.categories[i], &b = cells.categories[j];
                QVERIFY2(a.colour % kSeriesColours != b.colour % kSeriesColours || a.pattern != b.pattern,
                         qPrintable(a.name + QStringLiteral(" / ") + b.name));
            }
        }
        // As many bits, the same colour; the look of other formats does not change.
        const std::vector<int> categories = formatCategories(rows);
        QCOMPARE(categories[last] % kSeriesColours,
                 categories[static_cast<std::size_t>(kernels::WeightType::kHqq4)] % kSeriesColours);
        QVERIFY(std::equal(categories.begin(), categories.end() - 1, formatCategories(engine::format_rows()).begin()));
        QVERIFY(expertText(ExpertChannel::Precision, snapshot, {}, true, {0, static_cast<int>(ids.size()) - 1}, 0)
                    .contains(QStringLiteral("4 bit (RTN)")));

        engine::MemoryLedger ledger;
        ledger.total = ledger.budget = 64 * kGiB;
        ledger.dense = ledger.staging = ledger.workspace = ledger.kv_cache = kGiB;
        ledger.add_experts(engine::FormatId{last}, 4 * kGiB);
        const StackedBar::Row row = memoryRow(QStringLiteral("VRAM"), ledger, rows);
        QCOMPARE(row.parts[1].name, QStringLiteral("experts, 4 bit (RTN)"));
        QCOMPARE(row.parts[1].category, categories[last]);
        for (const std::size_t other : {0u, 2u, 3u}) {
            QVERIFY(row.parts[other].category != categories[last]);
        }
        // More formats than distinct looks: some look equal, and all have one.
        for (int more = 0; more < 100; ++more) {
            rows.push_back({engine::FormatId{static_cast<std::uint8_t>(rows.size())}, "x", "X", "X", 4, true, false});
        }
        for (const int category : formatCategories(rows)) {
            QVERIFY(category >= 0 && category < kSeriesColours * kPatterns);
        }
    }

    void memoryRow_ofASmallModelInALargeMemory_showsWhatIsFree() {
        engine::MemoryLedger ledger;
        ledger.total = ledger.budget = 24 * kGiB;
        ledger.dense = ledger.kv_cache = 9 * (kGiB >> 10);
        const StackedBar::Row row = memoryRow(QStringLiteral("RAM"), ledger);
        QCOMPARE(row.name, QStringLiteral("RAM"));
        QCOMPARE(row.total, static_cast<double>(ledger.total));
        StackedBar bar;
        bar.setOwnScales(true);
        bar.setRows({row});
        bar.resize(400, bar.heightForWidth(400));
        const QRectF dense = bar.rectOf({0, 0});
        const QRectF cache = bar.rectOf({0, 1});
        const QRectF free = bar.rectOf({0, StackedBar::kFree});
        QVERIFY(dense.width() >= 3 && dense.width() < 6);  // visible, but no more
        QVERIFY(cache.width() >= 3 && cache.width() < 6);
        QCOMPARE(cache.left(), dense.right());
        QCOMPARE(free.left(), cache.right());
        QVERIFY(free.width() > 360);
        QVERIFY(!bar.rectOf({0, 2}).isValid());
        QVERIFY(bar.partAt(cache.center().toPoint()) == (StackedBar::PartIndex{0, 1}));
        const QImage image = bar.grab().toImage();
        QVERIFY(image.pixel(dense.center().toPoint()) != image.pixel(free.center().toPoint() + QPoint(120, 0)));
    }

    void banner_measuring_countsNoBytes() {
        LoadBanner banner;
        const auto stage = [&banner] {
            QStringList texts;
            for (const QLabel* label : banner.findChildren<QLabel*>()) {
                texts << label->text();
            }
            return texts.join(u'|');
        };
        banner.setProgress({engine::from_outside("Reading"), 512 * 1024, 1024 * 1024});
        QVERIFY2(stage().contains(QStringLiteral("512.0 KiB of 1.0 MiB")), qPrintable(stage()));
        banner.setProgress({engine::from_outside("Measuring"), 250, 1000, false});
        QVERIFY2(stage().contains(QStringLiteral("Measuring · 25 %")), qPrintable(stage()));
    }

    void banner_note_staysUntilTheNextModel() {
        LoadBanner banner;
        const auto shown = [&banner] {
            QStringList texts;
            for (const QLabel* label : banner.findChildren<QLabel*>()) {
                if (label->isVisible()) {
                    texts << label->text();
                }
            }
            return texts.join(u'|');
        };
        banner.show();
        banner.start(QStringLiteral("/models/a"));
        banner.setProgress({engine::from_outside("Reading"), 512 * 1024, 1024 * 1024});
        engine::LoadProgress early;
        early.note = engine::from_outside("Little memory is left.");
        banner.setProgress(early);
        banner.setProgress({engine::from_outside("Packing"), 768 * 1024, 1024 * 1024});
        QVERIFY2(shown().contains(QStringLiteral("Little memory is left.")), qPrintable(shown()));
        QVERIFY2(shown().contains(QStringLiteral("768.0 KiB of 1.0 MiB")), qPrintable(shown()));
        banner.start(QStringLiteral("/models/b"));
        QVERIFY2(!shown().contains(QStringLiteral("Little")), qPrintable(shown()));
    }

    void slider_toldTheSameRange_movesNothing() {
        ValueSlider slider(QStringLiteral("VRAM"));
        slider.setByteRange(0, 16 * kGiB);
        slider.show();
        QCoreApplication::processEvents();
        const test::EventCount layouts(slider, QEvent::LayoutRequest);
        slider.setByteRange(0, 16 * kGiB);
        QCoreApplication::processEvents();
        QCOMPARE(layouts.count(), 0);
        slider.setByteRange(0, 1600 * kGiB);
        QCoreApplication::processEvents();
        QCOMPARE(layouts.count(), 1);
        QCOMPARE(slider.highest(), static_cast<double>(1600 * kGiB));
    }

    void form_leastContext_risesInSteps() {
        BudgetForm form;
        engine::ModelSummary model;
        model.context = model.max_context = 4096;
        engine::Snapshot snapshot;
        snapshot.context_size = 4096;
        for (const auto& [used, least] : {std::pair{0, 64.0}, {1, 256.0}, {256, 256.0}, {257, 512.0}}) {
            snapshot.context_used = used;
            form.setLimits(model, snapshot);
            QCOMPARE(form.context().spin().minimum(), least);
        }
        snapshot.context_size = 400;  // not above the present one
        form.setLimits(model, snapshot);
        QCOMPARE(form.context().spin().minimum(), 400.0);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestBudget)
#include "tst_budget.moc"
