#pragma once

#include <QKeySequence>
#include <QLineEdit>

namespace offstage::ui {

// Takes the next pressed key with its modifiers, and emits it. No key pressed here
// triggers a shortcut of the window. Tab moves to the next field, Esc closes the dialog.
class KeyEdit : public QLineEdit {
    Q_OBJECT

  public:
    explicit KeyEdit(QWidget* parent = nullptr);

    void setKeys(const QKeySequence& keys);

  Q_SIGNALS:
    void entered(const QKeySequence& keys);

  protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
};

}  // namespace offstage::ui
