#pragma once

#include <QFrame>

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace offstage::ui {

// Edits a message in its place. Enter sends a prompt as a new branch; an answer has line
// breaks, so Ctrl+Enter saves it. Esc leaves everything unchanged.
class MessageEditor : public QFrame {
    Q_OBJECT

  public:
    enum class Of { Prompt, Answer };

    MessageEditor(Of of, const QString& text, QWidget* parent = nullptr);

    QPlainTextEdit& edit() const { return *m_edit; }
    // The text as typed, including blanks that do not break.
    QString text() const;
    int heightAt(int width) const;
    // The message cannot be sent now: the reason replaces the hint.
    void refuse(const QString& reason);
    QString hint() const;

  Q_SIGNALS:
    void accepted(const QString& text);
    void left();
    void heightChanged();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    void accept();

    Of m_of;
    QPlainTextEdit* m_edit;
    QPushButton* m_send;
    QPushButton* m_leave;
    QLabel* m_hint;
};

}  // namespace offstage::ui
