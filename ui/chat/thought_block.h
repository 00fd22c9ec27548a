#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

#include "ui/base/message.h"
#include "ui/chat/message_body.h"

class QToolButton;

namespace offstage::ui {

// The model's thinking before its answer, folded into one line with its duration; a click
// or the space bar unfolds it. Folded, it costs only that line.
class ThoughtBlock : public QWidget {
    Q_OBJECT

  public:
    explicit ThoughtBlock(QWidget* parent = nullptr);

    // `goesOn`: more of it comes. Text that grows is shown about 20 times a second.
    void setThought(const Thought& thought, bool goesOn);
    bool isUnfolded() const { return m_unfolded; }
    void setUnfolded(bool unfolded);  // without unfoldedByPerson()
    bool isBusy() const { return m_body && m_body->isBusy(); }

    QToolButton& header() const { return *m_header; }
    MessageBody* body() const { return m_body; }  // null: folded

    // Lays out the part in the window and returns the height.
    int layoutFor(int width, const LayoutWindow& window);
    static int foldedHeight(const QFontMetrics& metrics);

  Q_SIGNALS:
    void heightChanged();
    void unfoldedByPerson(bool unfolded);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void refreshHeader();
    void showText();
    void restyle();

    Thought m_thought;
    bool m_goesOn = false;
    bool m_unfolded = false;
    bool m_shownWhole = false;
    QToolButton* m_header;
    MessageBody* m_body = nullptr;
    QElapsedTimer m_sinceChange;
    QTimer m_showSoon;  // throttles growing text
    QTimer m_seconds;   // between two tokens time goes on
};

}  // namespace offstage::ui
