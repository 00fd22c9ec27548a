#pragma once

#include <QAction>

class QDockWidget;

namespace offstage::ui {

// The button of a panel: brings it to the front where it is hidden or covered by another tab, hides it where it is in
// front already. Checked while the panel can be seen, which QDockWidget::toggleViewAction() is for a covered one, too.
// Belongs to the dock.
class PanelAction : public QAction {
    Q_OBJECT

  public:
    explicit PanelAction(QDockWidget& dock);

    static PanelAction& of(const QDockWidget& dock);

    // It can be seen: alone in its place, or in front of the other tabs.
    bool isInFront() const { return m_inFront; }

  Q_SIGNALS:
    void frontRequested();  // the dock has to be shown and raised
    void hideRequested();

  private:
    bool m_inFront = false;
};

}  // namespace offstage::ui
