#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <QObject>
#include <QStringList>
#include <QThread>

#include "engine/cluster/network.h"
#include "engine/cluster/what_if.h"

namespace offstage::ui {

// What a person asks: all profiles on so many machines, and one of them in detail.
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

// What a WhatIf told, all at once, of the choice it was asked for.
struct WhatIfResult {
    WhatIfChoice choice;
    std::vector<engine::WhatIfRow> rows;      // one per profile
    std::vector<engine::WhatIfRow> curve;     // over VRAM, of the chosen profile
    std::vector<engine::WhatIfRow> machines;  // over machines, of the chosen profile
    std::optional<engine::WhatIfRow> now;     // the chosen profile with the marked budget,
    std::optional<engine::WhatIfRow> more;    // and with 1 GiB more
    std::optional<engine::WhatIfRow> here;    // what runs now, as it runs
    engine::Message problem;
    bool cancelled = false;
};

// Works forecasts out on a thread of its own, one question at a time. What it measured of this computer for a model is
// kept until another model, or another context, is asked about. GUI thread only.
class WhatIfWorker : public QObject {
    Q_OBJECT

  public:
    static constexpr int kCurvePoints = 24;
    static constexpr int kMostMachines = 16;

    explicit WhatIfWorker(QObject* parent = nullptr);
    ~WhatIfWorker() override;

    // The question before is given up, and nothing more is heard of it. model: another number is another model.
    void ask(const engine::LoadRequest& request, quint64 model, const WhatIfChoice& choice);
    void cancel();  // answered() says that it was
    void giveUp();  // nothing more is heard of it
    bool isRunning() const { return m_running; }
    int measurements() const { return m_measurements; }  // how often this computer was measured, as far as heard of

  Q_SIGNALS:
    void progressed(const offstage::engine::Message& stage, int done, int total);  // stage: of measuring; empty for forecasts
    void answered(const WhatIfResult& result);

  private:
    struct Kept;  // on the thread

    QThread m_thread;
    QObject* m_there;
    std::shared_ptr<Kept> m_kept;
    std::stop_source m_stop;
    quint64 m_newest = 0;
    bool m_running = false;
    int m_measurements = 0;
};

}  // namespace offstage::ui
