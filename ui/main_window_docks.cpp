// MainWindow's docks: the panels, where they stand at first, and how they come back there.
#include <algorithm>
#include <string_view>

#include <QAction>
#include <QDockWidget>
#include <QMenu>
#include <QScrollArea>

#include "ui/history/conversation_list.h"
#include "ui/main_window.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/log_panel.h"
#include "ui/panels/what_if_panel.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/panel_action.h"

namespace offstage::ui {
namespace {

using namespace std::string_view_literals;

constexpr char kIcon[] = "icon";

}  // namespace

QString MainWindow::iconOf(const QDockWidget& dock) {
    return dock.property(kIcon).toString();
}

QDockWidget* MainWindow::dock(const QString& name) const {
    for (QDockWidget* dock : m_docks) {
        if (dock->objectName() == name + QStringLiteral("Dock")) {
            return dock;
        }
    }
    return nullptr;
}

// `icon`: empty for a panel that has no button in the tool bar.
QDockWidget* MainWindow::addDock(const QString& name, const QString& title, const QString& tip, QWidget* panel,
                                 const QString& icon) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(name + QStringLiteral("Dock"));
    dock->setWidget(panel);
    dock->setProperty(kIcon, icon);
    auto* action = new PanelAction(*dock);
    action->setToolTip(tip);
    action->setStatusTip(tip);
    connect(action, &PanelAction::frontRequested, this, [this, dock] { bringToFront(*dock); });
    connect(action, &PanelAction::hideRequested, dock, &QWidget::close);
    m_docks.append(dock);
    return dock;
}

void MainWindow::createDocks() {
    m_list = new ConversationList(m_chat);
    addDock(QStringLiteral("conversations"), tr("Conversations"), tr("Show or hide the conversations"), m_list,
            QStringLiteral("conversations"));
    m_experts = new ExpertsPanel(m_engine);
    m_experts->setSelection(m_selection);
    addDock(QStringLiteral("experts"), tr("Experts"), tr("Show or hide the expert heat map"), m_experts,
            QStringLiteral("experts"));
    addDock(QStringLiteral("cache"), tr("Cache"), tr("Show or hide hit rates and copies"),
            new CachePanel(m_engine, m_selection), QStringLiteral("cache"));
    addDock(QStringLiteral("dispatch"), tr("Dispatch"), tr("Show or hide what CPU, copies and GPU do in each layer"),
            new DispatchPanel(m_engine, m_selection), QStringLiteral("dispatch"));
    m_budget = new BudgetPanel(m_engine);
    addDock(QStringLiteral("budget"), tr("Budget"), tr("Show or hide the memory budgets"), m_budget,
            QStringLiteral("budget"));
    addDock(QStringLiteral("whatIf"), tr("What if"), tr("Show or hide forecasts for other hardware"),
            new WhatIfPanel(m_engine), QStringLiteral("whatif"));
    m_benchmark = new BenchmarkPanel(m_engine);
    addDock(QStringLiteral("benchmark"), tr("Benchmark"), tr("Show or hide what answers took"), m_benchmark,
            QStringLiteral("benchmark"));
    addDock(QStringLiteral("log"), tr("Log"), tr("Show or hide what happened"), new LogPanel(m_log),
            QStringLiteral("log"));
    m_sampling = new SamplingPanel;
    auto* scroll = new QScrollArea;
    scroll->setWidget(m_sampling);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(m_sampling->minimumSizeHint().width());
    addDock(QStringLiteral("sampling"), tr("Sampling"), tr("Show or hide system prompt and sampling"), scroll,
            QStringLiteral("sampling"));
    resetLayout();
}

// Conversations at the left, experts and what is set at the right, what runs over time below. Only the two that a first
// look needs are shown.
void MainWindow::resetLayout() {
    for (QDockWidget* each : m_docks) {
        each->setFloating(false);
        each->hide();
    }
    const auto at = [this](const char16_t* name) { return dock(QStringView(name).toString()); };
    addDockWidget(Qt::LeftDockWidgetArea, at(u"conversations"));
    for (const char16_t* name : {u"experts", u"budget", u"sampling"}) {
        addDockWidget(Qt::RightDockWidgetArea, at(name));
    }
    splitDockWidget(at(u"experts"), at(u"budget"), Qt::Vertical);
    tabifyDockWidget(at(u"budget"), at(u"sampling"));
    for (const char16_t* name : {u"dispatch", u"cache", u"whatIf", u"benchmark", u"log"}) {
        addDockWidget(Qt::BottomDockWidgetArea, at(name));
        if (name != u"dispatch"sv) {
            tabifyDockWidget(at(u"dispatch"), at(name));
        }
    }
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    at(u"conversations")->show();
    at(u"experts")->show();
    resizePanels();
}

// Counts only once the window has its size.
void MainWindow::resizePanels() {
    const int side = std::clamp(width() / 4, 300, 420);
    resizeDocks({dock(QStringLiteral("conversations")), dock(QStringLiteral("experts"))}, {side * 2 / 3, side},
                Qt::Horizontal);
    resizeDocks({dock(QStringLiteral("dispatch"))}, {height() * 2 / 5}, Qt::Vertical);
}

void MainWindow::showPanel(const QString& name) {
    if (QDockWidget* panel = dock(name)) {
        bringToFront(*panel);
    }
}

void MainWindow::bringToFront(QDockWidget& dock) {
    dock.show();
    dock.raise();
}

// At the right mouse button on a panel's title: what the View menu has.
QMenu* MainWindow::createPopupMenu() {
    auto* menu = new QMenu(this);
    for (QDockWidget* dock : m_docks) {
        menu->addAction(&PanelAction::of(*dock));
    }
    return menu;
}

}  // namespace offstage::ui
