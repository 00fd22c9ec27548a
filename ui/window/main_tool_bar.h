#pragma once

#include <QToolBar>

class QToolButton;

namespace offstage::ui {

class HardwareMenu;
class MainMenu;
class ModelMenu;
class PanelDocks;

// The most common commands, the model's name, its hardware, and the way to the panels.
// Where names are too long for the window they are cut, so that their buttons stay.
class MainToolBar : public QToolBar {
    Q_OBJECT

  public:
    MainToolBar(const MainMenu& menu, PanelDocks& panels, const ModelMenu& models, const HardwareMenu& hardware,
                QWidget* parent);

  protected:
    bool event(QEvent* event) override;

  private:
    void addPanels(PanelDocks& panels, QAction* before);
    void fitNames();
    void closeExtension();

    QToolButton& m_model;
    QToolButton& m_hardware;
};

}  // namespace offstage::ui
