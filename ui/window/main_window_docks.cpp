// MainWindow's docks: the panels, their first places, and how they return there.
#include <algorithm>
#include <map>

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QEvent>
#include <QMenu>
#include <QStyle>
#include <QTimer>

#include "ui/chat/conversation_list.h"
#include "ui/help/help_pages.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/input_guard.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_area.h"
#include "ui/window/main_window.h"
#include "ui/window/panel_list.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {
namespace {

constexpr char kIcon[] = "icon";
constexpr QSize kLeastWindow{560, 420};

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

void MainWindow::addDock(const PanelEntry& entry, QWidget* panel) {
    const QString name = QString::fromLatin1(entry.name);
    auto* dock = new QDockWidget(entry.title(), this);
    dock->setObjectName(name + QStringLiteral("Dock"));
    dock->setWidget(panel);
    dock->setProperty(kIcon, QString::fromLatin1(entry.icon));
    setHelpPage(*dock, helpPageOfPanel(name));
    auto* action = new PanelAction(*dock);
    action->setObjectName(QStringLiteral("panel.") + name);  // of its shortcut
    action->setToolTip(entry.tip());
    action->setStatusTip(entry.tip());
    connect(action, &PanelAction::frontRequested, this, [this, dock] { bringToFront(*dock); });
    connect(action, &PanelAction::hideRequested, dock, &QWidget::close);
    connect(dock, &QDockWidget::visibilityChanged, this, [this, dock](bool visible) {
        if (visible) {
            m_roomy.insert(dock);
        }
    });
    dock->installEventFilter(this);
    m_docks.append(dock);
}

// Docks at the left are opened from the left; all others have a tab, or a place in the
// menu of panels.
QList<QDockWidget*> MainWindow::tabbedDocks() const {
    QList<QDockWidget*> docks;
    for (const PanelEntry& entry : panelList()) {
        if (entry.place != PanelEntry::Place::Left) {
            docks.append(dock(QString::fromLatin1(entry.name)));
        }
    }
    return docks;
}

void MainWindow::createDocks() {
    new InputGuard(*qApp, this);
    // Set explicitly: otherwise Qt would take the sum of the panels' minimums, and
    // enlarge the window with each that opens.
    setMinimumSize(kLeastWindow);
    const PanelParts parts{m_chat, m_engine, m_log, m_machines, m_selection};
    for (const PanelEntry& entry : panelList()) {
        addDock(entry, entry.make(parts));
    }
    m_list = findChild<ConversationList*>();
    m_experts = findChild<ExpertsPanel*>();
    m_budget = findChild<BudgetPanel*>();
    m_benchmark = findChild<BenchmarkPanel*>();
    m_sampling = findChild<SamplingPanel*>();
    m_settles = new QTimer(this);
    m_settles->setSingleShot(true);
    m_settles->setInterval(0);
    connect(m_settles, &QTimer::timeout, this, &MainWindow::keepLowerHeight);
    m_columns = new SideColumns(*this, m_docks, this);
    connect(m_columns, &SideColumns::cameBack, this,
            [this] { QTimer::singleShot(0, this, &MainWindow::resizePanels); });
    resetLayout();
}

// Conversations at the left, one inspector at the right, wide panels below. Only the two
// most important ones are shown.
void MainWindow::resetLayout() {
    for (QDockWidget* each : m_docks) {
        each->setFloating(false);
        each->hide();
    }
    m_roomy.clear();
    m_lowerHeight = 0;
    std::map<int, QDockWidget*> inspector;  // by the place of its tab
    for (const PanelEntry& entry : panelList()) {
        QDockWidget* each = dock(QString::fromLatin1(entry.name));
        switch (entry.place) {
            case PanelEntry::Place::Left:
                addDockWidget(Qt::LeftDockWidgetArea, each);
                break;
            case PanelEntry::Place::Below:
                addDockWidget(Qt::BottomDockWidgetArea, each);
                break;
            case PanelEntry::Place::Inspector:
                inspector.emplace(entry.tab, each);
                break;
        }
    }
    for (const auto& [tab, each] : inspector) {
        addDockWidget(Qt::RightDockWidgetArea, each);
        if (each != inspector.begin()->second) {
            tabifyDockWidget(inspector.begin()->second, each);
        }
    }
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    for (const PanelEntry& entry : panelList()) {
        if (entry.shownAtFirst) {
            dock(QString::fromLatin1(entry.name))->show();
        }
    }
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

// Gives a panel enough room to be readable when it is opened for the first time; later
// its size is the user's. The conversation shrinks.
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

// Records the height of a dock below that the user chose, or its first one; when a low
// window reduces it, it is restored as the window grows.
bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
    auto* dock = qobject_cast<QDockWidget*>(watched);
    if (dock != nullptr && event->type() == QEvent::Resize && height() == m_laidOutHeight && !dock->isFloating() &&
        dockWidgetArea(dock) == Qt::BottomDockWidgetArea && dock->isVisible()) {
        m_lowerHeight = dock->height();
    }
    return QMainWindow::eventFilter(watched, event);
}

void MainWindow::keepLowerHeight() {
    for (QDockWidget* dock : m_docks) {
        const bool isBelow =
            dock->isVisible() && !dock->isFloating() && dockWidgetArea(dock) == Qt::BottomDockWidgetArea;
        if (isBelow && dock->height() < m_lowerHeight) {
            resizeDocks({dock}, {m_lowerHeight}, Qt::Vertical);
            break;  // its neighbours have the same height
        }
    }
    // The docks are laid out in the next turn.
    QTimer::singleShot(0, this, [this] { m_laidOutHeight = m_settles->isActive() ? 0 : height(); });
}

// The View menu's entries, for a right click on a panel's title.
QMenu* MainWindow::createPopupMenu() {
    auto* menu = new QMenu(this);
    for (QDockWidget* dock : m_docks) {
        menu->addAction(&PanelAction::of(*dock));
    }
    return menu;
}

}  // namespace offstage::ui
