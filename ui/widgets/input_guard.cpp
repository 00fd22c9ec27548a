#include "ui/widgets/input_guard.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QKeyEvent>
#include <QPushButton>
#include <QSlider>
#include <QToolButton>

namespace offstage::ui {

namespace {

// The widget whose value the wheel would change; nullptr: none.
QWidget* settingOf(QObject* watched) {
    const bool setting = qobject_cast<QAbstractSpinBox*>(watched) != nullptr ||
                         qobject_cast<QComboBox*>(watched) != nullptr || qobject_cast<QSlider*>(watched) != nullptr;
    return setting ? static_cast<QWidget*>(watched) : nullptr;
}

// The button that Enter is meant for; nullptr: another widget has the focus.
QAbstractButton* buttonOf(QObject* watched) {
    const bool presses =
        qobject_cast<QPushButton*>(watched) != nullptr || qobject_cast<QToolButton*>(watched) != nullptr;
    return presses ? static_cast<QAbstractButton*>(watched) : nullptr;
}

bool isEnter(const QKeyEvent& key) {
    const bool alone = (key.modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
    return alone && (key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter);
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
    QAbstractButton* button = event->type() == QEvent::KeyPress ? buttonOf(watched) : nullptr;
    if (button != nullptr && isEnter(*static_cast<QKeyEvent*>(event))) {
        if (!static_cast<QKeyEvent*>(event)->isAutoRepeat()) {
            button->click();
        }
        return true;
    }
    const bool offered = event->type() == QEvent::ShortcutOverride;
    if (offered && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape && QApplication::activePopupWidget()) {
        event->accept();  // it comes again as a key press, to the drop-down
        return true;
    }
    return QObject::eventFilter(watched, event);
}

}  // namespace offstage::ui
