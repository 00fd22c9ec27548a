#pragma once

#include "ui/panels/dispatch_view.h"
#include "ui/panels/panel.h"

class QComboBox;
class QToolButton;

namespace offstage::ui {

class Selection;

// Where the experts of each layer ran: on the GPU, copied to it, on the CPU; measured
// beside predicted; for the selected token, or the mean of the latest ones. Beside it one
// token's timeline. A click on a bar shows the reason below both.
class DispatchPanel : public Panel {
    Q_OBJECT

  public:
    // The selection must outlive the panel.
    DispatchPanel(EngineController& engine, Selection& selection, QWidget* parent = nullptr);

    void explain(int layer, std::optional<Side> side);

    StackedBar& bars() const { return *m_bars; }
    TimelinePlot& timeline() const { return *m_timeline; }

  protected:
    void modelChanged() override;
    void showEvent(QShowEvent* event) override;

  private:
    // The selected token's step; without one that of the latest step that wrote a token.
    const LoggedStep* shownStep() const;
    bool hasAccelerator() const;
    void logChanged();
    void refresh();
    void refreshBars();
    void refreshTimeline();
    void refreshToken();
    void refreshWhy();
    enum class Amount { Time, Tokens };
    Amount amount() const;
    // The bars show the mean of so many of the latest tokens; 0: only the selected token.
    int meanOf() const;

    Selection& m_selection;
    QToolButton* m_previous;
    QToolButton* m_next;
    QLabel* m_token;
    QComboBox* m_which;
    QComboBox* m_amount;
    StackedBar* m_bars;
    TimelinePlot* m_timeline;
    QLabel* m_idle;    // how much of the token's time each side waited
    QLabel* m_hidden;  // how much of the computing was hidden behind loading
    QLabel* m_why;
    std::vector<LayerMeans> m_means;
    StepId m_timelineStep = ~StepId{0};
    std::size_t m_timelineLayers = 0;
    int m_whyLayer = -1;  // -1: nothing is explained
    std::optional<Side> m_whySide;
};

}  // namespace offstage::ui
