// MainWindow's docks: the panels, where they stand at first, and how they come back there.
#include <QAction>
#include <QDockWidget>
#include <QScrollArea>

#include "ui/main_window.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/settings/sampling_panel.h"

namespace offstage::ui {
namespace {

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
    dock->toggleViewAction()->setToolTip(tip);
    dock->toggleViewAction()->setStatusTip(tip);
    m_docks.append(dock);
    return dock;
}

void MainWindow::createDocks() {
    m_experts = new ExpertsPanel(m_engine);
    addDock(QStringLiteral("experts"), tr("Experts"), tr("Show or hide the expert heat map"), m_experts,
            QStringLiteral("experts"));
    m_budget = new BudgetPanel(m_engine);
    addDock(QStringLiteral("budget"), tr("Budget"), tr("Show or hide the memory budgets"), m_budget,
            QStringLiteral("budget"));
    m_sampling = new SamplingPanel;
    auto* scroll = new QScrollArea;
    scroll->setWidget(m_sampling);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(m_sampling->minimumSizeHint().width());
    addDock(QStringLiteral("sampling"), tr("Sampling"), tr("Show or hide the sampler's settings"), scroll,
            QStringLiteral("sampling"));
    resetLayout();
}

void MainWindow::resetLayout() {
    for (QDockWidget* each : m_docks) {
        each->setFloating(false);
        each->hide();
    }
    const auto at = [this](const char16_t* name) { return dock(QStringView(name).toString()); };
    QDockWidget* experts = at(u"experts");
    for (const char16_t* name : {u"experts", u"budget", u"sampling"}) {
        addDockWidget(Qt::RightDockWidgetArea, at(name));
    }
    splitDockWidget(experts, at(u"budget"), Qt::Vertical);
    tabifyDockWidget(at(u"budget"), at(u"sampling"));
    experts->show();
    resizeDocks({experts}, {360}, Qt::Horizontal);
}

}  // namespace offstage::ui
