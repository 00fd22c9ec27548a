#pragma once

#include <QFrame>

#include "ui/base/message.h"

class QLabel;
class QPlainTextEdit;
class QToolButton;

namespace offstage::ui {

// A problem, in the conversation where it happened: a sentence, details on demand, and
// possible actions.
class ProblemCard : public QFrame {
    Q_OBJECT

  public:
    explicit ProblemCard(const Message& message, QWidget* parent = nullptr);

    MessageId messageId() const { return m_id; }
    int layoutFor(int width);

  Q_SIGNALS:
    void actionChosen(offstage::ui::ProblemAction action, const offstage::ui::Problem& problem);
    void closed(offstage::ui::MessageId problem);  // by the user
    void heightChanged();

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    MessageId m_id;
    QLabel* m_icon;
    QLabel* m_title;
    QLabel* m_sentence;
    QToolButton* m_detailsButton = nullptr;
    QPlainTextEdit* m_details = nullptr;
};

QString textOf(ProblemAction action);

}  // namespace offstage::ui
