#pragma once

#include <QToolBar>

namespace offstage::ui {

// The inspector's tabs, one above the other at the window's right edge: icon and name of
// each panel. A tab triggers its action; the tab of a visible panel is marked. GUI thread
// only.
class PanelRail : public QToolBar {
    Q_OBJECT

  public:
    explicit PanelRail(const QString& title, QWidget* parent = nullptr);

    // At the end; the action keeps its owner.
    void addTab(QAction& action);
};

}  // namespace offstage::ui
