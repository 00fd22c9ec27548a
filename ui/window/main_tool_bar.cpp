#include "ui/window/main_tool_bar.h"

#include <algorithm>

#include <QDockWidget>
#include <QEvent>
#include <QLayout>
#include <QMenu>
#include <QStyle>
#include <QToolButton>

#include "ui/widgets/fields.h"
#include "ui/widgets/panel_action.h"
#include "ui/window/hardware_menu.h"
#include "ui/window/main_menu.h"
#include "ui/window/model_menu.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {

namespace {

constexpr int kLeastName = 60;  // pixels

}  // namespace

MainToolBar::MainToolBar(const MainMenu& menu, PanelDocks& panels, const ModelMenu& models,
                         const HardwareMenu& hardware, QWidget* parent)
    : QToolBar(tr("Main tool bar"), parent), m_model(models.button()), m_hardware(hardware.button()) {
    setObjectName(QStringLiteral("mainToolBar"));
    setMovable(false);
    setIconSize({20, 20});
    setContextMenuPolicy(Qt::PreventContextMenu);
    addAction(menu.newConversation());
    addAction(menu.open());
    addAction(menu.stop());  // here, where no long name pushes it out of a narrow window
    addSeparator();
    addWidget(&m_model);
    addWidget(&m_hardware);
    addAction(&hardware.leave());
    auto* space = new QWidget;
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    addWidget(space);
    addPanels(panels, menu.newConversation());
    for (QAction* action : actions()) {
        if (auto* button = qobject_cast<QToolButton*>(widgetForAction(action))) {
            button->setFocusPolicy(Qt::TabFocus);
            if (!action->text().isEmpty()) {
                button->setAccessibleName(QString(action->text()).remove(u'&').remove(u'…').trimmed());
            }
        }
    }
}

bool MainToolBar::event(QEvent* event) {
    const bool handled = QToolBar::event(event);
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) {
        fitNames();
    }
    if (event->type() == QEvent::Resize) {
        closeExtension();
    }
    return handled;
}

// Where all of the bar has room again: Qt keeps the rest open, and its button, until the
// pointer has left it.
void MainToolBar::closeExtension() {
    auto* button = findChild<QToolButton*>(QStringLiteral("qt_toolbar_ext_button"));
    if (button != nullptr && button->isChecked() && layout()->sizeHint().width() <= window()->width()) {
        button->click();
    }
}

// The hardware's button may have half of the room for both, and more if the model's name
// needs less.
void MainToolBar::fitNames() {
    int others = style()->pixelMetric(QStyle::PM_ToolBarExtensionExtent, nullptr, this);
    for (QAction* action : actions()) {  // those before the names
        const QWidget* widget = widgetForAction(action);
        if (widget == &m_model) {
            break;
        }
        others += action->isVisible() ? widget->sizeHint().width() + layout()->spacing() : 0;
    }
    const QMargins around = layout()->contentsMargins();
    const int room = width() - others - around.left() - around.right() - 2 * layout()->spacing();
    const int model = m_model.sizeHint().width(), hardware = m_hardware.sizeHint().width();
    const bool fits = model + hardware <= room;
    const int forHardware = std::clamp(room - model, std::min(hardware, room / 2), std::max(0, hardware));
    m_model.setMaximumWidth(fits ? QWIDGETSIZE_MAX : std::max(kLeastName, room - forHardware));
    m_hardware.setMaximumWidth(fits ? QWIDGETSIZE_MAX : std::max(kLeastName, forHardware));
}

// The docks at the left are opened from the left; the panels have their tabs, or a menu
// if there is no room. The menu is before the names, which may be long: the end of the
// bar is hidden without room.
void MainToolBar::addPanels(PanelDocks& panels, QAction* before) {
    QAction* list = &PanelAction::of(*panels.dock(QStringLiteral("conversations")));
    insertAction(before, list);
    auto* listButton = qobject_cast<QToolButton*>(widgetForAction(list));
    auto* button = new QToolButton;
    button->setText(tr("Panels"));
    button->setObjectName(QStringLiteral("panels"));
    describe(*button, tr("Panels"), tr("Open one of the panels: budgets, experts, forecasts and more"));
    button->setPopupMode(QToolButton::InstantPopup);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    auto* menu = new QMenu(button);
    for (QDockWidget* each : panels.tabbed()) {
        menu->addAction(&PanelAction::of(*each));
    }
    button->setMenu(menu);
    QAction* place = insertWidget(before, button);
    const auto refreshRoom = [listButton, place, &columns = panels.columns()] {
        const bool narrow = columns.room() == SideColumns::Room::One;
        place->setVisible(narrow);
        listButton->setToolButtonStyle(narrow ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
    };
    connect(&panels.columns(), &SideColumns::roomChanged, this, refreshRoom);
    refreshRoom();
}

}  // namespace offstage::ui
