#include "ui/widgets/panel_action.h"

#include <QAbstractSpinBox>
#include <QComboBox>
#include <QDockWidget>
#include <QEvent>
#include <QScopedValueRollback>

namespace offstage::ui {

PanelAction::PanelAction(QDockWidget& dock) : QAction(dock.windowTitle(), &dock), m_dock(dock) {
    setCheckable(true);
    connect(&dock, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        m_inFront = visible;
        setChecked(visible);
    });
    connect(this, &QAction::triggered, this, [this] {
        setChecked(m_inFront);  // QAction has toggled it by itself; the code below may do the same
        if (m_inFront) {
            Q_EMIT hideRequested();
        } else {
            Q_EMIT frontRequested();
            if (m_byKeys) {
                focusPanel();
            }
        }
    });
}

void PanelAction::showByKeys() {
    if (m_inFront) {
        focusPanel();
    } else {
        const QScopedValueRollback<bool> byKeys(m_byKeys, true);
        trigger();
    }
}

bool PanelAction::event(QEvent* event) {
    const QScopedValueRollback<bool> byKeys(m_byKeys, event->type() == QEvent::Shortcut);
    return QAction::event(event);
}

// To the panel's focus proxy, or else to the first control in it; a panel that has
// nothing to show yet has none. Not to a box whose value letters would change: the next
// message may be typed before one looks.
void PanelAction::focusPanel() {
    const QWidget* panel = m_dock.widget();
    const QWidget* wanted = panel->focusProxy();
    const bool hasWanted = wanted != nullptr && wanted->isVisible();
    for (QWidget* each = m_dock.nextInFocusChain(); each != &m_dock; each = each->nextInFocusChain()) {
        const bool takesKeys = (each->focusPolicy() & Qt::TabFocus) == Qt::TabFocus && each->focusProxy() == nullptr;
        const bool changes =
            qobject_cast<QComboBox*>(each) != nullptr || qobject_cast<QAbstractSpinBox*>(each) != nullptr;
        if (takesKeys && panel->isAncestorOf(each) && each->isEnabled() && each->isVisible() &&
            (hasWanted ? each == wanted : !changes)) {
            each->setFocus(Qt::ShortcutFocusReason);
            return;
        }
    }
}

PanelAction& PanelAction::of(const QDockWidget& dock) {
    return *dock.findChild<PanelAction*>(QString(), Qt::FindDirectChildrenOnly);
}

}  // namespace offstage::ui
