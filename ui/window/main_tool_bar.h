#pragma once

#include <QToolBar>

namespace offstage::ui {

class HardwareMenu;
class MainMenu;
class ModelMenu;
class PanelDocks;

// The most common commands, the model's name, its hardware, and the way to the panels.
class MainToolBar : public QToolBar {
    Q_OBJECT

  public:
    MainToolBar(const MainMenu& menu, PanelDocks& panels, const ModelMenu& models, const HardwareMenu& hardware,
                QWidget* parent);

  private:
    void addPanels(PanelDocks& panels, QAction* before);
};

}  // namespace offstage::ui
