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
#include "ui/window/main_window.h"

namespace offstage::ui {

namespace {

QWidget* makeExperts(const PanelParts& parts) {
    auto* panel = new ExpertsPanel(parts.engine);
    panel->setSelection(parts.selection);
    return panel;
}

}  // namespace

std::span<const PanelEntry> panelList() {
    using Place = PanelEntry::Place;
    static constexpr PanelEntry kPanels[] = {
        {"conversations", "conversations", Place::Left, 0, true, [] { return MainWindow::tr("Conversations"); },
         [] { return MainWindow::tr("Show or hide the conversations"); },
         [](const PanelParts& parts) -> QWidget* { return new ConversationList(parts.chat); }},
        {"experts", "experts", Place::Inspector, 0, true, [] { return MainWindow::tr("Experts"); },
         [] { return MainWindow::tr("Show or hide the expert heat map"); },
         [](const PanelParts& parts) -> QWidget* { return makeExperts(parts); }},
        {"cache", "cache", Place::Inspector, 1, false, [] { return MainWindow::tr("Cache"); },
         [] { return MainWindow::tr("Show or hide hit rates and copies"); },
         [](const PanelParts& parts) -> QWidget* { return new CachePanel(parts.engine, parts.selection); }},
        {"dispatch", "dispatch", Place::Below, 0, false, [] { return MainWindow::tr("Dispatch"); },
         [] { return MainWindow::tr("Show or hide what CPU, copies and GPU do in each layer"); },
         [](const PanelParts& parts) -> QWidget* { return new DispatchPanel(parts.engine, parts.selection); }},
        {"budget", "budget", Place::Inspector, 2, false, [] { return MainWindow::tr("Budget"); },
         [] { return MainWindow::tr("Show or hide the memory budgets"); },
         [](const PanelParts& parts) -> QWidget* { return new BudgetPanel(parts.engine); }},
        {"whatIf", "whatif", Place::Inspector, 3, false, [] { return MainWindow::tr("What if"); },
         [] { return MainWindow::tr("Show or hide forecasts for other hardware"); },
         [](const PanelParts& parts) -> QWidget* { return new WhatIfPanel(parts.engine); }},
        {"machines", "machines", Place::Inspector, 4, false, [] { return MainWindow::tr("Machines"); },
         [] { return MainWindow::tr("Show or hide other machines that compute experts"); },
         [](const PanelParts& parts) -> QWidget* { return new MachinesPanel(parts.engine, parts.machines); }},
        {"benchmark", "benchmark", Place::Inspector, 5, false, [] { return MainWindow::tr("Benchmark"); },
         [] { return MainWindow::tr("Show or hide what answers took"); },
         [](const PanelParts& parts) -> QWidget* { return new BenchmarkPanel(parts.engine); }},
        {"log", "log", Place::Inspector, 7, false, [] { return MainWindow::tr("Log"); },
         [] { return MainWindow::tr("Show or hide what happened"); },
         [](const PanelParts& parts) -> QWidget* { return new LogPanel(parts.log); }},
        {"sampling", "sampling", Place::Inspector, 6, false, [] { return MainWindow::tr("Sampling"); },
         [] { return MainWindow::tr("Show or hide system prompt and sampling"); },
         [](const PanelParts&) -> QWidget* { return new PanelArea(new SamplingPanel); }},
    };
    return kPanels;
}

}  // namespace offstage::ui
