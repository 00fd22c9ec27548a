#pragma once

#include <QWidget>

#include "ui/chat/message.h"

class QLabel;
class QToolButton;

namespace offstage::ui {

class MessageBody;
struct LayoutBudget;

// A prompt (a bubble at the right) or an answer (the full width), with its caption and its Copy button.
class MessageWidget : public QWidget {
    Q_OBJECT

  public:
    explicit MessageWidget(const Message& message, QWidget* parent = nullptr);

    MessageId messageId() const { return m_message.id; }
    MessageBody& body() const { return *m_body; }

    void setMessage(const Message& message);
    // Text that the message already holds, not yet shown.
    void appendText(const QString& text);

    // Lays out for this width and says the height.
    int layoutFor(int width, LayoutBudget& budget);

  Q_SIGNALS:
    void heightChanged();

  protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void copy();
    void restyle();
    QString caption() const;

    Message m_message;
    bool m_shownComplete = false;
    QLabel* m_author = nullptr;  // of an answer
    MessageBody* m_body;
    QLabel* m_caption;
    QToolButton* m_copy;
    QRect m_bubble;
    int m_bubbleFor = -1;  // the width it was made for
    int m_textWidth = 0;   // inside it
    bool m_arranging = false;
};

}  // namespace offstage::ui
