#pragma once

#include <QWidget>

#include "engine/telemetry/snapshot.h"

class QLabel;
class QStackedWidget;
class QVBoxLayout;

namespace offstage::ui {

class EngineController;
class PanelArea;
class SnapshotPoller;

// The common parts of all live panels: a body that scrolls if it has too little room, a
// sentence in its place while there is nothing to show, the action buttons, a line for
// results and problems, and a footer with the panels' cost or the note that the device is
// emulated. Only the body moves. Reads the engine only while it is visible. GUI thread
// only.
class Panel : public QWidget {
    Q_OBJECT

  public:
    explicit Panel(EngineController& engine, QWidget* parent = nullptr);

    EngineController& engine() const { return m_engine; }
    SnapshotPoller& poller() const { return *m_poller; }
    // The last shown one; all zero before the first.
    const engine::Snapshot& snapshot() const { return m_snapshot; }
    // Shows it as if the engine had sent it.
    void setSnapshot(const engine::Snapshot& snapshot);

    // As shown; empty if nothing is shown.
    QString emptyText() const;  // while it stands in the body's place
    QString badge() const;      // "emulated: RTX 3060"
    // "Panels cost 0.2 % of speed"; nothing on emulated devices, whose tokens are not
    // timed.
    QString cost() const;
    QString notice() const;
    // Whose figures the panel shows, beside what it costs.
    void setOwner(const QString& text, const QString& tip);

    QSize sizeHint() const override;

  protected:
    enum class Notice { Plain, Problem };

    // The panel's controls and plots go in here.
    QVBoxLayout& body() const { return *m_body; }
    // The body is made of pages that scroll themselves: no room is kept for its own bar.
    void leaveScrollingToPages();
    // Below the body; neither scrolls nor moves. For action buttons.
    QVBoxLayout& footer();
    // Reserves room for so many lines of notices, also while there is none. Otherwise a
    // notice takes room of the body.
    void reserveNotice(int lines);
    // Shown in that room while there is no notice, and whole: it may make the room
    // higher.
    void setHint(const QString& text);
    // Progress and a button to cancel: shown in that room during an operation, otherwise
    // hidden. It may make the room higher.
    void setBusyWidget(QWidget& widget);
    void showBusy(bool busy);
    // The sentence that replaces the body while setEmpty(true): "Write a prompt to see
    // ...".
    void setEmptyText(const QString& text);
    void setEmpty(bool empty);
    // The colour of notices while there is nothing to read. Does nothing if it is
    // unchanged, because setting a role sends the widget and its children a new palette.
    static void setMuted(QWidget& label, bool muted);
    // Which of these has the keyboard's focus; nullptr: none. Call it before buttons are
    // disabled, hidden or shown; passFocus() afterwards leaves the focus there if it can
    // stay, and otherwise gives it to the first of `next` that can take it. Without it Qt
    // would give it to the next widget in the chain.
    static QWidget* focusAmong(const QList<QWidget*>& widgets);
    static void passFocus(QWidget* from, const QList<QWidget*>& next);
    // The middle of the main window that this is in; else nothing.
    QList<QWidget*> conversation() const;
    // Scrolls the body, once it is laid out, so that this part of it can be seen.
    void bringIntoView(QWidget& part);
    // A line above the footer; an empty text takes it away.
    void say(const QString& text, Notice kind = Notice::Plain);

    // Something changed, and the panel can be seen; or setSnapshot() was called.
    virtual void showSnapshot(const engine::Snapshot& snapshot) { Q_UNUSED(snapshot); }
    // A model was loaded or unloaded. Until a new snapshot arrives, snapshot() belongs to
    // the model before.
    virtual void modelChanged() {}

    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void take(const engine::Snapshot& snapshot);
    void refreshBadge();
    void refreshCost();
    void refreshNotice();
    void fitNotice();
    void restyle();

    EngineController& m_engine;
    engine::Snapshot m_snapshot;
    QStackedWidget* m_stack;
    PanelArea* m_bodyArea;
    QLabel* m_empty;
    QVBoxLayout* m_body;
    QVBoxLayout* m_actions;
    QWidget* m_actionsPlace;
    QLabel* m_notice;
    PanelArea* m_noticeArea;
    QStackedWidget* m_noticePlace;  // of notices, or of progress
    QWidget* m_busy = nullptr;
    int m_noticeLines = 0;  // reserved
    QString m_said, m_hint;
    QLabel* m_badge;
    QLabel* m_owner;
    QLabel* m_cost;
    SnapshotPoller* m_poller;
    Notice m_noticeKind = Notice::Plain;
    double m_refresh_us = 0;  // running mean of what one refresh of this panel takes
};

}  // namespace offstage::ui
