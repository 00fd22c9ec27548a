#pragma once

#include <array>

#include <QTimer>

#include "ui/panels/cache_comparison.h"
#include "ui/panels/expert_use_plot.h"
#include "ui/panels/panel.h"
#include "ui/panels/step_figures.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/line_plot.h"

class QComboBox;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableWidget;

namespace offstage::ui {

class PageTabs;
class Selection;

// How well the device's experts serve the tokens: hit rate, the effect of prefetching,
// bytes moved and experts exchanged, token by token; and the results of other cache
// policies for the same calls.
class CachePanel : public Panel {
    Q_OBJECT

  public:
    // The selection must outlive the panel.
    CachePanel(EngineController& engine, Selection& selection, QWidget* parent = nullptr);
    ~CachePanel() override;

    static constexpr std::size_t kPoints = 20'000;  // kept of each line
    static constexpr int kPromptMarks = 50;

    LinePlot& hits() const { return *m_hits; }
    LinePlot& prefetch() const { return *m_prefetch; }
    LinePlot& bytes() const { return *m_bytes; }
    LinePlot& exchanges() const { return *m_exchanges; }
    // Experts over tokens, for this layer.
    ExpertUsePlot& uses() const { return *m_uses; }
    BarPlot& policies() const { return *m_policies; }
    QTableWidget& table() const { return *m_table; }

  protected:
    void showSnapshot(const engine::Snapshot& snapshot) override;
    void modelChanged() override;
    void showEvent(QShowEvent* event) override;

  private:
    bool hasAccelerator() const;
    void buildUses();
    void refreshUses();
    QLayout* buildComparison();  // its choice
    void linkCrosshairs();
    void startAgain();
    void catchUp();
    void addStep(const LoggedStep& step);
    void refreshControls();
    void compareOrCancel();
    void fitTable();
    void showResults(const std::vector<PolicyResult>& results);

    Selection& m_selection;
    PageTabs* m_tabs;
    QComboBox* m_layer;
    QComboBox* m_mean;
    LinePlot* m_hits;
    LinePlot* m_prefetch;
    LinePlot* m_bytes;
    LinePlot* m_exchanges;
    QComboBox* m_usesLayer;
    ExpertUsePlot* m_uses;
    QLabel* m_sums;
    QSpinBox* m_slots;
    int m_slotsInForce = 0;  // what it was set to, until a person changes it
    QPushButton* m_compare;
    QProgressBar* m_progress;
    QLabel* m_comparison;
    BarPlot* m_policies;
    QTableWidget* m_table;
    CacheComparison* m_replays;
    QTimer m_progressTimer;

    int m_neuronLine = -1;   // in m_hits; -1: there is none
    quint64 m_nextStep = 0;  // StepId of the first step that is not drawn yet
    struct Means {
        RunningMean hits, layerHits, bytes, missed, guessed, used, admissions, neededNeurons, heldNeurons;
    } m_means;
    std::vector<PlotMark> m_prompts;
    std::int64_t m_replayedSteps = 0;
    bool m_linking = false;
};

}  // namespace offstage::ui
