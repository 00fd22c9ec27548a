#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QStringList>

#include "engine/cluster/network.h"
#include "engine/cluster/what_if.h"
#include "ui/base/background_thread.h"

namespace offstage::ui {

// A question: all profiles on so many machines, and one of them in detail.
struct WhatIfChoice {
    QStringList profiles;  // as find_hardware_profile() takes them
    QStringList names;     // as they are shown
    int chosen = 0;
    quint64 budget = 0;      // VRAM from which 1 GiB more is counted; 0: all of the chosen profile's
    QString here;            // the profile of the device that the model runs on; empty: it has none
    quint64 hereBudget = 0;  // and its budget
    engine::Cluster cluster;
    double overheadUs = 0;  // see engine::WhatIf::set_overhead_us
};

// The complete answer to a WhatIfChoice.
struct WhatIfResult {
    WhatIfChoice choice;
    std::vector<engine::WhatIfRow> rows;      // one per profile
    std::vector<engine::WhatIfRow> curve;     // over VRAM, of the chosen profile
    std::vector<engine::WhatIfRow> machines;  // over machines, of the chosen profile
    std::optional<engine::WhatIfRow> now;     // the chosen profile with the marked budget,
    std::optional<engine::WhatIfRow> more;    // and with 1 GiB more
    std::optional<engine::WhatIfRow> here;    // the present run
    engine::Message problem;
    bool cancelled = false;
};

// Computes forecasts on a separate thread, one question at a time. Measurements of this
// computer for a model are kept until a question about another model, or another context.
// GUI thread only.
class WhatIfWorker : public QObject {
    Q_OBJECT

  public:
    static constexpr int kCurvePoints = 24;
    static constexpr int kMostMachines = 16;

    explicit WhatIfWorker(QObject* parent = nullptr);

    // Gives up the question before, without an answer to it. model: another number is
    // another model.
    void ask(const engine::LoadRequest& request, quint64 model, const WhatIfChoice& choice);
    void cancel() { m_thread.stop(); }  // answered() reports it
    void giveUp();                      // without an answer
    bool isRunning() const { return m_running; }
    int measurements() const { return m_measurements; }  // measurements of this computer reported so far

  Q_SIGNALS:
    void progressed(const offstage::engine::Message& stage, int done,
                    int total);  // stage: of measuring; empty for forecasts
    void answered(const WhatIfResult& result);

  private:
    struct Kept;  // on the thread

    std::shared_ptr<Kept> m_kept;
    bool m_running = false;
    int m_measurements = 0;
    BackgroundThread m_thread;
};

}  // namespace offstage::ui
