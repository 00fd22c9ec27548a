#include "ui/window/panel_list.h"

#include "ui/chat/conversation_list.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/log_panel.h"
#include "ui/panels/machines_panel.h"
#include "ui/panels/what_if_panel.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/panel_area.h"
#include "ui/window/core.h"
#include "ui/window/panel_docks.h"

namespace offstage::ui {

namespace {

QWidget* makeExperts(Core& core) {
    auto* panel = new ExpertsPanel(core.engine);
    panel->setSelection(core.selection);
    return panel;
}

}  // namespace

std::span<const PanelEntry> panelList() {
    using Place = PanelEntry::Place;
    static constexpr PanelEntry kPanels[] = {
        {"conversations", "conversations", Place::Left, true, [] { return PanelDocks::tr("Conversations"); },
         [] { return PanelDocks::tr("Show or hide the conversations"); },
         [](Core& core) -> QWidget* { return new ConversationList(core.chat); }},
        {"experts", "experts", Place::Inspector, false, [] { return PanelDocks::tr("Experts"); },
         [] { return PanelDocks::tr("Show or hide the expert heat map"); },
         [](Core& core) -> QWidget* { return makeExperts(core); }},
        {"cache", "cache", Place::Inspector, false, [] { return PanelDocks::tr("Cache"); },
         [] { return PanelDocks::tr("Show or hide hit rates and copies"); },
         [](Core& core) -> QWidget* { return new CachePanel(core.engine, core.selection); }},
        {"budget", "budget", Place::Inspector, false, [] { return PanelDocks::tr("Budget"); },
         [] { return PanelDocks::tr("Show or hide the memory budgets"); },
         [](Core& core) -> QWidget* { return new BudgetPanel(core.engine); }},
        {"whatIf", "whatif", Place::Inspector, false, [] { return PanelDocks::tr("What if"); },
         [] { return PanelDocks::tr("Show or hide forecasts for other hardware"); },
         [](Core& core) -> QWidget* { return new WhatIfPanel(core.engine); }},
        {"machines", "machines", Place::Inspector, false, [] { return PanelDocks::tr("Machines"); },
         [] { return PanelDocks::tr("Show or hide other machines that compute experts"); },
         [](Core& core) -> QWidget* { return new MachinesPanel(core.engine, core.machines); }},
        {"benchmark", "benchmark", Place::Inspector, false, [] { return PanelDocks::tr("Benchmark"); },
         [] { return PanelDocks::tr("Show or hide what answers took"); },
         [](Core& core) -> QWidget* { return new BenchmarkPanel(core.engine); }},
        {"sampling", "sampling", Place::Inspector, false, [] { return PanelDocks::tr("Instructions and sampling"); },
         [] { return PanelDocks::tr("Show or hide instructions (system prompt) and sampling"); },
         [](Core&) -> QWidget* { return new PanelArea(new SamplingPanel); }},
        {"log", "log", Place::Inspector, false, [] { return PanelDocks::tr("Log"); },
         [] { return PanelDocks::tr("Show or hide what happened"); },
         [](Core& core) -> QWidget* { return new LogPanel(core.log); }},
        {"dispatch", "dispatch", Place::Below, false, [] { return PanelDocks::tr("Dispatch"); },
         [] { return PanelDocks::tr("Show or hide what CPU, copies and GPU do in each layer"); },
         [](Core& core) -> QWidget* { return new DispatchPanel(core.engine, core.selection); }},
    };
    return kPanels;
}

}  // namespace offstage::ui
