#pragma once

#include <QObject>

class QApplication;

namespace offstage::ui {

// The wheel over a panel scrolls it, and does not change the widget under the pointer: a
// spin box, combo box or slider takes the wheel only while it has the focus, and the
// wheel does not give it the focus. Other wheel events go to the surrounding scroll area.
// Esc in a drop-down closes it and triggers no shortcut, in particular not the window's
// Stop. Enter presses the button with the focus, as Space does, in panels and also in
// dialogs with another default button. In all windows of the application, while this
// object exists.
class InputGuard : public QObject {
    Q_OBJECT

  public:
    explicit InputGuard(QApplication& app, QObject* parent = nullptr);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace offstage::ui
