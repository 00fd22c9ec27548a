#pragma once

#include <initializer_list>

#include <QObject>
#include <QRect>

#include "ui/base/message.h"

class QLabel;
class QToolButton;
class QWidget;

namespace offstage::ui {

// The row below a message: its branches, its actions, why it ended, and its figures. A
// prompt's actions are beside its bubble, where there is always room for them. Actions
// and figures appear under the mouse, with keyboard focus, and under the last answer; an
// answer's stand where the gap before the next message is, so that hovering moves nothing
// and no room is lost. Its widgets are children of the message's.
class MessageFooter : public QObject {
    Q_OBJECT

  public:
    MessageFooter(const Message& message, QWidget& parent);

    // After any change of the message. `active`: under the mouse or with the focus.
    // `isLast`: no message follows; only then an answer can be continued.
    void refresh(bool active, bool isLast, bool isEdited);
    // `gap` pixels below `y`, if there is anything; `bubble` is a prompt's. Returns the
    // lower end.
    int layOut(int width, int y, int gap, const QRect& bubble);
    void restyle();
    QString caption() const;

  Q_SIGNALS:
    void editRequested();
    void regenerateRequested();
    void continueRequested();
    void branchRequested(int branch);
    void timelineRequested();

  private:
    QToolButton* makeButton(const QString& icon, const QString& name);
    void makeActions();
    void refreshCaption(bool isEdited);
    void refreshBranches(bool isEdited);
    void refreshActions(bool shown, bool isLast);
    void refreshFigures(bool shown);
    // These return the lower end.
    int layOutPrompt(int width, int y);
    int layOutHelp(int width, int& x, int y);  // `x`: where its note may begin
    int layOutAnswer(int width, int y);
    void layOutFigures(int x, int width, int y);
    bool showsBranches() const;
    // One after another from `x`; returns the place behind them.
    int place(std::initializer_list<QWidget*> widgets, int x, int y);
    int widthOf(const QWidget* widget) const;
    bool hasFigures() const;
    void copy();
    bool isPrompt() const { return m_message.kind == Message::Kind::Prompt; }
    bool isHelp() const { return !m_message.helpPage.isEmpty(); }
    bool isComplete() const {
        return m_message.state != Message::State::Streaming && m_message.state != Message::State::Waiting;
    }

    const Message& m_message;
    QWidget& m_parent;
    QLabel* m_caption;
    // Made when first needed; null until then.
    QToolButton* m_copy = nullptr;
    QToolButton* m_edit = nullptr;
    QToolButton* m_again = nullptr;
    QToolButton* m_continue = nullptr;
    QToolButton* m_page = nullptr;  // opens the help, of an answer that it gave
    QToolButton* m_previous = nullptr;
    QToolButton* m_next = nullptr;
    QLabel* m_branch = nullptr;
    QToolButton* m_figures = nullptr;
};

}  // namespace offstage::ui
