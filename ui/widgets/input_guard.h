#pragma once

#include <QObject>

class QApplication;

namespace offstage::ui {

// Who turns the wheel over a panel wants to scroll it, not to change what happens to lie under the pointer: a spin box,
// combo box or slider takes the wheel only while it has the focus, and the wheel does not give it the focus. What it
// does not take goes to the scroll area around. And Esc in a drop-down closes it and is nobody's shortcut, the window's
// Stop least of all. In all windows of the application, as long as this lives.
class InputGuard : public QObject {
    Q_OBJECT

  public:
    explicit InputGuard(QApplication& app, QObject* parent = nullptr);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace offstage::ui
