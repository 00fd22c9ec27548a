#pragma once

#include <QTimer>

#include "ui/panels/page_tabs.h"
#include "ui/panels/panel.h"
#include "ui/panels/what_if_worker.h"

class QComboBox;
class QLayout;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableWidget;

namespace offstage::ui {

class BarPlot;
class FittingColumns;
class LinePlot;
class SpeedMeter;

// Tokens/s and TTFT of the loaded model on other GPUs, over more VRAM, and on several
// machines. Always labelled as a forecast. Computed on a separate thread on request;
// after that whenever the choice changes, until that is cancelled. GUI thread only.
class WhatIfPanel : public Panel {
    Q_OBJECT

  public:
    static constexpr int kDelayMs = 250;  // after the last change of the choice

    explicit WhatIfPanel(EngineController& engine, QWidget* parent = nullptr);

    QTableWidget& table() const { return *m_table; }
    BarPlot& bars() const { return *m_bars; }
    LinePlot& curve() const { return *m_curve; }
    PageTabs& tabs() const { return *m_tabs; }
    QComboBox& profile() const { return *m_profile; }
    QSpinBox& machines() const { return *m_machines; }
    QComboBox& network() const { return *m_network; }
    QSpinBox& price() const { return *m_price; }
    // At work, or about to be.
    bool isRunning() const { return m_worker->isRunning() || m_delay.isActive(); }
    int measurements() const { return m_worker->measurements(); }
    QString machinesText() const;              // the effect of more machines
    QString claim() const { return m_claim; }  // the basis of the forecasts
    QString hereText() const;                  // the model's speed here: measured, and forecast
    // The basis of forecasts: the model as it was opened, with the present context, kept
    // context and format of the KV cache. Precondition: a model is open.
    engine::LoadRequest request() const;

  protected:
    void showSnapshot(const engine::Snapshot& snapshot) override;
    void modelChanged() override;

  private:
    QWidget* buildChoice();
    QWidget* buildRunning();
    QLayout* buildGpus();
    QLayout* buildVram();
    QLayout* buildMachines();
    void fillProfiles();
    void choiceChanged();
    WhatIfChoice choice() const;
    void run();
    void cancel();
    void sayCancelled();
    void showResult(const WhatIfResult& result);
    void showClaim(double overheadUs);
    void showGpus(const WhatIfResult& result);
    void showVram(const WhatIfResult& result);
    void showMachines(const WhatIfResult& result);
    void showPrices();
    void showHere();
    void edit();
    void refreshButtons();

    QComboBox* m_profile;
    QSpinBox* m_machines;
    QComboBox* m_network;
    QSpinBox* m_price;
    QPushButton* m_run;
    QPushButton* m_cancel;
    QPushButton* m_edit;
    QProgressBar* m_progress;
    PageTabs* m_tabs;
    QTableWidget* m_table;
    BarPlot* m_bars;
    LinePlot* m_curve;
    QString m_claim;
    QLabel* m_here;
    QLabel* m_gain;
    QTableWidget* m_machineTable;
    FittingColumns* m_machineColumns;
    LinePlot* m_machineCurve;
    QLabel* m_machinesText;
    SpeedMeter* m_meter;
    std::optional<engine::WhatIfRow> m_forecastHere;
    WhatIfWorker* m_worker;
    QTimer m_delay;
    quint64 m_model = 0;        // counts models
    bool m_asked = false;       // for this model, and not cancelled since
    bool m_hasChanged = false;  // budgets or experts, since the last answer
};

}  // namespace offstage::ui
