#pragma once

#include <QAction>

class QDockWidget;

namespace offstage::ui {

// The button of a panel: brings it to the front if it is hidden or covered by another
// tab, hides it if it is in front already. Checked while the panel is visible;
// QDockWidget::toggleViewAction() is checked for a covered one, too. Chosen by keys (its
// shortcut, the palette) it gives the keyboard's focus to the panel. Belongs to the dock.
class PanelAction : public QAction {
    Q_OBJECT

  public:
    explicit PanelAction(QDockWidget& dock);

    static PanelAction& of(const QDockWidget& dock);

    // It is visible: alone in its place, or in front of the other tabs.
    bool isInFront() const { return m_inFront; }
    // As its shortcut does, but never hides the panel.
    void showByKeys();

  Q_SIGNALS:
    void frontRequested();  // the dock has to be shown and raised
    void hideRequested();

  protected:
    bool event(QEvent* event) override;

  private:
    void focusPanel();

    QDockWidget& m_dock;
    bool m_inFront = false;
    bool m_byKeys = false;
};

}  // namespace offstage::ui
