#pragma once

#include <QFrame>

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace offstage::ui {

// A prompt being changed where it stands: Ctrl+Enter sends it as a new branch, Esc leaves everything as it was.
class MessageEditor : public QFrame {
    Q_OBJECT

  public:
    explicit MessageEditor(const QString& text, QWidget* parent = nullptr);

    QPlainTextEdit& edit() const { return *m_edit; }
    int heightAt(int width) const;
    // It cannot be sent now: the reason stands where the hint stood.
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

    QPlainTextEdit* m_edit;
    QPushButton* m_send;
    QPushButton* m_leave;
    QLabel* m_hint;
};

}  // namespace offstage::ui
