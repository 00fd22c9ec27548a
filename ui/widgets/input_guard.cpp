#include "ui/widgets/input_guard.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QKeyEvent>
#include <QSlider>

namespace offstage::ui {

namespace {

// The widget whose value the wheel would change; nullptr: none.
QWidget* settingOf(QObject* watched) {
    const bool setting = qobject_cast<QAbstractSpinBox*>(watched) != nullptr ||
                         qobject_cast<QComboBox*>(watched) != nullptr || qobject_cast<QSlider*>(watched) != nullptr;
    return setting ? static_cast<QWidget*>(watched) : nullptr;
}

}  // namespace

InputGuard::InputGuard(QApplication& app, QObject* parent) : QObject(parent) {
    app.installEventFilter(this);
}

bool InputGuard::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Polish) {
        QWidget* setting = settingOf(watched);
        if (setting != nullptr && setting->focusPolicy() == Qt::WheelFocus) {
            setting->setFocusPolicy(Qt::StrongFocus);
        }
    } else if (event->type() == QEvent::Wheel) {
        const QWidget* setting = settingOf(watched);
        if (setting != nullptr && !setting->hasFocus()) {
            event->ignore();  // goes on to the parent
            return true;
        }
    }
    const bool offered = event->type() == QEvent::ShortcutOverride;
    if (offered && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape && QApplication::activePopupWidget()) {
        event->accept();  // it comes again as a key press, to the drop-down
        return true;
    }
    return QObject::eventFilter(watched, event);
}

}  // namespace offstage::ui
