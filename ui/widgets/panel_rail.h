#pragma once

#include <QToolBar>

namespace offstage::ui {

// The inspector's tabs, one above the other at the window's right edge: icon and name of
// each panel. A tab triggers its action; the tab of a visible panel is marked. At the
// lower end, apart from the tabs and framed as buttons, what opens a panel elsewhere. GUI
// thread only.
class PanelRail : public QToolBar {
    Q_OBJECT

  public:
    explicit PanelRail(const QString& title, QWidget* parent = nullptr);

    // At the end; the action keeps its owner.
    void addTab(QAction& action);
    // Its panel opens below the conversation; after all tabs.
    void addDock(QAction& action);

  private:
    bool m_hasDocks = false;
};

}  // namespace offstage::ui
