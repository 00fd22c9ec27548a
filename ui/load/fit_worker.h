#pragma once

#include <memory>
#include <stop_token>

#include <QObject>
#include <QThread>

#include "engine/run/fit_estimate.h"
#include "ui/engine/engine_values.h"

namespace offstage::ui {

// Makes estimates on a separate thread; a later request replaces a waiting one. GUI
// thread only.
class FitWorker : public QObject {
    Q_OBJECT

  public:
    explicit FitWorker(QObject* parent = nullptr);
    ~FitWorker() override;

    // estimated() or failed() follows for the newest request only. Ends a measurement.
    void ask(const engine::LoadRequest& request, const engine::FitHeld& held) {
        begin(request, held, Measures::kNothing);
    }
    // The same after measuring the costs that its forecast needs (`anew`: even known
    // ones), which takes some seconds.
    void measure(const engine::LoadRequest& request, const engine::FitHeld& held, bool anew) {
        begin(request, held, anew ? Measures::kAnew : Measures::kUnknown);
    }
    // failed() with ErrorKind::kCancelled follows.
    void cancel() { m_stop.request_stop(); }
    bool isBusy() const { return m_pending > 0; }

  Q_SIGNALS:
    void estimated(const offstage::engine::FitEstimate& estimate);
    void failed(const offstage::ui::EngineFailure& failure);
    void measured(double share);  // so far, of one format's costs

  private:
    struct Bench;  // state of the thread
    enum class Measures { kNothing, kUnknown, kAnew };
    void begin(const engine::LoadRequest& request, const engine::FitHeld& held, Measures measures);

    QThread m_thread;
    std::shared_ptr<Bench> m_bench;
    QObject* m_there;  // takes the calls on the thread
    quint64 m_newest = 0;
    int m_pending = 0;
    std::stop_source m_stop;  // of the newest
};

}  // namespace offstage::ui
