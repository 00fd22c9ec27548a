#pragma once

#include <memory>

#include <QObject>

#include "engine/run/fit_estimate.h"
#include "ui/base/background_thread.h"
#include "ui/engine/engine_values.h"

namespace offstage::ui {

// Makes estimates on a separate thread; a later request replaces a waiting one. GUI
// thread only.
class FitWorker : public QObject {
    Q_OBJECT

  public:
    explicit FitWorker(QObject* parent = nullptr);

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
    void cancel() { m_thread.stop(); }

  Q_SIGNALS:
    void estimated(const offstage::engine::FitEstimate& estimate);
    void failed(const offstage::ui::EngineFailure& failure);
    void measured(double share);  // so far, of one format's costs

  private:
    enum class Measures { kNothing, kUnknown, kAnew };
    void begin(const engine::LoadRequest& request, const engine::FitHeld& held, Measures measures);

    std::unique_ptr<engine::FitEstimator> m_estimator;  // for the last model, used on the thread only
    BackgroundThread m_thread;
};

}  // namespace offstage::ui
