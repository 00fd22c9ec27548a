// Experts, Cache and Dispatch: their display of the scripted engine, their actions, their
// links.

#include <tuple>

#include <QComboBox>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "kernels/formats.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/panel_parts.h"
#include "tests/ui/three_panels.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/format.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/dispatch_view.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/selection.h"
#include "ui/panels/snapshot_poller.h"
#include "ui/plot/heat_map_legend.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;
using State = EngineController::State;

namespace {

// DeepSeek-V3: 61 layers of which the first three have no experts, 256 in each of the
// others.
test::Script large(std::int64_t layers, std::int64_t experts, std::int32_t denseLayers) {
    test::Script script = onDevice();
    script.layers = layers;
    script.experts = experts;
    script.active = 8;
    script.denseLayers = denseLayers;
    script.residents = layers * experts / 5;
    return script;
}

}  // namespace

class TestPanels : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void panels_beforeTheFirstModel_sayWhatToDo() {
        test::ThreePanels b(onDevice());
        for (Panel* panel : b.panels()) {
            QVERIFY(!panel->emptyText().isEmpty());
            QVERIFY(panel->badge().isEmpty());
            QVERIFY(panel->cost().isEmpty());
        }
    }

    void panels_onEmulatedDevice_sayThatAndNoShareOfItsTime() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        for (Panel* panel : b.panels()) {
            QVERIFY2(panel->badge().contains(QStringLiteral("emulated")), qPrintable(panel->badge()));
            QVERIFY(panel->badge().contains(QStringLiteral("Fake GPU")));
            QVERIFY(panel->snapshot().answer_us > 0);
            QVERIFY2(panel->cost().isEmpty(), qPrintable(panel->cost()));
            QVERIFY(panel->emptyText().isEmpty());
        }
    }

    void panels_onRealDevice_sayTheirCost() {
        test::Script real = onDevice();
        real.emulated = false;
        test::ThreePanels b(real);
        b.load();
        b.answer();
        for (Panel* panel : b.panels()) {
            QVERIFY(panel->badge().isEmpty());
            QVERIFY2(panel->cost().contains(QStringLiteral("0.2 %")), qPrintable(panel->cost()));
        }
        b.stage->setScript(onDevice());
        b.load();
        for (Panel* panel : b.panels()) {  // the earlier model's cost is not shown any more
            QVERIFY(panel->badge().contains(QStringLiteral("emulated")));
            QVERIFY2(panel->cost().isEmpty(), qPrintable(panel->cost()));
        }
    }

    // A palette change would send an event to every child of a label; only text changes.
    void panels_whileAnswering_changeNoPalette() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        std::vector<std::unique_ptr<test::EventCount>> palettes;
        for (Panel* panel : b.panels()) {
            for (QLabel* label : panel->findChildren<QLabel*>()) {
                palettes.push_back(std::make_unique<test::EventCount>(*label, QEvent::PaletteChange));
            }
        }
        b.answer();
        for (const auto& count : palettes) {
            QCOMPARE(count->count(), 0);
        }
    }

    void panels_hidden_doNotLook() {
        test::ThreePanels b(onDevice());
        b.load();
        for (Panel* panel : b.panels()) {
            panel->hide();
            QTRY_VERIFY(!panel->poller().findChild<QTimer*>()->isActive());
        }
        const QSignalSpy polls(b.cache->poller().findChild<QTimer*>(), &QTimer::timeout);
        const int painted = b.cache->hits().renderCount();
        b.answerUnseen();
        QCOMPARE(polls.size(), 0);
        QCOMPARE(b.cache->hits().renderCount(), painted);
        QCOMPARE(b.cache->hits().points(0).size(), size_t(0));
        b.cache->show();  // and then it has all that it missed
        QTRY_COMPARE(b.cache->hits().points(0).size(), b.log->steps().size() - 1);
    }

    // ---------------------------------------------------------------- experts

    void experts_channels_showTheSnapshot() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        const engine::Snapshot& s = b.experts->snapshot();
        for (int i = 0; i < kExpertChannels; ++i) {
            const auto channel = static_cast<ExpertChannel>(i);
            b.experts->setChannel(channel);
            if (channel == ExpertChannel::Active || channel == ExpertChannel::Machine) {
                QCOMPARE(b.experts->map().rows(), 0);  // no neurons are left out, no machine helps
                continue;
            }
            QCOMPARE(b.experts->map().rows(), 8);
            QCOMPARE(b.experts->map().columns(), 8);
            QCOMPARE(b.experts->map().isCategorical(),
                     channel == ExpertChannel::Residency || channel == ExpertChannel::Precision);
        }
        b.experts->setChannel(ExpertChannel::HitRate);
        for (int row = 0; row < 8; ++row) {
            for (int column = 0; column < 8; ++column) {
                const auto at = static_cast<size_t>(row * 8 + column);
                const auto& use = s.experts.uses[at];
                const double expected =
                    use.tokens ? static_cast<double>(use.resident_tokens) / static_cast<double>(use.tokens) : 0;
                QCOMPARE(b.experts->map().valueAt({row, column}), expected);
            }
        }
        b.experts->setChannel(ExpertChannel::Residency);
        const ExpertCells cells = expertCells(ExpertChannel::Residency, s, {}, true);
        QCOMPARE(cells.counts, (std::vector<int>{20, 0, 44, 0}));
        QVERIFY2(b.experts->legend().accessibleName().contains(QStringLiteral("44")),
                 qPrintable(b.experts->legend().accessibleName()));
    }

    void experts_activeNeurons_areThoseOfTheLayer() {
        engine::Snapshot s;
        s.n_layers = 3;
        s.n_experts = 2;
        QVERIFY(expertCells(ExpertChannel::Active, s, {}, true).isEmpty());
        s.active_shares = {0.25F, -1, 0.75F};
        const ExpertCells cells = expertCells(ExpertChannel::Active, s, {}, true);
        QCOMPARE(cells.values, (std::vector<double>{0.25, 0.25, 0, 0, 0.75, 0.75}));
        QCOMPARE(cells.known, (std::vector<double>{1, 1, 0, 0, 1, 1}));
        QCOMPARE(cells.mark, 0.5);
        QCOMPARE(cells.top, 1.0);
    }

    void experts_readout_hasEveryNumber() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        b.experts->setChannel(ExpertChannel::Conversation);
        QTest::mouseMove(&b.experts->map(), b.experts->map().rectOf({1, 0}).center());
        const QLocale locale;
        const engine::Snapshot& s = b.experts->snapshot();
        const auto& use = s.experts.uses[8];
        QTRY_VERIFY(readoutOf(*b.experts).contains(QStringLiteral("Layer 1, expert 0")));
        for (const QString& part :
             {QStringLiteral("on the device"), QStringLiteral("16 bit (BF16)"),
              locale.toString(static_cast<qulonglong>(s.conversation_counts[8])), QStringLiteral("planned"),
              QStringLiteral("hit rate 100.0 %"), locale.toString(static_cast<qulonglong>(use.tokens))}) {
            QVERIFY2(readoutOf(*b.experts).contains(part), qPrintable(readoutOf(*b.experts)));
        }
    }

    void experts_onCpu_speakOfRamOnly() {
        test::ThreePanels b(onCpu());
        b.load();
        b.answer();
        b.experts->setChannel(ExpertChannel::Residency);
        QCOMPARE(b.experts->map().categories().size(), size_t(2));
        QVERIFY(readoutOf(*b.experts).contains(QStringLiteral("no accelerator")));
        QMenu menu;
        b.experts->actions().fill(menu, {{0, 0}}, {});
        QVERIFY(!menu.actions().at(0)->isEnabled());
        QVERIFY(!menu.actions().at(1)->isEnabled());
        QVERIFY(menu.actions().at(2)->menu()->isEnabled());  // fewer bits help there, too
    }

    // The formats of a file's experts, and those with fewer real bits.
    void experts_ofAFilesBlocks_areGivenSmallerFormatsAlone() {
        using kernels::WeightType;
        test::Script script = onDevice();
        script.expertFormats = {"Q4_K, Q6_K", true, 4.9, {WeightType::kHqq4, WeightType::kHqq2}};
        test::ThreePanels b(script);
        b.load();
        QMenu menu;
        b.experts->actions().fill(menu, {{0, 0}}, {false, false, WeightType::kFile2});
        const QList<QAction*> choices = menu.actions().at(2)->menu()->actions();
        QStringList texts;
        for (const QAction* choice : choices) {
            texts << choice->text();
        }
        QCOMPARE(texts.join(u'|'), QStringLiteral("&As in the file: Q4_K, Q6_K|4 bit (HQQ)|2 bit (HQQ)"));
        QVERIFY(choices.at(0)->isChecked());  // another layer's blocks
        QVERIFY(!choices.at(1)->isChecked());
    }

    void experts_click_selectsAndUnderlines() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QSignalSpy underlined(b.selection.get(), &Selection::underlined);
        const ExpertId expert = b.log->expertsOf(*b.log->token(kMessage, 5)).front();
        auto& map = b.experts->map();
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.rectOf({expert.layer, expert.expert}).center());
        QCOMPARE(b.selection->expert(), expert);
        QVERIFY(map.selected() == (HeatMap::Cell{expert.layer, expert.expert}));
        QCOMPARE(underlined.size(), 1);
        const TextRange token = b.log->token(kMessage, 5)->text;
        const auto ranges = underlined.back().at(1).value<QList<TextRange>>();
        QVERIFY(std::any_of(ranges.begin(), ranges.end(), [&](const TextRange& range) {
            return range.begin <= token.begin && token.end <= range.end;
        }));
        QVERIFY(test::find<QToolButton>(*b.experts, "Change the selected experts").isEnabled());
        QVERIFY(readoutOf(*b.experts).contains(QStringLiteral("underlined")));
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.rectOf({expert.layer, expert.expert}).center());
        QVERIFY(!b.selection->expert());
        QVERIFY(underlined.back().at(1).value<QList<TextRange>>().isEmpty());
        QVERIFY(!test::find<QToolButton>(*b.experts, "Change the selected experts").isEnabled());
    }

    // The ring, what the chat underlines and what can be changed are of one selection, also
    // after the map had nothing to show.
    void experts_selection_isOneState() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QSignalSpy underlined(b.selection.get(), &Selection::underlined);
        auto& map = b.experts->map();
        const ExpertId expert = b.log->expertsOf(*b.log->token(kMessage, 5)).front();
        const HeatMap::Cell cell{expert.layer, expert.expert};
        const auto& change = test::find<QToolButton>(*b.experts, "Change the selected experts");
        const auto click = [&map](QPoint at) { QTest::mouseClick(&map, Qt::LeftButton, {}, at); };
        click(map.rectOf(cell).center());
        QVERIFY(map.selected() == cell && change.isEnabled());
        b.experts->setChannel(ExpertChannel::Active);  // all neurons are: nothing is shown
        QCOMPARE(map.rows(), 0);
        QVERIFY(!map.selected() && !change.isEnabled());
        for (const auto channel : {ExpertChannel::Residency, ExpertChannel::Conversation}) {
            b.experts->setChannel(channel);
            QVERIFY(map.selected() == cell && change.isEnabled());
            QCOMPARE(b.selection->expert(), expert);
        }
        QVERIFY(!underlined.back().at(1).value<QList<TextRange>>().isEmpty());
        // A click beside the cells, or on the cell again, ends it everywhere.
        for (const QPoint at : {QPoint(1, 1), map.rectOf(cell).center()}) {
            b.selection->selectExpert(expert);
            QVERIFY(map.selected() == cell && change.isEnabled());
            QVERIFY(at != QPoint(1, 1) || (!map.cellAt(at) && !map.lineAt(at)));
            click(at);
            QVERIFY(!map.selected() && !change.isEnabled() && !b.selection->expert());
            QVERIFY(underlined.back().at(1).value<QList<TextRange>>().isEmpty());
        }
        b.selection->selectExpert(expert);
        QTest::keyClick(&map, Qt::Key_Escape);
        QVERIFY(!map.selected() && !change.isEnabled() && !b.selection->expert());
        // Another model has other experts.
        click(map.rectOf(cell).center());
        b.load();
        QVERIFY(!map.selected() && !change.isEnabled() && !b.selection->expert());
    }

    // A click on a layer's number chooses its experts instead of the one before: one of
    // both is marked.
    void experts_click_onALayersNumber_endsTheChosenCell() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        auto& map = b.experts->map();
        const ExpertId expert = b.log->expertsOf(*b.log->token(kMessage, 5)).front();
        const auto click = [&map](QPoint at) { QTest::mouseClick(&map, Qt::LeftButton, {}, at); };
        const auto chooses = [&](QPoint at) {
            QTest::mouseMove(&map, at);
            click(at);
        };
        chooses(map.rectOf({expert.layer, expert.expert}).center());
        QVERIFY(map.selected() && !map.area());
        chooses({map.rectOf({3, 0}).left() - 6, map.rectOf({3, 0}).center().y()});
        QVERIFY(map.area() == (HeatMap::Area{3, 3, 0, map.columns() - 1}));
        QVERIFY(!map.selected() && !b.selection->expert());
        QVERIFY2(readoutOf(*b.experts).contains(QStringLiteral("layer 3:")) &&
                     readoutOf(*b.experts).contains(QStringLiteral("Marked: layer 3, experts 0–")),
                 qPrintable(readoutOf(*b.experts)));
        test::picture(*b.experts, QStringLiteral("experts-layer"), {420}, 560);
        chooses(map.rectOf({expert.layer, expert.expert}).center());
        QVERIFY(map.selected() && !map.area());
    }

    void experts_selectedToken_ringsItsExperts() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QVERIFY(b.selection->selectToken(kMessage, 7));
        const auto& rings = b.experts->map().highlighted();
        QCOMPARE(rings.size(), size_t(16));
        for (const ExpertId& expert : b.log->expertsOf(*b.log->token(kMessage, 7))) {
            QVERIFY(std::find(rings.begin(), rings.end(), HeatMap::Cell{expert.layer, expert.expert}) != rings.end());
        }
        QVERIFY(b.selection->selectToken(kMessage, 0));  // the prompt's step wrote it
        QVERIFY(b.experts->map().highlighted().empty());
        QVERIFY(readoutOf(*b.experts).contains(QStringLiteral("not known")));
        b.selection->clearToken();
        QVERIFY(b.experts->map().highlighted().empty());
    }

    void experts_menu_changesOneExpert() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        b.experts->setChannel(ExpertChannel::Residency);
        b.selection->selectExpert({3, 7});
        QMenu* menu = test::find<QToolButton>(*b.experts, "Change the selected experts").menu();
        const auto trigger = [&](int action, int format) {
            Q_EMIT menu->aboutToShow();
            QAction* chosen = menu->actions().at(action);
            (format < 0 ? chosen : chosen->menu()->actions().at(format))->trigger();
        };
        trigger(0, -1);
        QTRY_VERIFY2(b.experts->notice().contains(QStringLiteral("is pinned")), qPrintable(b.experts->notice()));
        QTRY_COMPARE(b.experts->snapshot().experts.pinned[31], std::uint8_t(1));
        trigger(2, 3);  // 16, 8, 5, 4 bits
        QTRY_VERIFY(b.experts->notice().contains(QStringLiteral("4 bit")));
        QTRY_COMPARE(b.experts->snapshot().experts.format[31], static_cast<std::uint8_t>(kernels::WeightType::kHqq4));
        trigger(1, -1);
        QTRY_VERIFY(b.experts->notice().contains(QStringLiteral("left the device")));
        QTRY_COMPARE(b.experts->snapshot().experts.place[31], std::uint8_t(1));
        QVERIFY(!b.experts->actions().isWatching());
    }

    void layers_haveTheModelsOwnNumbers() {
        test::ThreePanels b(large(58, 256, 3));
        b.load();
        b.answer();
        b.experts->map().setFocus();
        QTest::mouseMove(&b.experts->map(), b.experts->map().rectOf({0, 7}).center());
        QTRY_VERIFY2(readoutOf(*b.experts).startsWith(QStringLiteral("Layer 3, expert 7")),
                     qPrintable(readoutOf(*b.experts)));
        const QString csv = b.experts->map().csv();
        QVERIFY(csv.contains(QStringLiteral("\n3,0,")) && csv.contains(QStringLiteral("\n60,255,")));
        QVERIFY(!csv.contains(QStringLiteral("\n0,")));
        b.experts->actions().change(engine::ExpertChange::Kind::kPin, {{0, 7}});
        QTRY_COMPARE(b.experts->notice(), QStringLiteral("Layer 3, expert 7 is pinned to the device."));

        QVERIFY(b.selection->selectToken(kMessage, 40));
        showMeanOf(*b.dispatch, 0);
        QCOMPARE(b.dispatch->bars().rows().front().name, QStringLiteral("layer 3"));
        QVERIFY(b.dispatch->timeline().csv().contains(QStringLiteral("layer 60:")));
        QVERIFY(!b.dispatch->timeline().csv().contains(QStringLiteral("layer 0:")));
        const LoggedStep* step = b.log->step(b.selection->token()->step);
        QVERIFY(whyText(*step, 57, std::nullopt).startsWith(QStringLiteral("Layer 60")));
        QStringList names;
        for (const QComboBox* box : b.cache->findChildren<QComboBox*>()) {
            for (int i = 0; i < box->count(); ++i) {
                names << box->itemText(i);
            }
        }
        QVERIFY(names.contains(QStringLiteral("All, and layer 3")) &&
                names.contains(QStringLiteral("All, and layer 60")) &&
                !names.contains(QStringLiteral("All, and layer 0")));
    }

    void markedExperts_arePinnedTogether() {
        test::ThreePanels b(large(48, 128, 0));
        b.load();
        b.answer();
        b.experts->setChannel(ExpertChannel::Residency);
        b.experts->resize(900, 700);
        QCoreApplication::processEvents();
        b.experts->resize(360, 700);
        QCoreApplication::processEvents();
        // All of the legend's lines have room, and nothing scrolls sideways.
        HeatMapLegend& legend = b.experts->legend();
        QVERIFY(legend.height() >= legend.heightForWidth(legend.width()) && legend.width() < 360);
        HeatMap& map = b.experts->map();
        map.setArea(HeatMap::Area{10, 12, 0, 127});
        QVERIFY2(readoutOf(*b.experts).contains(QStringLiteral("layers 10–12, experts 0–127: 384 expert")),
                 qPrintable(readoutOf(*b.experts)));
        QVERIFY(readoutOf(*b.experts).contains(QStringLiteral("on the device")));
        QMenu* menu = test::find<QToolButton>(*b.experts, "Change the selected experts").menu();
        Q_EMIT menu->aboutToShow();
        QCOMPARE(menu->actions().at(0)->text(), QStringLiteral("&Pin 384 experts to the device"));
        const auto pinned = [&] {
            const std::vector<std::uint8_t> states = b.engine->snapshot()->experts.pinned;
            return std::count(states.begin(), states.end(), 1);
        };
        const auto press = [&](const char* button) {
            QTest::mouseClick(&test::find<QPushButton>(*b.experts, button), Qt::LeftButton);
        };
        const std::vector<std::uint8_t> places = b.engine->snapshot()->experts.place;
        // Shown first; nothing happens before Apply.
        menu->actions().at(0)->trigger();
        QVERIFY2(b.experts->notice().startsWith(QStringLiteral("Pin 384 experts: ")), qPrintable(b.experts->notice()));
        takePicture(*b.experts, QStringLiteral("experts-proposal"));
        press("Discard");
        QVERIFY(b.experts->notice().isEmpty() && !test::find<QPushButton>(*b.experts, "Apply").isEnabled());
        QCOMPARE(pinned(), 0);
        menu->actions().at(0)->trigger();
        QTest::keyClick(b.experts->focusWidget(), Qt::Key_Space);  // on Apply
        QTRY_COMPARE(b.experts->notice(), QStringLiteral("384 experts are pinned."));
        QCOMPARE(pinned(), 384);
        QTRY_VERIFY(b.experts->snapshot().revision == b.engine->snapshot()->revision);
        QVERIFY(readoutOf(*b.experts).contains(QStringLiteral("384 pinned")));
        Q_EMIT menu->aboutToShow();
        QCOMPARE(menu->actions().at(0)->text(), QStringLiteral("&Unpin 384 experts"));
        const std::vector<std::uint8_t> formats = b.engine->snapshot()->experts.format;
        menu->actions().at(2)->menu()->actions().at(3)->trigger();
        QVERIFY2(b.experts->notice().startsWith(QStringLiteral("Keep 384 experts in 4 bit (HQQ): about ")),
                 qPrintable(b.experts->notice()));
        press("Apply");
        QTRY_COMPARE(b.experts->notice(), QStringLiteral("384 experts are kept in 4 bit (HQQ)."));
        QVERIFY(b.engine->snapshot()->experts.format != formats);
        QTRY_VERIFY(!map.marks().empty());
        // Back, one change after the other.
        press("Undo");
        QTRY_COMPARE(b.experts->notice(), QStringLiteral("384 experts are as before."));
        QVERIFY(b.engine->snapshot()->experts.format == formats);
        QCOMPARE(pinned(), 384);
        press("Undo");
        QTRY_COMPARE(pinned(), 0);
        QTRY_VERIFY(b.engine->snapshot()->experts.place == places);
        QTRY_VERIFY(!test::find<QPushButton>(*b.experts, "Undo").isEnabled());
        QTRY_VERIFY(map.marks().empty());
        // A proposal is of the experts that are marked.
        Q_EMIT menu->aboutToShow();
        menu->actions().at(0)->trigger();
        QVERIFY(test::find<QPushButton>(*b.experts, "Apply").isEnabled());
        map.setArea(HeatMap::Area{1, 1, 0, 127});
        QVERIFY(!test::find<QPushButton>(*b.experts, "Apply").isEnabled());
        // One outside of the marked ones means only itself.
        QMenu one;
        Q_EMIT map.cellMenuRequested({0, 0}, &one);
        QCOMPARE(one.actions().at(0)->text(), QStringLiteral("&Pin to the device"));
    }

    void experts_changeThatFails_saysWhy() {
        test::Script script = onDevice();
        script.expertProblem = "There is no room on the device for another pinned expert.";
        test::ThreePanels b(script);
        b.experts->actions().change(engine::ExpertChange::Kind::kPin, {{0, 7}});  // no model yet
        QVERIFY(b.experts->notice().contains(QStringLiteral("no model")));
        b.load();
        b.experts->actions().change(engine::ExpertChange::Kind::kPin, {{0, 7}});
        QTRY_COMPARE(b.experts->notice(), QString::fromStdString(script.expertProblem));
        b.load();
        QVERIFY(b.experts->notice().isEmpty());
    }

    // ---------------------------------------------------------------- dispatch

    void dispatch_bars_areOfTheSelectedToken() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QVERIFY(b.selection->selectToken(kMessage, 9));
        showMeanOf(*b.dispatch, 0);
        test::find<QComboBox>(*b.dispatch, "What the bars measure").setCurrentIndex(0);
        const LoggedStep* step = b.log->step(b.log->token(kMessage, 9)->step);
        QCOMPARE(b.dispatch->bars().rows().size(), size_t(16));  // measured and predicted
        for (const auto& event : step->layers) {
            const auto& row = b.dispatch->bars().rows()[static_cast<size_t>(2 * event.layer)];
            QCOMPARE(row.parts[0].size, double{event.gpu_us});
            QCOMPARE(row.parts[1].size, double{event.copy_us});
            QCOMPARE(row.parts[2].size, double{event.cpu_us});
            const auto& predicted = b.dispatch->bars().rows()[static_cast<size_t>(2 * event.layer + 1)];
            QVERIFY(predicted.predicted);
            QCOMPARE(predicted.parts[0].size, double{event.predicted_gpu_us});
        }
        test::find<QComboBox>(*b.dispatch, "What the bars measure").setCurrentIndex(1);
        QCOMPARE(b.dispatch->bars().rows().size(), size_t(8));
        for (const auto& row : b.dispatch->bars().rows()) {
            QCOMPARE(row.parts[0].size + row.parts[1].size + row.parts[2].size, 2.0);
        }
        showMeanOf(*b.dispatch, 16);
        for (const auto& row : b.dispatch->bars().rows()) {
            QCOMPARE(row.parts[0].size + row.parts[1].size + row.parts[2].size, 2.0);
        }
    }

    void dispatch_saysWhatDraftsGain() {
        test::Script script = onDevice();
        test::ThreePanels plain(script);
        plain.load();
        plain.answer();
        QVERIFY(!hiddenOf(*plain.dispatch).contains(QStringLiteral("Drafts")));
        script.tokensPerStep = 3;
        test::ThreePanels b(script);
        b.load();
        b.answer();
        QVERIFY(b.selection->selectToken(kMessage, 9));
        showMeanOf(*b.dispatch, 0);
        const LoggedStep* step = b.log->step(b.log->token(kMessage, 9)->step);
        QCOMPARE(step->tokens(), 3);
        QCOMPARE(step->drafted(), 2);
        double called = 0;
        for (const auto& event : step->layers) {
            called += event.n_assignments;
        }
        const double more = called / (8 * 2) - 1;
        QVERIFY(more > 0);
        QVERIFY2(hiddenOf(*b.dispatch).endsWith(draftsText(2, 2, 3, more)), qPrintable(hiddenOf(*b.dispatch)));
        showMeanOf(*b.dispatch, 16);
        QVERIFY(hiddenOf(*b.dispatch)
                    .contains(QRegularExpression(QStringLiteral("Drafts: [0-9]+ of 3[02] tokens were right"))));
    }

    // CORM's table 3, for the tokens of the bars.
    void dispatch_saysHowMuchComputingIsHidden() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QVERIFY(b.selection->selectToken(kMessage, 9));
        const auto sumOf = [](const LoggedStep& step) {
            engine::LoadingTimes sum;
            for (const auto& event : step.layers) {
                sum += event.loading;
            }
            return sum;
        };
        const auto says = [&](const engine::LoadingTimes& times) {
            const QString text = hiddenOf(*b.dispatch);
            return text.startsWith(QStringLiteral("Hidden: %1 of the computing behind loading, %2 of the loading")
                                       .arg(valueText(Unit::Share, times.hidden_computing()),
                                            valueText(Unit::Share, times.hidden_loading()))) &&
                   text.contains(QStringLiteral("both at once ") + valueText(Unit::Microseconds, times.overlap_us));
        };
        showMeanOf(*b.dispatch, 0);
        const LoggedStep* step = b.log->step(b.log->token(kMessage, 9)->step);
        QVERIFY(sumOf(*step).overlap_us > 0);
        QVERIFY2(says(sumOf(*step)), qPrintable(hiddenOf(*b.dispatch)));
        showMeanOf(*b.dispatch, 64);
        engine::LoadingTimes mean;
        int n = 0;
        for (auto each = b.log->steps().rbegin(); each != b.log->steps().rend() && n < 64; ++each) {
            if (!each->isPrompt()) {
                mean += sumOf(*each);
                ++n;
            }
        }
        QCOMPARE(n, 64);
        QVERIFY2(says(mean.times(1.0 / 64)), qPrintable(hiddenOf(*b.dispatch)));
        showMeanOf(*b.dispatch, 0);
        b.dispatch->explain(1, std::nullopt);
        QVERIFY2(whyOf(*b.dispatch).contains(QStringLiteral("Loading ")), qPrintable(whyOf(*b.dispatch)));
        b.dispatch->explain(1, Side::Copy);
        QVERIFY(!whyOf(*b.dispatch).contains(QStringLiteral("Loading ")));
        takePicture(*b.dispatch, QStringLiteral("dispatch-hidden"));

        test::ThreePanels cpu(onCpu());
        cpu.load();
        cpu.answer();
        QVERIFY2(hiddenOf(*cpu.dispatch).contains(QStringLiteral("On the CPU alone")),
                 qPrintable(hiddenOf(*cpu.dispatch)));
    }

    void dispatch_timeline_hasOneBarPerLayerAndLane() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QVERIFY(b.selection->selectToken(kMessage, 9));
        const LoggedStep* step = b.log->step(b.log->token(kMessage, 9)->step);
        QSet<QPair<qint64, bool>> seen;
        double end = 0;
        for (const auto& span : b.dispatch->timeline().spans()) {
            const auto key = qMakePair(span.id, span.predicted);
            QVERIFY(!seen.contains(key));
            seen.insert(key);
            const auto& event = step->layers[static_cast<size_t>(layerOfSpan(span.id))];
            const double lasts = span.end_us - span.begin_us;
            const auto is = [&](float us) { return std::abs(lasts - double{us}) < 1e-3; };
            switch (kindOfSpan(span.id)) {
                case SpanKind::Attention:
                    QVERIFY(is(event.attention_us) && span.lane == 2);
                    break;
                case SpanKind::Gpu:
                    QVERIFY(is(span.predicted ? event.predicted_gpu_us : event.gpu_us) && span.lane == 2);
                    break;
                case SpanKind::Copy:
                    QVERIFY(is(span.predicted ? event.predicted_copy_us : event.copy_us) && span.lane == 1);
                    break;
                case SpanKind::Cpu:
                    QVERIFY(is(span.predicted ? event.predicted_cpu_us : event.cpu_us) && span.lane == 0);
                    break;
            }
            end = span.predicted ? end : std::max(end, span.end_us);
        }
        QVERIFY(end <= durationOf(*step) + 1e-3);
        QVERIFY(seen.size() > 24);
    }

    void dispatch_why_namesBothCosts() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QVERIFY(b.selection->selectToken(kMessage, 9));
        const LoggedStep* step = b.log->step(b.log->token(kMessage, 9)->step);
        int resident = 0, copied = 0, onCpu = 0;
        for (const auto& event : step->layers) {
            for (const auto& a : step->assignmentsOf(event)) {
                const Side side = a.target == 0 ? Side::Gpu : a.target == 1 ? Side::Copy : Side::Cpu;
                Q_EMIT b.dispatch->timeline().spanClicked(spanId(event.layer, side == Side::Gpu    ? SpanKind::Gpu
                                                                              : side == Side::Copy ? SpanKind::Copy
                                                                                                   : SpanKind::Cpu));
                const QString why = whyOf(*b.dispatch);
                QVERIFY2(why.contains(QStringLiteral("Expert %1 ").arg(a.expert)), qPrintable(why));
                QVERIFY(why.contains(valueText(Unit::Microseconds, 120)));
                QVERIFY(why.contains(valueText(Unit::Microseconds, 15)));
                if (side != Side::Gpu) {
                    QVERIFY(why.contains(valueText(Unit::Microseconds, 90)));
                }
                if (side == Side::Cpu) {
                    QVERIFY2(why.contains(QStringLiteral("Alone the copy would be faster")), qPrintable(why));
                }
                ++(side == Side::Gpu ? resident : side == Side::Copy ? copied : onCpu);
            }
        }
        QVERIFY(resident > 0 && copied > 0 && onCpu > 0);
        QVERIFY(!whyOf(*b.dispatch).contains(QStringLiteral("measured")));  // by an emulated device nothing is
        QVERIFY(whyText(*step, 0, std::nullopt).contains(QStringLiteral("measured")));
    }

    void dispatch_buttons_walkThroughTheAnswer() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        QVERIFY(
            test::textOf(*b.dispatch, QStringLiteral("The token that is shown")).contains(QStringLiteral("Latest")));
        QVERIFY(b.selection->selectToken(kMessage, 1));
        test::find<QToolButton>(*b.dispatch, "Previous token of the answer").click();
        QCOMPARE(b.selection->token()->index, 0);
        QVERIFY(!test::find<QToolButton>(*b.dispatch, "Previous token of the answer").isEnabled());
        QVERIFY2(
            test::textOf(*b.dispatch, QStringLiteral("The token that is shown")).contains(QStringLiteral("prompt")),
            qPrintable(test::textOf(*b.dispatch, QStringLiteral("The token that is shown"))));
        test::find<QToolButton>(*b.dispatch, "Next token of the answer").click();
        test::find<QToolButton>(*b.dispatch, "Next token of the answer").click();
        QCOMPARE(b.selection->token()->index, 2);
        QVERIFY(test::textOf(*b.dispatch, QStringLiteral("The token that is shown"))
                    .contains(QStringLiteral("Token 3 of")));
    }

    void dispatch_onCpu_hasOneLane() {
        test::ThreePanels b(onCpu());
        b.load();
        b.answer();
        for (const auto& span : b.dispatch->timeline().spans()) {
            QVERIFY(span.lane == 0 && !span.predicted);
        }
        QVERIFY(!b.dispatch->timeline().spans().empty());
        b.dispatch->explain(0, std::nullopt);
        QVERIFY2(whyOf(*b.dispatch).contains(QStringLiteral("no accelerator")), qPrintable(whyOf(*b.dispatch)));
    }

    // ---------------------------------------------------------------- all

    void controls_haveNames() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        for (Panel* panel : b.panels()) {
            for (QWidget* child : panel->findChildren<QWidget*>()) {
                if (child->focusPolicy() == Qt::NoFocus || child->window() != panel ||
                    child->objectName().startsWith(QStringLiteral("qt_"))) {
                    continue;
                }
                auto* button = qobject_cast<QAbstractButton*>(child);
                QVERIFY2(!child->accessibleName().isEmpty() || (button && !button->text().isEmpty()),
                         child->metaObject()->className());
            }
        }
    }

    // The sizes of Qwen3-30B-A3B and DeepSeek-V3: every layer is there, and pictures to
    // look at.
    void picturesOfLargeModels_showAllLayers() {
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            for (const auto& [layers, experts, dense] : {std::tuple{48, 128, 0}, std::tuple{58, 256, 3}}) {
                test::ThreePanels b(large(layers, experts, dense));
                b.load();
                b.answer();
                b.selection->selectToken(kMessage, 9);
                b.experts->setChannel(ExpertChannel::Residency);
                QCOMPARE(b.experts->snapshot().experts.place.size(), static_cast<std::size_t>(layers * experts));
                for (Panel* panel : b.panels()) {
                    panel->resize(900, 820);
                    QCoreApplication::processEvents();
                    const QString kind = QString::fromLatin1(panel->metaObject()->className()).section(u':', -1);
                    QVERIFY(!panel->grab().isNull());
                    takePicture(
                        *panel,
                        QStringLiteral("%1_%2_%3x%4").arg(kind, nameOf(theme)).arg(layers + dense).arg(experts));
                }
            }
        }
        applyTheme(*qApp, Theme::Light);
    }

    void pictures_inBothThemes_differ() {
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            test::ThreePanels b(onDevice());
            b.load();
            b.answer();
            b.selection->selectToken(kMessage, 9);
            b.selection->selectExpert({2, 1});
            b.experts->setChannel(ExpertChannel::Residency);
            b.dispatch->explain(1, std::nullopt);
            compareButton(*b.cache).click();
            QTRY_VERIFY(b.cache->table().isVisible());
            for (const int width : {360, 900}) {
                for (Panel* panel : b.panels()) {
                    panel->resize(width, panel == b.cache.get() ? 1500 : 820);
                    const QString name =
                        QStringLiteral("%1_%2_%3")
                            .arg(QString::fromLatin1(panel->metaObject()->className()).section(u':', -1), nameOf(theme))
                            .arg(width);
                    QCoreApplication::processEvents();
                    QCOMPARE(panel->width(), width);
                    const QImage image = panel->grab().toImage();
                    QCOMPARE(qGray(image.pixel(2, 2)) < 128, theme == Theme::Dark);
                    takePicture(*panel, name);
                }
            }
        }
        applyTheme(*qApp, Theme::Light);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPanels)
#include "tst_panels.moc"
