// MainWindow's docks: the panels, where they stand at first, and how they come back there.
#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QMenu>
#include <QStyle>
#include <QTimer>

#include "ui/help/help_pages.h"
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
#include "ui/side_columns.h"
#include "ui/widgets/input_guard.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {
namespace {

constexpr char kIcon[] = "icon";
constexpr QSize kLeastWindow{560, 420};
// The inspector's panels, in the order of its tabs; dispatch, which is wide, stands below.
constexpr const char16_t* kInspector[] = {u"experts",   u"cache",    u"budget", u"whatIf",
                                          u"benchmark", u"sampling", u"log"};

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

QDockWidget* MainWindow::addDock(const QString& name, const QString& title, const QString& tip, QWidget* panel,
                                 const QString& icon) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(name + QStringLiteral("Dock"));
    dock->setWidget(panel);
    dock->setProperty(kIcon, icon);
    setHelpPage(*dock, name);
    auto* action = new PanelAction(*dock);
    action->setObjectName(QStringLiteral("panel.") + name);  // of its shortcut
    action->setToolTip(tip);
    action->setStatusTip(tip);
    connect(action, &PanelAction::frontRequested, this, [this, dock] { bringToFront(*dock); });
    connect(action, &PanelAction::hideRequested, dock, &QWidget::close);
    connect(dock, &QDockWidget::visibilityChanged, this, [this, dock](bool visible) {
        if (visible) {
            m_roomy.insert(dock);
        }
    });
    m_docks.append(dock);
    return dock;
}

void MainWindow::createDocks() {
    new InputGuard(*qApp, this);
    // Its own: else Qt would take the sum of what the panels need, and make the window larger with each that opens.
    setMinimumSize(kLeastWindow);
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
    addDock(QStringLiteral("sampling"), tr("Sampling"), tr("Show or hide system prompt and sampling"),
            new PanelArea(m_sampling), QStringLiteral("sampling"));
    m_columns = new SideColumns(*this, m_docks, this);
    connect(m_columns, &SideColumns::cameBack, this,
            [this] { QTimer::singleShot(0, this, &MainWindow::resizePanels); });
    resetLayout();
}

// Conversations at the left, one inspector at the right, what is wide below. Only the two that a first look needs are
// shown.
void MainWindow::resetLayout() {
    for (QDockWidget* each : m_docks) {
        each->setFloating(false);
        each->hide();
    }
    m_roomy.clear();
    const auto at = [this](const char16_t* name) { return dock(QStringView(name).toString()); };
    addDockWidget(Qt::LeftDockWidgetArea, at(u"conversations"));
    for (const char16_t* name : kInspector) {
        addDockWidget(Qt::RightDockWidgetArea, at(name));
        if (at(name) != at(kInspector[0])) {
            tabifyDockWidget(at(kInspector[0]), at(name));
        }
    }
    addDockWidget(Qt::BottomDockWidgetArea, at(u"dispatch"));
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    at(u"conversations")->show();
    at(u"experts")->show();
    if (isVisible()) {  // else it has no width yet
        m_columns->reset(width());
    }
    resizePanels();
}

// Counts only once the window has its size.
void MainWindow::resizePanels() {
    const int spare = std::max(0, width() - SideColumns::kConversationWidth);
    const int side = std::clamp(width() * 5 / 16, std::min(SideColumns::kInspectorWidth, spare), 480);
    const int list = std::clamp(width() / 6, SideColumns::kListWidth, 280);
    QList<QDockWidget*> shown;
    QList<int> widths;
    for (QDockWidget* each : m_docks) {
        const Qt::DockWidgetArea area = dockWidgetArea(each);
        if (!each->isHidden() && !each->isFloating() &&
            (area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea)) {
            shown << each;
            widths << (area == Qt::LeftDockWidgetArea ? list : side);
        }
    }
    resizeDocks(shown, widths, Qt::Horizontal);
}

void MainWindow::showPanel(const QString& name) {
    if (QDockWidget* panel = dock(name)) {
        bringToFront(*panel);
    }
}

void MainWindow::bringToFront(QDockWidget& dock) {
    const bool isNew = !m_roomy.contains(&dock);
    dock.show();
    dock.raise();
    m_columns->opened(dock);
    if (isNew && isVisible()) {
        giveRoom(dock);
    }
}

// What a panel needs to be read when it is opened for the first time; from then on its size is the person's. The
// conversation gives way.
void MainWindow::giveRoom(QDockWidget& dock) {
    m_roomy.insert(&dock);
    if (dock.isFloating()) {
        return;
    }
    if (m_columns->coversMiddle()) {
        return;  // all that there is
    }
    layout()->activate();  // sizes count for docks that have their places
    const Qt::DockWidgetArea area = dockWidgetArea(&dock);
    if (area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea) {
        const auto* content = dock.findChild<PanelArea*>();
        const int frame = 2 * style()->pixelMetric(QStyle::PM_DockWidgetFrameWidth, nullptr, &dock);
        const int wanted =
            std::max(dock.sizeHint().width(), content != nullptr ? content->sizeHint().width() + frame : 0);
        const int spare = std::max(0, centralWidget()->width() - SideColumns::kConversationWidth);
        if (wanted > dock.width() && spare > 0) {
            resizeDocks({&dock}, {std::min(wanted, dock.width() + spare)}, Qt::Horizontal);
        }
        return;
    }
    const bool alone = std::none_of(m_roomy.begin(), m_roomy.end(), [&](QDockWidget* other) {
        return other != &dock && dockWidgetArea(other) == area && !other->isFloating();
    });
    if (alone) {
        resizeDocks({&dock}, {height() * 2 / 5}, Qt::Vertical);
    }
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
