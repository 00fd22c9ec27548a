#include "ui/window/side_columns.h"

#include <algorithm>
#include <utility>

#include <QDockWidget>
#include <QMainWindow>
#include <QScopedValueRollback>

namespace offstage::ui {

namespace {

constexpr int kLeastInspector = 320;
constexpr int kLeastWithDockBelow = 560;  // of the window's height

}  // namespace

SideColumns::SideColumns(QMainWindow& window, const QList<QDockWidget*>& docks, const QWidget& rail, QObject* parent)
    : QObject(parent), m_window(window), m_rail(rail), m_docks(docks) {
    for (QDockWidget* dock : m_docks) {
        connect(dock, &QDockWidget::visibilityChanged, this, &SideColumns::cover);
        connect(dock, &QDockWidget::topLevelChanged, this, &SideColumns::cover);
        connect(dock, &QDockWidget::dockLocationChanged, this, &SideColumns::cover);
    }
}

QList<QDockWidget*> SideColumns::shownAt(Qt::DockWidgetArea area) const {
    QList<QDockWidget*> shown;
    for (QDockWidget* dock : m_docks) {
        if (!dock->isHidden() && !dock->isFloating() && m_window.dockWidgetArea(dock) == area) {
            shown.append(dock);
        }
    }
    return shown;
}

int SideColumns::inspectorWidth() const {
    int width = kLeastInspector;
    for (QDockWidget* dock : m_docks) {
        if (!dock->isFloating() && m_window.dockWidgetArea(dock) == Qt::RightDockWidgetArea) {
            width = std::max(width, dock->minimumSizeHint().width());
        }
    }
    return width;
}

SideColumns::Room SideColumns::roomOf(int width) const {
    const int two = kConversationWidth + inspectorWidth() + m_rail.sizeHint().width();
    return width < two ? Room::One : width < two + kListWidth ? Room::Two : Room::Three;
}

void SideColumns::fit(const QSize& window) {
    const Room before = std::exchange(m_room, roomOf(window.width()));
    const bool wasLow = std::exchange(m_low, window.height() < kLeastWithDockBelow);
    if (m_room == before && m_low == wasLow) {
        return;
    }
    {
        const QScopedValueRollback<bool> arranging(m_arranging, true);
        if (m_room < before && m_room == Room::One) {
            giveWay(shown());
        } else if (m_room < before && !shownAt(Qt::RightDockWidgetArea).isEmpty()) {
            giveWay(shownAt(Qt::LeftDockWidgetArea));
        }
        if (m_low && !wasLow) {
            giveWay(shownAt(Qt::BottomDockWidgetArea));
        }
        if (m_room > before || (wasLow && !m_low)) {
            takeBack();
        }
    }
    cover();
    Q_EMIT roomChanged(m_room != before);
}

void SideColumns::giveWay(const QList<QDockWidget*>& docks) {
    for (QDockWidget* dock : docks) {
        dock->hide();
        if (!m_gaveWay.contains(dock)) {
            m_gaveWay.append(dock);
        }
    }
}

void SideColumns::takeBack() {
    QList<QDockWidget*> back;
    const auto isBelow = [this](QDockWidget* dock) {
        return m_window.dockWidgetArea(dock) == Qt::BottomDockWidgetArea;
    };
    for (const auto area : {Qt::RightDockWidgetArea, Qt::LeftDockWidgetArea, Qt::BottomDockWidgetArea}) {
        // The user may have opened another one meanwhile; and with room for two columns
        // one may be open already.
        const bool hasRoom = area == Qt::BottomDockWidgetArea ? !m_low
                             : m_room == Room::Two            ? (shown() + back).isEmpty()
                                                              : m_room == Room::Three;
        if (!shownAt(area).isEmpty() || !hasRoom) {
            continue;
        }
        for (QDockWidget* dock : std::as_const(m_gaveWay)) {
            if (!dock->isFloating() && m_window.dockWidgetArea(dock) == area) {
                back.append(dock);
            }
        }
    }
    for (QDockWidget* dock : std::as_const(back)) {
        m_gaveWay.removeAll(dock);
        dock->show();
    }
    m_gaveWay.removeIf([&](QDockWidget* dock) { return isBelow(dock) ? !m_low : m_room == Room::Three; });
}

void SideColumns::opened(QDockWidget& dock) {
    m_gaveWay.removeAll(&dock);
    const Qt::DockWidgetArea area = m_window.dockWidgetArea(&dock);
    const bool isSide = area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea;
    if (dock.isFloating() || !(isSide || m_low)) {
        return;
    }
    {
        const QScopedValueRollback<bool> arranging(m_arranging, true);
        for (QDockWidget* other : shown() + (m_low ? shownAt(Qt::BottomDockWidgetArea) : QList<QDockWidget*>())) {
            const bool sameSide = m_window.dockWidgetArea(other) == area;
            if (other != &dock && sameSide && area == Qt::RightDockWidgetArea) {
                other->hide();
            } else if (other != &dock && !sameSide && m_room != Room::Three) {
                giveWay({other});
            }
        }
    }
    cover();
}

void SideColumns::showMiddle() {
    for (QDockWidget* dock : covering()) {
        dock->hide();
    }
    cover();
}

QList<QDockWidget*> SideColumns::covering() const {
    return (m_room == Room::One ? shown() : QList<QDockWidget*>()) +
           (m_low ? shownAt(Qt::BottomDockWidgetArea) : QList<QDockWidget*>());
}

void SideColumns::bringBack() {
    m_room = Room::Three;
    m_low = false;
    takeBack();
}

void SideColumns::reset(const QSize& window) {
    m_gaveWay.clear();
    m_room = Room::Three;
    m_low = false;
    fit(window);
    cover();
}

void SideColumns::cover() {
    if (!m_arranging && m_window.centralWidget() != nullptr) {
        m_window.centralWidget()->setVisible(!coversMiddle());
    }
}

}  // namespace offstage::ui
