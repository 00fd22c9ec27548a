#include "ui/window/side_columns.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QScopedValueRollback>

namespace offstage::ui {

namespace {

constexpr int kRailWidth = 80;  // about: the inspector's tabs
constexpr int kTwoColumns = SideColumns::kConversationWidth + SideColumns::kInspectorWidth + kRailWidth;
constexpr int kThreeColumns = kTwoColumns + SideColumns::kListWidth;

SideColumns::Room roomOf(int width) {
    return width < kTwoColumns     ? SideColumns::Room::One
           : width < kThreeColumns ? SideColumns::Room::Two
                                   : SideColumns::Room::Three;
}

}  // namespace

SideColumns::SideColumns(QMainWindow& window, const QList<QDockWidget*>& docks, QObject* parent)
    : QObject(parent), m_window(window), m_docks(docks) {
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

void SideColumns::fit(int width) {
    const Room room = roomOf(width);
    if (room == m_room) {
        return;
    }
    const bool grows = room > m_room;
    m_room = room;
    {
        const QScopedValueRollback<bool> arranging(m_arranging, true);
        if (grows) {
            takeBack();
        } else if (m_room == Room::One) {
            giveWay(shown());
        } else if (!shownAt(Qt::RightDockWidgetArea).isEmpty()) {
            giveWay(shownAt(Qt::LeftDockWidgetArea));
        }
    }
    cover();
    Q_EMIT roomChanged();
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
    for (const auto area : {Qt::RightDockWidgetArea, Qt::LeftDockWidgetArea}) {
        // The user may have opened another one meanwhile; and with room for two columns
        // one may be open already.
        if (!shownAt(area).isEmpty() || (m_room == Room::Two && !(shown() + back).isEmpty())) {
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
    if (m_room == Room::Three) {
        m_gaveWay.clear();
    }
    if (!back.isEmpty()) {
        Q_EMIT cameBack();
    }
}

void SideColumns::opened(QDockWidget& dock) {
    m_gaveWay.removeAll(&dock);
    const Qt::DockWidgetArea area = m_window.dockWidgetArea(&dock);
    const bool isSide = area == Qt::LeftDockWidgetArea || area == Qt::RightDockWidgetArea;
    if (dock.isFloating() || !isSide) {
        return;
    }
    {
        const QScopedValueRollback<bool> arranging(m_arranging, true);
        for (QDockWidget* other : shown()) {
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
    if (coversMiddle()) {
        for (QDockWidget* dock : shown()) {
            dock->hide();
        }
        cover();
    }
}

bool SideColumns::coversMiddle() const {
    return m_room == Room::One && !shown().isEmpty();
}

void SideColumns::bringBack() {
    m_room = Room::Three;
    takeBack();
}

void SideColumns::reset(int width) {
    m_gaveWay.clear();
    m_room = Room::Three;
    fit(width);
    cover();
}

void SideColumns::cover() {
    if (!m_arranging && m_window.centralWidget() != nullptr) {
        m_window.centralWidget()->setVisible(!coversMiddle());
    }
}

}  // namespace offstage::ui
