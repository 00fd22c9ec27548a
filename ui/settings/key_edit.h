#pragma once

#include <QKeySequence>
#include <QLineEdit>

namespace offstage::ui {

// Takes the next key that is pressed, with what is held beside it, and says which it was. Nothing that is pressed here
// is a shortcut of the window. Tab goes on to the next field, Esc is the dialog's.
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
