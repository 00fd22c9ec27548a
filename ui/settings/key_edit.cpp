#include "ui/settings/key_edit.h"

#include <QKeyEvent>

namespace offstage::ui {

namespace {

bool isForTheDialog(const QKeyEvent& event) {
    const int key = event.key();
    return key == Qt::Key_Tab || key == Qt::Key_Backtab || key == Qt::Key_Escape;
}

bool isModifier(int key) {
    return key == Qt::Key_Control || key == Qt::Key_Shift || key == Qt::Key_Alt || key == Qt::Key_Meta ||
           key == Qt::Key_AltGr || key == Qt::Key_CapsLock || key == Qt::Key_NumLock || key == Qt::Key_unknown ||
           key == 0;
}

}  // namespace

KeyEdit::KeyEdit(QWidget* parent) : QLineEdit(parent) {
    setReadOnly(true);
    setContextMenuPolicy(Qt::NoContextMenu);
    setPlaceholderText(tr("Press the new keys here"));
}

void KeyEdit::setKeys(const QKeySequence& keys) {
    setText(keys.toString(QKeySequence::NativeText));
}

bool KeyEdit::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride && !isForTheDialog(*static_cast<QKeyEvent*>(event))) {
        event->accept();  // it comes again, as a key press
        return true;
    }
    return QLineEdit::event(event);
}

void KeyEdit::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    if (isForTheDialog(*event)) {
        QLineEdit::keyPressEvent(event);
        return;
    }
    event->accept();
    if (isModifier(key)) {
        return;
    }
    Qt::KeyboardModifiers held = event->modifiers() & ~(Qt::KeypadModifier | Qt::GroupSwitchModifier);
    // Shift that only makes the sign is a part of it: Ctrl+Shift+1 is Ctrl+!.
    const bool isSign = key > Qt::Key_Space && key < 0x1000000 && !QChar::isLetterOrNumber(static_cast<char32_t>(key));
    if (isSign) {
        held &= ~Qt::KeyboardModifiers(Qt::ShiftModifier);
    }
    Q_EMIT entered(QKeySequence(QKeyCombination(held, static_cast<Qt::Key>(key))));
}

}  // namespace offstage::ui
