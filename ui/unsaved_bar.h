#pragma once

#include <QFrame>

class QLabel;
class QPushButton;

namespace offstage::ui {

// The window was asked to close, and what was written last is not on the disk: what one can do about that.
class UnsavedBar : public QFrame {
    Q_OBJECT

  public:
    explicit UnsavedBar(QWidget* parent = nullptr);

    // `reason`: why it could not be saved; may be empty. `fileOffered`: there are conversations to put into a file.
    void ask(const QString& reason, bool fileOffered);
    QString sentence() const;

    QPushButton& tryAgainButton() const { return *m_tryAgain; }
    QPushButton& saveButton() const { return *m_save; }
    QPushButton& closeButton() const { return *m_close; }

  Q_SIGNALS:
    void tryAgainRequested();
    void fileRequested();
    void closeRequested();  // without saving

  private:
    QLabel* m_title;
    QLabel* m_sentence;
    QPushButton* m_tryAgain;
    QPushButton* m_save;
    QPushButton* m_close;
};

}  // namespace offstage::ui
