#include "ui/window/main_tool_bar.h"

#include <QDockWidget>
#include <QMenu>
#include <QToolButton>

#include "ui/widgets/fields.h"
#include "ui/widgets/panel_action.h"
#include "ui/window/hardware_menu.h"
#include "ui/window/main_menu.h"
#include "ui/window/model_menu.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {

MainToolBar::MainToolBar(const MainMenu& menu, PanelDocks& panels, const ModelMenu& models,
                         const HardwareMenu& hardware, QWidget* parent)
    : QToolBar(tr("Main tool bar"), parent) {
    setObjectName(QStringLiteral("mainToolBar"));
    setMovable(false);
    setIconSize({20, 20});
    setContextMenuPolicy(Qt::PreventContextMenu);
    addAction(menu.newConversation());
    addAction(menu.open());
    addAction(menu.stop());  // here, where no long name pushes it out of a narrow window
    addSeparator();
    addWidget(&models.button());
    addWidget(&hardware.button());
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
