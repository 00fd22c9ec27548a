#pragma once

#include "ui/panels/panel.h"
#include "ui/plot/stacked_bar.h"

class QCheckBox;
class QComboBox;
class QPushButton;
class QTreeWidget;

namespace offstage::ui {

class MachineTexts;
class Machines;

// This machine and those paired with it: which are up, the experts of each, the shape and
// its forecast, and a token's time by machine. Adds, tests, uses, drains and removes
// them.
class MachinesPanel : public Panel {
    Q_OBJECT

  public:
    // `machines` must outlive the panel.
    MachinesPanel(EngineController& engine, Machines& machines, QWidget* parent = nullptr);

    QTreeWidget& list() const { return *m_list; }
    StackedBar& times() const { return *m_times; }
    StackedBar& places() const { return *m_places; }
    StackedBar& forecasts() const { return *m_forecasts; }
    QString details() const;
    QPushButton& addButton() const { return *m_add; }
    void choose(const QString& machine);
    QString chosen() const;  // empty: none, or this machine

  public Q_SLOTS:
    void add();

  protected:
    void showSnapshot(const engine::Snapshot& snapshot) override;
    void modelChanged() override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    QWidget* buildIntroduction();
    QWidget* buildMachines();
    QWidget* buildChoices();
    void buildActions();
    MachineTexts texts() const;
    void refresh();
    void refreshShape();
    void refreshList();
    void refreshPictures();
    void refreshActions();
    void askToRemove();

    Machines& m_machines;
    QWidget* m_introduction;
    QWidget* m_content;
    QTreeWidget* m_list;
    QLabel* m_details;
    StackedBar* m_times;
    StackedBar* m_places;
    StackedBar* m_forecasts;
    QWidget* m_pictures = nullptr;  // what is shown of other machines
    QLabel* m_timesTitle;
    QLabel* m_placesTitle;
    QLabel* m_forecastsTitle;
    QLabel* m_shapeText;
    QComboBox* m_shape;
    QComboBox* m_when;
    QCheckBox* m_halves;
    QPushButton* m_add;
    QPushButton* m_test;
    QPushButton* m_use;
    QPushButton* m_remove;
};

}  // namespace offstage::ui
