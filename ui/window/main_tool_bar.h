#pragma once

#include <QToolBar>

class QLabel;
class QToolButton;

namespace offstage::ui {

class EngineController;
class HardwareMenu;
class MainMenu;
class PanelDocks;

// The most common commands, the model's name, its hardware, and the way to the panels.
class MainToolBar : public QToolBar {
    Q_OBJECT

  public:
    MainToolBar(EngineController& engine, const MainMenu& menu, PanelDocks& panels, HardwareMenu& hardware,
                QWidget* parent);

  private:
    void addPanels(PanelDocks& panels, QAction* before);
    void refreshModel();

    EngineController& m_engine;
    QLabel* m_model;
};

}  // namespace offstage::ui
