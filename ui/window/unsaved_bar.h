#pragma once

#include <QFrame>

class QBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace offstage::ui {

// Shows that data is not on the disk, while that lasts, and the possible actions. When
// the window is closed, it becomes a question.
class UnsavedBar : public QFrame {
    Q_OBJECT

  public:
    explicit UnsavedBar(QWidget* parent = nullptr);

    // `sentence`: why conversations are not saved, and what happens to them.
    // `fileOffered`: there is something to save to a file.
    void tell(const QString& sentence, bool fileOffered);
    // Asks whether the window should close anyway. `reason`: why it could not be saved;
    // may be empty.
    void ask(const QString& reason, bool fileOffered);
    bool isAsking() const { return m_asking; }  // until tell() or takeBack()
    void takeBack();                            // hides
    QString sentence() const;

  Q_SIGNALS:
    void tryAgainRequested();
    void fileRequested();
    void closeRequested();  // without saving
    void stayRequested();   // the window stays open: the question is answered

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void present(bool asking, const QString& title, const QString& sentence, bool fileOffered);
    void arrangeButtons();

    QLabel* m_icon;
    QLabel* m_title;
    QLabel* m_sentence;
    QPushButton* m_tryAgain;
    QPushButton* m_save;
    QPushButton* m_close;
    QToolButton* m_stay;
    QBoxLayout* m_texts;
    QBoxLayout* m_buttons;
    bool m_asking = false;
};

}  // namespace offstage::ui
