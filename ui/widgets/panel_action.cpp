#include "ui/widgets/panel_action.h"

#include <QDockWidget>

namespace offstage::ui {

PanelAction::PanelAction(QDockWidget& dock) : QAction(dock.windowTitle(), &dock) {
    setCheckable(true);
    connect(&dock, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        m_inFront = visible;
        setChecked(visible);
    });
    connect(this, &QAction::triggered, this, [this] {
        setChecked(m_inFront);  // QAction has turned it over by itself; what happens now may do the same
        if (m_inFront) {
            Q_EMIT hideRequested();
        } else {
            Q_EMIT frontRequested();
        }
    });
}

PanelAction& PanelAction::of(const QDockWidget& dock) {
    return *dock.findChild<PanelAction*>(QString(), Qt::FindDirectChildrenOnly);
}

}  // namespace offstage::ui
