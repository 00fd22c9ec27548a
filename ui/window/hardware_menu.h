#pragma once

#include <QMenu>

class QToolButton;

namespace offstage::ui {

class EmptyState;
class ModelOpener;
struct Core;
struct DeviceChoice;

// The devices that a model can run on, and the button that shows the present one. GUI
// thread only.
class HardwareMenu : public QMenu {
    Q_OBJECT

  public:
    // `start` shows what was found here.
    HardwareMenu(Core& core, ModelOpener& opener, EmptyState& start, QWidget* parent);

    QToolButton& button() const { return *m_button; }  // for a tool bar
    QString text() const;                              // the present one
    // Goes from an emulated GPU back to real hardware; visible only while there is one.
    QAction& leave() const { return *m_leave; }

  public Q_SLOTS:
    void refresh();

  private:
    void list();

    Core& m_core;
    ModelOpener& m_opener;
    EmptyState& m_start;
    QToolButton* m_button;
    QAction* m_leave;
};

}  // namespace offstage::ui
