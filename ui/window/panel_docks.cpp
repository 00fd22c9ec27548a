#include "ui/window/panel_docks.h"

#include <algorithm>
#include <utility>

#include <QApplication>
#include <QDockWidget>
#include <QResizeEvent>
#include <QSettings>
#include <QTabBar>

#include "ui/base/delay.h"
#include "ui/base/icons.h"
#include "ui/base/settings.h"
#include "ui/help/help_pages.h"
#include "ui/panels/budget_panel.h"
#include "ui/widgets/input_guard.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_rail.h"
#include "ui/window/core.h"
#include "ui/window/panel_list.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {
namespace {

// Of the saved layout: an older one had no inspector, and is not restored.
constexpr int kLayoutVersion = 2;
constexpr QSize kLeastWindow{560, 420};
constexpr int kHeightBelow = 404;         // of a panel below: the timeline, eight layers and why, without a scroll
constexpr int kConversationHeight = 364;  // what it leaves the rest of the window

}  // namespace

PanelDocks::PanelDocks(QMainWindow& window, Core& core)
    : QObject(&window), m_window(window), m_rail(new PanelRail(tr("Panels"), &window)) {
    new InputGuard(*qApp, &window);
    // Set explicitly: otherwise Qt would take the sum of the panels' minimums, and
    // enlarge the window with each that opens.
    window.setMinimumSize(kLeastWindow);
    window.setDockNestingEnabled(true);
    for (const PanelEntry& entry : panelList()) {
        add(entry, entry.make(core));
    }
    callAfter(m_settles, 0, this, &PanelDocks::settle);
    m_columns = new SideColumns(window, m_docks, *m_rail, this);
    connect(m_columns, &SideColumns::roomChanged, this, [this](bool alsoInWidth) {
        QTimer::singleShot(0, this, [this, alsoInWidth] { resizeColumns(alsoInWidth); });
    });
    reset();
    connect(&panel<BudgetPanel>(), &BudgetPanel::expertsRequested, this, [this] { show(QStringLiteral("experts")); });
    m_rail->setObjectName(QStringLiteral("panelRail"));
    for (const PanelEntry& entry : panelList()) {
        QAction& action = PanelAction::of(*dock(QString::fromLatin1(entry.name)));
        if (entry.place == PanelEntry::Place::Inspector) {
            m_rail->addTab(action);
        } else if (entry.place == PanelEntry::Place::Below) {
            m_rail->addDock(action);
        }
    }
    window.addToolBar(Qt::RightToolBarArea, m_rail);
    connect(m_columns, &SideColumns::roomChanged, m_rail,
            [this] { m_rail->setVisible(m_columns->room() != SideColumns::Room::One); });
    window.installEventFilter(this);
}

QDockWidget* PanelDocks::dock(const QString& name) const {
    return m_window.findChild<QDockWidget*>(name + QStringLiteral("Dock"));
}

void PanelDocks::add(const PanelEntry& entry, QWidget* panel) {
    const QString name = QString::fromLatin1(entry.name);
    auto* dock = new QDockWidget(entry.title(), &m_window);
    dock->setObjectName(name + QStringLiteral("Dock"));
    dock->setWidget(panel);
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
    if (entry.place != PanelEntry::Place::Left) {  // Alt+1 and on, as the tabs are
        action->setShortcut(QKeySequence(Qt::ALT | static_cast<Qt::Key>(Qt::Key_1 + m_nTabs++)));
    }
    dock->installEventFilter(this);
    m_docks.append(dock);
}

QList<QDockWidget*> PanelDocks::tabbed() const {
    QList<QDockWidget*> docks;
    for (const PanelEntry& entry : panelList()) {
        if (entry.place != PanelEntry::Place::Left) {
            docks.append(dock(QString::fromLatin1(entry.name)));
        }
    }
    return docks;
}

void PanelDocks::refreshIcons() {
    for (const PanelEntry& entry : panelList()) {
        PanelAction::of(*dock(QString::fromLatin1(entry.name)))
            .setIcon(themedIcon(QString::fromLatin1(entry.icon), m_window.palette()));
    }
}

void PanelDocks::restore() {
    m_hasLayout = m_window.restoreState(settings::kWindowState.value(), kLayoutVersion);
    m_listWidth = settings::kListWidth.value();
    m_inspectorWidth = settings::kInspectorWidth.value();
    m_columns->fit(m_window.size());
    m_rail->setVisible(m_columns->room() != SideColumns::Room::One);
}

void PanelDocks::save(QSettings& settings) {
    m_columns->bringBack();
    settings::kWindowState.set(settings, m_window.saveState(kLayoutVersion));
    settings::kListWidth.set(settings, m_listWidth);
    settings::kInspectorWidth.set(settings, m_inspectorWidth);
}

// Conversations at the left, one inspector at the right, wide panels below. Only the
// conversations are shown.
void PanelDocks::reset() {
    for (QDockWidget* each : m_docks) {
        each->setFloating(false);
        each->hide();
    }
    m_roomy.clear();
    m_lowerHeight = m_listWidth = m_inspectorWidth = 0;
    QDockWidget* firstTab = nullptr;
    for (const PanelEntry& entry : panelList()) {
        QDockWidget* each = dock(QString::fromLatin1(entry.name));
        switch (entry.place) {
            case PanelEntry::Place::Left:
                m_window.addDockWidget(Qt::LeftDockWidgetArea, each);
                break;
            case PanelEntry::Place::Below:
                m_window.addDockWidget(Qt::BottomDockWidgetArea, each);
                break;
            case PanelEntry::Place::Inspector:
                m_window.addDockWidget(Qt::RightDockWidgetArea, each);
                if (firstTab == nullptr) {
                    firstTab = each;
                } else {
                    m_window.tabifyDockWidget(firstTab, each);
                }
                break;
        }
    }
    m_window.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    m_window.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    for (const PanelEntry& entry : panelList()) {
        if (entry.shownAtFirst) {
            dock(QString::fromLatin1(entry.name))->show();
        }
    }
    if (m_window.isVisible()) {  // else it has no width yet
        m_columns->reset(m_window.size());
    }
    resizeColumns(true);
}

QList<QDockWidget*> PanelDocks::sideDocks() const {
    QList<QDockWidget*> docks;
    for (QDockWidget* each : m_docks) {
        const Qt::DockWidgetArea area = m_window.dockWidgetArea(each);
        const bool isSide = area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea;
        if (isSide && !each->isHidden() && !each->isFloating()) {
            docks << each;
        }
    }
    return docks;
}

QList<QDockWidget*> PanelDocks::column(Qt::DockWidgetArea area) const {
    QList<QDockWidget*> docks;
    for (QDockWidget* each : sideDocks()) {
        const bool isInSight = each->geometry().right() >= 0;  // not behind another tab
        if (!isInSight || m_window.dockWidgetArea(each) != area) {
            continue;
        }
        if (!docks.isEmpty() && docks.front()->x() != each->x()) {
            return {};
        }
        docks << each;
    }
    return docks;
}

int PanelDocks::wantedWidth(Qt::DockWidgetArea area) const {
    const int width = m_window.width();
    if (area == Qt::LeftDockWidgetArea) {
        return m_listWidth > 0 ? m_listWidth : std::clamp(width / 6, SideColumns::kListWidth, 280);
    }
    const int spare = std::max(0, width - SideColumns::kConversationWidth);
    return m_inspectorWidth > 0 ? m_inspectorWidth
                                : std::max(std::min(width * 5 / 16, 480), std::min(m_columns->inspectorWidth(), spare));
}

// Counts only once the window has its size.
void PanelDocks::resizeColumns(bool narrows) {
    if (!m_window.isVisible()) {
        return;
    }
    m_window.layout()->activate();
    const Qt::DockWidgetArea areas[] = {Qt::RightDockWidgetArea, Qt::LeftDockWidgetArea};
    int wanted[2] = {};
    int spare = m_window.centralWidget()->width() - SideColumns::kConversationWidth;  // negative: it is short of that
    for (int i = 0; i < 2; ++i) {
        if (const auto docks = column(areas[i]); !docks.isEmpty()) {
            const int now = docks.front()->width();
            wanted[i] = narrows ? wantedWidth(areas[i]) : std::max(now, wantedWidth(areas[i]));
            spare -= wanted[i] - now;
        }
    }
    // A width that the user did not choose may be that of a larger window.
    int comfort = spare + SideColumns::kConversationWidth - SideColumns::kReadableWidth;
    for (const int i : {1, 0}) {
        const bool isChosen = (i == 0 ? m_inspectorWidth : m_listWidth) > 0;
        const int least = i == 0 ? m_columns->inspectorWidth() : SideColumns::kListWidth;
        const int less = isChosen ? 0 : std::clamp(-comfort, 0, std::max(0, wanted[i] - least));
        wanted[i] -= less;
        comfort += less;
        spare += less;
    }
    QList<QDockWidget*> docks;
    QList<int> widths;
    bool differs = false;
    for (int i = 0; i < 2; ++i) {  // the inspector gives way first
        int least = 0;
        for (QDockWidget* each : column(areas[i])) {
            least = std::max(least, each->minimumSizeHint().width());
        }
        const int less = std::clamp(-spare, 0, std::max(0, wanted[i] - least));
        spare += less;
        for (QDockWidget* each : column(areas[i])) {
            docks << each;
            widths << wanted[i] - less;
            differs = differs || widths.back() != each->width();
        }
    }
    if (differs && !m_columns->coversMiddle()) {
        m_window.resizeDocks(docks, widths, Qt::Horizontal);
    }
}

// The mouse was pressed between docks: the conversation alone gives way to a wider column,
// not the one at the window's other side.
void PanelDocks::beginDrag(int x) {
    const bool isLeft = x < m_window.centralWidget()->geometry().center().x();
    for (QDockWidget* each : sideDocks()) {
        m_widthsBefore.insert(each, each->width());
        const bool isAcross = (m_window.dockWidgetArea(each) == Qt::LeftDockWidgetArea) != isLeft;
        if (isAcross && !m_columns->coversMiddle()) {
            each->setMinimumWidth(each->width());
        }
    }
}

// The mouse was released: what changed since it was pressed is the user's.
void PanelDocks::keepWidths() {
    for (QDockWidget* each : std::as_const(m_docks)) {
        each->setMinimumWidth(0);
    }
    for (QDockWidget* each : column(Qt::LeftDockWidgetArea) + column(Qt::RightDockWidgetArea)) {
        if (m_widthsBefore.value(each, each->width()) != each->width()) {
            const bool isList = m_window.dockWidgetArea(each) == Qt::LeftDockWidgetArea;
            (isList ? m_listWidth : m_inspectorWidth) = each->width();
        }
    }
    m_widthsBefore.clear();
}

void PanelDocks::show(const QString& name) {
    if (QDockWidget* panel = dock(name)) {
        bringToFront(*panel);
    }
}

void PanelDocks::bringToFront(QDockWidget& dock) {
    const bool isNew = !m_roomy.contains(&dock);
    dock.show();
    dock.raise();
    m_columns->opened(dock);
    if (isNew && m_window.isVisible()) {
        giveRoom(dock);
    }
}

// Gives a panel enough room to be readable when it is opened for the first time; later
// its size is the user's. The conversation shrinks.
void PanelDocks::giveRoom(QDockWidget& dock) {
    m_roomy.insert(&dock);
    if (dock.isFloating() || m_columns->coversMiddle()) {  // it has all that there is
        return;
    }
    m_window.layout()->activate();  // sizes count for docks that have their places
    const Qt::DockWidgetArea area = m_window.dockWidgetArea(&dock);
    if (area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea) {
        const int wanted = std::max({m_inspectorWidth, dock.sizeHint().width(), dock.minimumSizeHint().width()});
        const int spare = std::max(0, m_window.centralWidget()->width() - SideColumns::kConversationWidth);
        if (wanted > dock.width() && spare > 0) {
            const QList<QDockWidget*> docks = sideDocks();  // otherwise the others would give way, too
            QList<int> widths;
            for (QDockWidget* each : docks) {
                widths << (each == &dock ? std::min(wanted, dock.width() + spare) : each->width());
            }
            m_window.resizeDocks(docks, widths, Qt::Horizontal);
        }
        return;
    }
    const bool alone = std::none_of(m_roomy.begin(), m_roomy.end(), [&](QDockWidget* other) {
        return other != &dock && m_window.dockWidgetArea(other) == area && !other->isFloating();
    });
    if (alone) {
        const int height = m_window.height();
        const int whole = std::min(kHeightBelow, height - kConversationHeight);
        m_window.resizeDocks({&dock}, {std::max(height / 2, whole)}, Qt::Vertical);
    }
}

// Follows the window's size. Records the height of a dock below that the user chose, or
// its first one; when a low window reduces it, it is restored as the window grows.
bool PanelDocks::eventFilter(QObject* watched, QEvent* event) {
    if (watched == &m_window && event->type() == QEvent::Resize) {
        m_columns->fit(static_cast<QResizeEvent*>(event)->size());
        m_laidOutHeight = 0;
        m_settles.start();
    } else if (watched == &m_window && event->type() == QEvent::Show && !m_wasShown) {
        m_wasShown = true;
        // A layout that was kept in a narrow window has columns as narrow.
        QTimer::singleShot(0, this, [this, narrows = !m_hasLayout] { resizeColumns(narrows); });
    } else if (watched == &m_window && event->type() == QEvent::MouseButtonPress) {
        beginDrag(static_cast<QMouseEvent*>(event)->position().toPoint().x());
    } else if (watched == &m_window && event->type() == QEvent::MouseButtonRelease) {
        QTimer::singleShot(0, this, &PanelDocks::keepWidths);  // the last move is made in the next turn
    }
    if (watched == &m_window && event->type() == QEvent::ChildPolished) {
        // The docks' own tab bars lie out of sight: the rail has the tabs.
        if (auto* bar = qobject_cast<QTabBar*>(static_cast<QChildEvent*>(event)->child())) {
            bar->setFocusPolicy(Qt::NoFocus);
        }
    }
    auto* dock = qobject_cast<QDockWidget*>(watched);
    if (dock != nullptr && (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Show)) {
        const int before = std::exchange(m_neededWidth, m_columns->inspectorWidth());
        if (m_neededWidth != before && m_window.isVisible()) {
            QTimer::singleShot(0, this, [this] { m_columns->fit(m_window.size()); });
        }
    }
    if (dock != nullptr && event->type() == QEvent::Hide && dock->isAncestorOf(QApplication::focusWidget())) {
        m_window.centralWidget()->setFocus();  // not on the next button, which Space would press
    }
    if (dock != nullptr && event->type() == QEvent::Resize && m_window.height() == m_laidOutHeight &&
        !dock->isFloating() && m_window.dockWidgetArea(dock) == Qt::BottomDockWidgetArea && dock->isVisible()) {
        m_lowerHeight = dock->height();
    }
    return QObject::eventFilter(watched, event);
}

void PanelDocks::settle() {
    resizeColumns(false);  // wide again, where a narrow window had squeezed them
    for (QDockWidget* dock : m_docks) {
        const bool isBelow =
            dock->isVisible() && !dock->isFloating() && m_window.dockWidgetArea(dock) == Qt::BottomDockWidgetArea;
        if (isBelow && dock->height() < m_lowerHeight) {
            m_window.resizeDocks({dock}, {m_lowerHeight}, Qt::Vertical);
            break;  // its neighbours have the same height
        }
    }
    // The docks are laid out in the next turn.
    QTimer::singleShot(0, this, [this] { m_laidOutHeight = m_settles.isActive() ? 0 : m_window.height(); });
}

}  // namespace offstage::ui
