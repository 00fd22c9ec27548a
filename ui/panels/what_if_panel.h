#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <QThread>

#include "engine/eval/what_if.h"
#include "ui/panels/panel.h"

class QComboBox;
class QProgressBar;
class QPushButton;
class QTableWidget;

namespace offstage::ui {

class BarPlot;
class LinePlot;

// What a WhatIf told, all at once.
struct WhatIfResult {
    std::vector<engine::WhatIfRow> rows;    // one per profile
    std::vector<engine::WhatIfRow> curve;   // over VRAM, of the chosen profile
    std::optional<engine::WhatIfRow> now;   // the chosen profile with the marked budget,
    std::optional<engine::WhatIfRow> more;  // and with 1 GB more
    QString problem;
    bool cancelled = false;
};

// Tokens/s and TTFT of the loaded model on GPUs that are not here, and over more VRAM. Always a forecast, and it says
// so. Worked out on a thread of its own when asked for. GUI thread only.
class WhatIfPanel : public Panel {
    Q_OBJECT

  public:
    static constexpr int kCurvePoints = 24;

    explicit WhatIfPanel(EngineController& engine, QWidget* parent = nullptr);
    ~WhatIfPanel() override;

    QTableWidget& table() const { return *m_table; }
    BarPlot& bars() const { return *m_bars; }
    LinePlot& curve() const { return *m_curve; }
    QComboBox& profile() const { return *m_profile; }
    QPushButton& runButton() const { return *m_run; }
    QPushButton& cancelButton() const { return *m_cancel; }
    QPushButton& editButton() const { return *m_edit; }
    bool isRunning() const { return m_running; }
    QString gainText() const;  // what 1 GB more would bring

  protected:
    void modelChanged() override;

  private:
    void fillProfiles();
    void run();
    void showResult(const WhatIfResult& result);
    void edit();
    void refreshButtons();

    QComboBox* m_profile;
    QPushButton* m_run;
    QPushButton* m_cancel;
    QPushButton* m_edit;
    QProgressBar* m_progress;
    QTableWidget* m_table;
    BarPlot* m_bars;
    LinePlot* m_curve;
    QLabel* m_gain;
    QThread m_thread;
    QObject* m_there;
    std::stop_source m_stop;
    bool m_running = false;
    quint64 m_newest = 0;
};

}  // namespace offstage::ui
