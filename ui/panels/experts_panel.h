#pragma once

#include <QElapsedTimer>

#include "ui/panels/expert_channels.h"
#include "ui/panels/panel.h"

class QBoxLayout;
class QCheckBox;
class QComboBox;
class QPushButton;
class QToolButton;

namespace offstage::ui {

class ExpertActions;
class HeatMapLegend;
class Selection;

// Layers x experts: the router's calls, the experts' places and formats. A click selects
// an expert, whose tokens the chat then underlines; the selected token's experts are
// ringed. The context menu (or the menu key, or the button) changes one expert.
class ExpertsPanel : public Panel {
    Q_OBJECT

  public:
    explicit ExpertsPanel(EngineController& engine, QWidget* parent = nullptr);

    // The selection shared with other panels; must outlive the panel. Without it clicks
    // select nothing.
    void setSelection(Selection& selection);

    HeatMap& map() const { return *m_map; }
    HeatMapLegend& legend() const { return *m_legend; }
    ExpertActions& actions() const { return *m_actions; }

    ExpertChannel channel() const;
    void setChannel(ExpertChannel channel);

  protected:
    void showSnapshot(const engine::Snapshot& snapshot) override;
    void modelChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void arrange();
    bool hasOwnMemory() const;
    void refresh();
    void refreshReadout();
    void refreshScale(const ExpertCells& cells);
    bool picksToken() const;
    void refreshRings();
    void refreshMarks();
    void refreshSelected();
    void click(HeatMap::Cell cell, Qt::MouseButton button);
    void refreshButtons();
    void fillMenu(QMenu& menu, HeatMap::Cell cell);
    void lookAtPlan();
    QString restText() const;

    QComboBox* m_channel;
    QCheckBox* m_fading;
    QComboBox* m_scale;  // data: its end; 0: the highest value
    QBoxLayout* m_choices;
    QBoxLayout* m_plot;  // the map, and what is said of it
    QWidget* m_said;
    HeatMap* m_map;
    HeatMapLegend* m_legend;
    QLabel* m_readout;
    PanelArea* m_readoutArea;
    QToolButton* m_change;
    QPushButton* m_apply;
    QPushButton* m_drop;
    QPushButton* m_undo;
    ExpertActions* m_actions;
    Selection* m_selection = nullptr;
    std::vector<float> m_planned;
    QElapsedTimer m_sincePlanned;
};

}  // namespace offstage::ui
