// Experts, Cache and Dispatch: their display of the scripted engine, their actions, their
// links.
#include <thread>
#include <tuple>

#include <QComboBox>
#include <QFile>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "kernels/formats.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/format.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/dispatch_view.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/selection.h"
#include "ui/panels/snapshot_poller.h"
#include "ui/plot/heat_map_legend.h"

using namespace offstage;
using namespace offstage::ui;
using State = EngineController::State;

namespace {

constexpr MessageId kMessage = 42;

// The panels on the scripted engine, without the rest of the window.
struct Bench {
    explicit Bench(const test::Script& script) {
        stage->setScript(script);
        engine = std::make_unique<EngineController>([s = stage] { return makeFakeSession(s); });
        log = std::make_unique<TokenLog>(*engine);
        selection = std::make_unique<Selection>(*log);
        experts = std::make_unique<ExpertsPanel>(*engine);
        experts->setSelection(*selection);
        cache = std::make_unique<CachePanel>(*engine, *selection);
        dispatch = std::make_unique<DispatchPanel>(*engine, *selection);
        for (QWidget* panel : panels()) {
            panel->resize(360, 900);
            panel->show();
        }
        QObject::connect(engine.get(), &EngineController::streamed, log.get(),
                         [this](quint64, const StreamedText& piece) {
                             log->addTokens(kMessage, static_cast<int>(text.size()), piece);
                             text += piece.text;
                         });
    }

    std::vector<Panel*> panels() const { return {experts.get(), cache.get(), dispatch.get()}; }

    void load() {
        engine->openModel({});
        QTRY_COMPARE(engine->state(), State::Ready);
    }
    void answer() {
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "tell me"}};
        QSignalSpy answered(engine.get(), &EngineController::answered);
        engine->generate(request);
        QTRY_COMPARE(answered.size(), 1);
        QTRY_COMPARE(engine->state(), State::Ready);
        for (Panel* panel : panels()) {
            QTRY_COMPARE(panel->snapshot().revision, engine->snapshot()->revision);
        }
    }

    std::shared_ptr<test::Stage> stage = std::make_shared<test::Stage>();
    QString text;
    std::unique_ptr<EngineController> engine;
    std::unique_ptr<TokenLog> log;
    std::unique_ptr<Selection> selection;
    std::unique_ptr<ExpertsPanel> experts;
    std::unique_ptr<CachePanel> cache;
    std::unique_ptr<DispatchPanel> dispatch;
};

test::Script onDevice() {
    test::Script script;
    script.residents = 20;
    script.emulated = true;
    script.answer = test::longAnswer(120);
    return script;
}

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

test::Script onCpu() {
    test::Script script;
    script.answer = test::longAnswer(60);
    return script;
}

// Pictures to look at: OFFSTAGE_PICTURES names the folder.
void takePicture(QWidget& widget, const QString& name) {
    const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
    if (!folder.isEmpty()) {
        QVERIFY(widget.grab().save(folder + u'/' + name + QStringLiteral(".png")));
    }
}

}  // namespace

class TestPanels : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void panels_beforeTheFirstModel_sayWhatToDo() {
        Bench b(onDevice());
        for (Panel* panel : b.panels()) {
            QVERIFY(!panel->emptyText().isEmpty());
            QVERIFY(panel->badge().isEmpty());
            QVERIFY(panel->cost().isEmpty());
        }
    }

    void panels_onEmulatedDevice_sayThatAndNoShareOfItsTime() {
        Bench b(onDevice());
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
        Bench b(real);
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
        Bench b(onDevice());
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
        Bench b(onDevice());
        b.load();
        for (Panel* panel : b.panels()) {
            panel->hide();
            QTRY_VERIFY(!panel->poller().isPolling());
        }
        const int polls = b.cache->poller().pollCount();
        const int painted = b.cache->hits().renderCount();
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "tell me"}};
        QSignalSpy answered(b.engine.get(), &EngineController::answered);
        b.engine->generate(request);
        QTRY_COMPARE(answered.size(), 1);
        QCOMPARE(b.cache->poller().pollCount(), polls);
        QCOMPARE(b.cache->hits().renderCount(), painted);
        QCOMPARE(b.cache->hits().points(0).size(), size_t(0));
        b.cache->show();  // and then it has all that it missed
        QTRY_COMPARE(b.cache->hits().points(0).size(), b.log->steps().size() - 1);
    }

    // ---------------------------------------------------------------- experts

    void experts_channels_showTheSnapshot() {
        Bench b(onDevice());
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
        Bench b(onDevice());
        b.load();
        b.answer();
        b.experts->setChannel(ExpertChannel::Conversation);
        QTest::mouseMove(&b.experts->map(), b.experts->map().rectOf({1, 0}).center());
        const QLocale locale;
        const engine::Snapshot& s = b.experts->snapshot();
        const auto& use = s.experts.uses[8];
        QTRY_VERIFY(b.experts->readout().contains(QStringLiteral("Layer 1, expert 0")));
        for (const QString& part :
             {QStringLiteral("on the device"), QStringLiteral("16 bit (BF16)"),
              locale.toString(static_cast<qulonglong>(s.conversation_counts[8])), QStringLiteral("planned"),
              QStringLiteral("hit rate 100.0 %"), locale.toString(static_cast<qulonglong>(use.tokens))}) {
            QVERIFY2(b.experts->readout().contains(part), qPrintable(b.experts->readout()));
        }
    }

    void experts_onCpu_speakOfRamOnly() {
        Bench b(onCpu());
        b.load();
        b.answer();
        b.experts->setChannel(ExpertChannel::Residency);
        QCOMPARE(b.experts->map().categories().size(), size_t(2));
        QVERIFY(b.experts->readout().contains(QStringLiteral("no accelerator")));
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
        Bench b(script);
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
        Bench b(onDevice());
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
        QVERIFY(b.experts->readout().contains(QStringLiteral("underlined")));
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.rectOf({expert.layer, expert.expert}).center());
        QVERIFY(!b.selection->expert());
        QVERIFY(underlined.back().at(1).value<QList<TextRange>>().isEmpty());
        QVERIFY(!test::find<QToolButton>(*b.experts, "Change the selected experts").isEnabled());
    }

    void experts_selectedToken_ringsItsExperts() {
        Bench b(onDevice());
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
        QVERIFY(b.experts->readout().contains(QStringLiteral("not known")));
        b.selection->clearToken();
        QVERIFY(b.experts->map().highlighted().empty());
    }

    void experts_menu_changesOneExpert() {
        Bench b(onDevice());
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
        Bench b(large(58, 256, 3));
        b.load();
        b.answer();
        b.experts->map().setFocus();
        QTest::mouseMove(&b.experts->map(), b.experts->map().rectOf({0, 7}).center());
        QTRY_VERIFY2(b.experts->readout().startsWith(QStringLiteral("Layer 3, expert 7")),
                     qPrintable(b.experts->readout()));
        const QString csv = b.experts->map().csv();
        QVERIFY(csv.contains(QStringLiteral("\n3,0,")) && csv.contains(QStringLiteral("\n60,255,")));
        QVERIFY(!csv.contains(QStringLiteral("\n0,")));
        b.experts->actions().change(engine::ExpertChange::Kind::kPin, {{0, 7}});
        QTRY_COMPARE(b.experts->notice(), QStringLiteral("Layer 3, expert 7 is pinned to the device."));

        QVERIFY(b.selection->selectToken(kMessage, 40));
        b.dispatch->setMeanOf(0);
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
        Bench b(large(48, 128, 0));
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
        QVERIFY2(b.experts->readout().contains(QStringLiteral("layers 10–12, experts 0–127: 384 experts")),
                 qPrintable(b.experts->readout()));
        QVERIFY(b.experts->readout().contains(QStringLiteral("on the device")));
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
        QVERIFY(b.experts->readout().contains(QStringLiteral("384 pinned")));
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
        Bench b(script);
        b.experts->actions().change(engine::ExpertChange::Kind::kPin, {{0, 7}});  // no model yet
        QVERIFY(b.experts->notice().contains(QStringLiteral("no model")));
        b.load();
        b.experts->actions().change(engine::ExpertChange::Kind::kPin, {{0, 7}});
        QTRY_COMPARE(b.experts->notice(), QString::fromStdString(script.expertProblem));
        b.load();
        QVERIFY(b.experts->notice().isEmpty());
    }

    // ---------------------------------------------------------------- cache

    void cache_lines_areOfEachToken() {
        Bench b(onDevice());
        b.load();
        b.cache->setMeanOf(1);
        b.answer();
        b.cache->setLayer(2);
        const auto& hits = b.cache->hits();
        QCOMPARE(hits.seriesCount(), 2);
        std::size_t point = 0;
        for (const LoggedStep& step : b.log->steps()) {
            if (step.isPrompt()) {
                continue;
            }
            double all = 0, resident = 0, layer = 0, layerResident = 0, bytes = 0;
            for (const auto& event : step.layers) {
                bytes += static_cast<double>(event.bytes_copied);
                for (const auto& a : step.assignmentsOf(event)) {
                    all += 1;
                    resident += a.target == 0;
                    layer += event.layer == 2;
                    layerResident += event.layer == 2 && a.target == 0;
                }
            }
            QCOMPARE(hits.points(0)[point].x(), static_cast<double>(step.id));
            QCOMPARE(hits.points(0)[point].y(), resident / all);
            QCOMPARE(hits.points(1)[point].y(), layerResident / layer);
            QCOMPARE(b.cache->bytes().points(0)[point].y(), bytes);
            ++point;
        }
        QCOMPARE(hits.points(0).size(), point);
        QVERIFY(point > 100);
    }

    // If experts are copied without some of their neurons, the neurons that were present
    // have a separate line and sum.
    void cache_tellsNeuronsHit() {
        test::Script script = onDevice();
        script.neededNeurons = 200;
        script.heldNeurons = 130;
        Bench b(script);
        b.load();
        b.cache->setMeanOf(1);
        b.answer();
        const auto& hits = b.cache->hits();
        QCOMPARE(hits.seriesCount(), 2);
        QVERIFY(hits.points(1).size() > 100);
        for (std::size_t i = 0; i < hits.points(1).size(); ++i) QCOMPARE(hits.points(1)[i].y(), 0.65);
        QTRY_VERIFY2(test::textOf(*b.cache, QStringLiteral("Sums since the model was loaded"))
                         .contains(QStringLiteral("neurons hit: ") + percentText(0.65)),
                     qPrintable(test::textOf(*b.cache, QStringLiteral("Sums since the model was loaded"))));
        b.cache->setLayer(2);
        QCOMPARE(hits.seriesCount(), 3);
        QVERIFY(hits.points(2).size() > 100);
        b.cache->resize(420, 900);
        const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
        if (!folder.isEmpty()) QVERIFY(b.cache->grab().save(folder + QStringLiteral("/cache-neurons.png")));
    }

    void cache_prefetch_isOfEachToken() {
        Bench b(onDevice());
        b.load();
        b.cache->setMeanOf(1);
        b.answer();
        const auto& lines = b.cache->prefetch();
        std::size_t point = 0;
        for (const LoggedStep& step : b.log->steps()) {
            if (step.isPrompt()) {
                continue;
            }
            double used = 0, guessed = 0, missed = 0, admissions = 0;
            for (const auto& event : step.layers) {
                used += event.used_guesses;
                guessed += event.guessed_copies;
                admissions += event.admissions;
                for (const auto& a : step.assignmentsOf(event)) {
                    missed += a.target != 0;
                }
            }
            const QPointF recall = lines.points(0)[point], precision = lines.points(1)[point];
            QCOMPARE(recall.x(), static_cast<double>(step.id));
            if (guessed > 0) {
                QCOMPARE(recall.y(), used / (missed + used));
                QCOMPARE(precision.y(), used / guessed);
            } else {  // no guesses: no share of them
                QVERIFY(std::isnan(recall.y()) && std::isnan(precision.y()));
            }
            QCOMPARE(b.cache->exchanges().points(0)[point].y(), admissions);
            ++point;
        }
        QVERIFY(point > 100);
        QCOMPARE(lines.points(0).size(), point);
        // Over many tokens: the share of the sums.
        b.cache->setMeanOf(64);
        QCOMPARE(lines.points(0).size(), point);
        QCOMPARE(lines.points(1)[point - 1].y(), 0.5);  // two guesses for each that is used
    }

    void cache_openedAfterTheAnswer_drawsAllOfIt() {
        Bench b(onDevice());
        b.load();
        b.cache->hide();
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "tell me"}};
        QSignalSpy answered(b.engine.get(), &EngineController::answered);
        b.engine->generate(request);
        QTRY_COMPARE(answered.size(), 1);
        QTRY_COMPARE(b.engine->state(), State::Ready);
        QCOMPARE(b.cache->exchanges().points(0).size(), std::size_t{0});
        b.cache->show();
        QTRY_VERIFY(b.cache->exchanges().points(0).size() > 100);
        QCOMPARE(b.cache->prefetch().points(0).size(), b.cache->hits().points(0).size());
    }

    void cache_wideDock_showsItsPlotsSideBySide() {
        Bench b(onDevice());
        b.load();
        const auto place = [&b](const QWidget& plot) { return plot.mapTo(b.cache.get(), QPoint()); };
        b.cache->resize(360, 900);
        QTRY_VERIFY(place(b.cache->prefetch()).y() > place(b.cache->hits()).y());
        QCOMPARE(place(b.cache->prefetch()).x(), place(b.cache->hits()).x());
        b.cache->resize(800, 900);  // two and two
        QTRY_COMPARE(place(b.cache->prefetch()).y(), place(b.cache->hits()).y());
        QVERIFY(place(b.cache->prefetch()).x() > place(b.cache->hits()).x());
        QVERIFY(place(b.cache->bytes()).y() > place(b.cache->hits()).y());
        QTRY_COMPARE(b.cache->hits().width(), b.cache->prefetch().width());
        b.cache->resize(1100, 900);  // three would fit: four are two and two all the same
        QTRY_VERIFY(b.cache->hits().width() > 450);
        QCOMPARE(place(b.cache->exchanges()).y(), place(b.cache->bytes()).y());
        b.cache->resize(1400, 900);
        QTRY_COMPARE(place(b.cache->exchanges()).y(), place(b.cache->hits()).y());
        b.cache->resize(340, 900);  // and back: side-by-side parts keep no dock wide
        QCOMPARE(b.cache->width(), 340);
        QTRY_COMPARE(place(b.cache->exchanges()).x(), place(b.cache->hits()).x());
    }

    void cache_policies_areReplayed() {
        Bench b(onDevice());
        b.load();
        QVERIFY(!b.cache->compareButton().isEnabled());  // nothing is recorded yet
        b.answer();
        QCOMPARE(test::find<QSpinBox>(*b.cache, "Experts in the cache").value(), 20);
        b.cache->compareButton().click();
        QTRY_VERIFY(b.cache->table().isVisible());
        QCOMPARE(b.cache->table().rowCount(), 6);
        std::vector<double> rates;
        for (int row = 0; row < 6; ++row) {
            rates.push_back(QLocale().toDouble(b.cache->table().item(row, 1)->text().chopped(2)));
        }
        QCOMPARE(rates[4], 0.0);  // no cache
        for (const double rate : rates) {
            QVERIFY(rate <= rates[5]);  // nothing is better than the best
        }
        QVERIFY(rates[5] > 0);
        // The scripted placement keeps the lowest numbers, as planned: a fixed cache's
        // contents are the same.
        engine::CacheCalls calls = cacheCallsOf(*b.log, 8, 8);
        QCOMPARE(calls.layers.size(), b.log->steps().size() * 8);
        QVERIFY(test::textOf(*b.cache, QStringLiteral("What was compared")).contains(QStringLiteral("20 of 64")));
        QCOMPARE(b.cache->policies().barCount(), 6);
        test::find<QSpinBox>(*b.cache, "Experts in the cache").setValue(64);
        b.cache->compareButton().click();
        QTRY_COMPARE(b.cache->table().item(0, 1)->text().chopped(2).toDouble(), 100.0);
        // In a low panel the result comes into view.
        b.cache->resize(360, 480);
        b.cache->findChild<QScrollArea*>()->verticalScrollBar()->setValue(0);
        QTRY_VERIFY(b.cache->table().visibleRegion().isEmpty());
        b.cache->compareButton().click();
        QTRY_VERIFY(b.cache->table().visibleRegion().boundingRect().height() > 40);
    }

    void cache_comparisonCancelled_leavesNothing() {
        engine::CacheCalls calls;
        calls.n_layers = 32;
        calls.n_experts = 64;
        constexpr int kSteps = 8000;
        for (int step = 0; step < kSteps; ++step) {
            for (int layer = 0; layer < 32; ++layer) {
                calls.layers.push_back({layer, true, calls.calls.size(), 2, static_cast<size_t>(step), 1});
                const int e = (step * 7 + layer * 13) % 63;
                calls.calls.push_back({{layer, e}, 1});
                calls.calls.push_back({{layer, e + 1}, 1});
            }
        }
        calls.n_tokens = kSteps;
        CacheComparison comparison;
        QSignalSpy finished(&comparison, &CacheComparison::finished);
        comparison.start(calls, engine::Popularity::uniform(32, 64, 2), 1000);
        // QTRY_VERIFY checks every 50 ms, in which a fast machine has compared them all.
        QElapsedTimer waited;
        waited.start();
        while (comparison.progress() <= 0 && waited.elapsed() < 30'000) std::this_thread::yield();
        QVERIFY(comparison.progress() > 0);
        QVERIFY(comparison.progress() < 0.9);
        comparison.cancel();
        QTRY_COMPARE(finished.size(), 1);
        QVERIFY(finished.back().at(0).value<std::vector<PolicyResult>>().empty());
        QVERIFY(!comparison.isRunning());
        comparison.start(calls, engine::Popularity::uniform(32, 64, 2), 1000);
        // And one that is destroyed while it runs ends with it.
    }

    void cache_onCpu_saysThereIsNone() {
        Bench b(onCpu());
        b.load();
        b.answer();
        QVERIFY(!b.cache->hits().isVisible());
        QVERIFY(b.cache->compareButton().isEnabled());
        QCOMPARE(test::find<QSpinBox>(*b.cache, "Experts in the cache").value(), 32);
    }

    void cache_click_selectsTheToken() {
        Bench b(onDevice());
        b.load();
        b.answer();
        const auto token = b.log->token(kMessage, 30);
        Q_EMIT b.cache->hits().clicked(static_cast<double>(token->step));
        QVERIFY(b.selection->token());
        QCOMPARE(b.selection->token()->index, 30);
    }

    // Mixtral-Offloading's figure 1 for the steps that ran.
    void uses_showWhereEachStepsExpertsRan() {
        Bench b(onDevice());
        b.selection->setTextSource(
            [&b](MessageId, const TextRange& range) { return b.text.mid(range.begin, range.end - range.begin); });
        b.load();
        b.cache->hide();
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "tell me"}};
        QSignalSpy answered(b.engine.get(), &EngineController::answered);
        b.engine->generate(request);
        QTRY_COMPARE(answered.size(), 1);
        QTRY_COMPARE(b.engine->state(), State::Ready);
        ExpertUsePlot& uses = b.cache->uses();
        QVERIFY(uses.columns().empty());  // nothing is done for a picture that is not seen
        b.cache->show();
        b.cache->setUsesLayer(3);
        QTRY_COMPARE(uses.columns().size(), b.log->steps().size());
        int counted[6] = {};
        for (std::size_t i = 0; i < uses.columns().size(); ++i) {
            const ExpertUsePlot::Column& column = uses.columns()[i];
            const LoggedStep& step = b.log->steps()[i];
            QCOMPARE(column.step, step.id);
            QCOMPARE(column.prompt, step.isPrompt());
            const auto assignments = step.assignmentsOf(step.layers[3]);
            QCOMPARE(column.calls.size(), assignments.size());
            for (std::size_t n = 0; n < assignments.size(); ++n) {
                const auto& a = assignments[n];
                QCOMPARE(column.calls[n].first, static_cast<int>(a.expert));
                QCOMPARE(column.calls[n].second, a.target == 0   ? engine::ExpertOutcome::kHit
                                                 : a.target == 1 ? engine::ExpertOutcome::kCopied
                                                                 : engine::ExpertOutcome::kCpu);
                ++counted[static_cast<int>(column.calls[n].second)];
            }
        }
        QVERIFY(counted[2] > 0 && counted[3] > 0 && counted[4] > 0);
        QVERIFY(uses.columns().front().prompt);

        // The latest columns are visible; the item at the pointer is named.
        std::size_t newest = uses.columns().size() - 1;
        while (!b.log->tokenOfStep(uses.columns()[newest].step)) {
            --newest;  // the end of the answer writes none
        }
        const ExpertUsePlot::Column& last = uses.columns()[newest];
        const QRectF cell = uses.rectOf(last.number, last.calls.front().first);
        QVERIFY(uses.rect().contains(cell.toRect()));
        QVERIFY(cell.width() >= 5);
        const auto pointAt = [&uses](const QRectF& place) {
            const QPointF at = place.center();
            QMouseEvent move(QEvent::MouseMove, at, uses.mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
            QApplication::sendEvent(&uses, &move);
        };
        pointAt(cell);
        QVERIFY2(uses.reading().contains(QStringLiteral("layer 3, expert %1: ").arg(last.calls.front().first)),
                 qPrintable(uses.reading()));
        const auto token = b.log->tokenOfStep(last.step);
        const QString words = b.text.mid(token->text.begin, token->text.end - token->text.begin).simplified();
        QVERIFY2(words.isEmpty() || uses.reading().startsWith(u'“' + words), qPrintable(uses.reading()));
        QTest::mouseClick(&uses, Qt::LeftButton, {}, cell.center().toPoint());
        QCOMPARE(b.selection->token()->index, token->index);
        // An expert that the token did not call.
        int idle = 0;
        while (std::any_of(last.calls.begin(), last.calls.end(), [&](const auto& c) { return c.first == idle; })) {
            ++idle;
        }
        pointAt(uses.rectOf(last.number, idle));
        QVERIFY2(uses.reading().endsWith(QStringLiteral("not called")), qPrintable(uses.reading()));

        // Exported: numbers, and the same picture as from the command line.
        const int calls = counted[2] + counted[3] + counted[4];
        QCOMPARE(uses.csv().count(QStringLiteral("\r\n")), calls + 1);
        QCOMPARE(uses.csv().count(QStringLiteral(",copied")), counted[3]);
        const QTemporaryDir folder;
        QVERIFY(uses.saveSvg(folder.filePath(QStringLiteral("uses.svg"))));
        QFile file(folder.filePath(QStringLiteral("uses.svg")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString svg = QString::fromUtf8(file.readAll());
        QCOMPARE(svg.count(QStringLiteral("#1f5fa8")), counted[2] + 1);  // and the legend's
        QCOMPARE(svg.count(QStringLiteral("#c2410c")), counted[3] + 1);
        QCOMPARE(svg.count(QStringLiteral("#2f7d4f")), counted[4] + 1);
        takePicture(*b.cache, QStringLiteral("uses-narrow"));
        b.cache->resize(900, 900);
        takePicture(*b.cache, QStringLiteral("uses-wide"));

        // A long session shows only the latest steps.
        std::vector<ExpertUsePlot::Column> many;
        for (int i = 0; i < 2 * ExpertUsePlot::kMostColumns; ++i) {
            many.push_back({static_cast<StepId>(i), i, 1, false, {{0, engine::ExpertOutcome::kHit}}});
        }
        uses.setUses(QStringLiteral("model"), 0, 8, many);
        QCOMPARE(uses.columns().size(), static_cast<std::size_t>(ExpertUsePlot::kMostColumns));
        QCOMPARE(uses.columns().back().number, qint64(2 * ExpertUsePlot::kMostColumns - 1));
        QVERIFY(uses.rectOf(0, 0).right() < 0);  // out of sight until the view is moved
        QTest::keyClick(&uses, Qt::Key_Home);
        QVERIFY(uses.rectOf(uses.columns().front().number, 0).left() >= 0);
    }

    // ---------------------------------------------------------------- dispatch

    void dispatch_bars_areOfTheSelectedToken() {
        Bench b(onDevice());
        b.load();
        b.answer();
        QVERIFY(b.selection->selectToken(kMessage, 9));
        b.dispatch->setMeanOf(0);
        b.dispatch->setAmount(DispatchPanel::Amount::Time);
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
        b.dispatch->setAmount(DispatchPanel::Amount::Tokens);
        QCOMPARE(b.dispatch->bars().rows().size(), size_t(8));
        for (const auto& row : b.dispatch->bars().rows()) {
            QCOMPARE(row.parts[0].size + row.parts[1].size + row.parts[2].size, 2.0);
        }
        b.dispatch->setMeanOf(16);
        for (const auto& row : b.dispatch->bars().rows()) {
            QCOMPARE(row.parts[0].size + row.parts[1].size + row.parts[2].size, 2.0);
        }
    }

    // CORM's table 3, for the tokens of the bars.
    void dispatch_saysHowMuchComputingIsHidden() {
        Bench b(onDevice());
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
            const QString text = b.dispatch->hidden();
            return text.startsWith(QStringLiteral("Hidden: %1 of the computing behind loading, %2 of the loading")
                                       .arg(valueText(Unit::Share, times.hidden_computing()),
                                            valueText(Unit::Share, times.hidden_loading()))) &&
                   text.contains(QStringLiteral("both at once ") + valueText(Unit::Microseconds, times.overlap_us));
        };
        b.dispatch->setMeanOf(0);
        const LoggedStep* step = b.log->step(b.log->token(kMessage, 9)->step);
        QVERIFY(sumOf(*step).overlap_us > 0);
        QVERIFY2(says(sumOf(*step)), qPrintable(b.dispatch->hidden()));
        b.dispatch->setMeanOf(64);
        engine::LoadingTimes mean;
        int n = 0;
        for (auto each = b.log->steps().rbegin(); each != b.log->steps().rend() && n < 64; ++each) {
            if (!each->isPrompt()) {
                mean += sumOf(*each);
                ++n;
            }
        }
        QCOMPARE(n, 64);
        QVERIFY2(says(mean.times(1.0 / 64)), qPrintable(b.dispatch->hidden()));
        b.dispatch->setMeanOf(0);
        b.dispatch->explain(1, std::nullopt);
        QVERIFY2(b.dispatch->why().contains(QStringLiteral("Loading ")), qPrintable(b.dispatch->why()));
        b.dispatch->explain(1, Side::Copy);
        QVERIFY(!b.dispatch->why().contains(QStringLiteral("Loading ")));
        takePicture(*b.dispatch, QStringLiteral("dispatch-hidden"));

        Bench cpu(onCpu());
        cpu.load();
        cpu.answer();
        QVERIFY2(cpu.dispatch->hidden().contains(QStringLiteral("On the CPU alone")),
                 qPrintable(cpu.dispatch->hidden()));
    }

    void dispatch_timeline_hasOneBarPerLayerAndLane() {
        Bench b(onDevice());
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
        Bench b(onDevice());
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
                const QString why = b.dispatch->why();
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
        QVERIFY(!b.dispatch->why().contains(QStringLiteral("measured")));  // by an emulated device nothing is
        QVERIFY(whyText(*step, 0, std::nullopt).contains(QStringLiteral("measured")));
    }

    void dispatch_buttons_walkThroughTheAnswer() {
        Bench b(onDevice());
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
        Bench b(onCpu());
        b.load();
        b.answer();
        for (const auto& span : b.dispatch->timeline().spans()) {
            QVERIFY(span.lane == 0 && !span.predicted);
        }
        QVERIFY(!b.dispatch->timeline().spans().empty());
        b.dispatch->explain(0, std::nullopt);
        QVERIFY2(b.dispatch->why().contains(QStringLiteral("no accelerator")), qPrintable(b.dispatch->why()));
    }

    // ---------------------------------------------------------------- all

    void controls_haveNames() {
        Bench b(onDevice());
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
                Bench b(large(layers, experts, dense));
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
            Bench b(onDevice());
            b.load();
            b.answer();
            b.selection->selectToken(kMessage, 9);
            b.selection->selectExpert({2, 1});
            b.experts->setChannel(ExpertChannel::Residency);
            b.dispatch->explain(1, std::nullopt);
            b.cache->compareButton().click();
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
