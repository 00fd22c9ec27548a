#include "ui/load/fit_worker.h"

namespace offstage::ui {

FitWorker::FitWorker(QObject* parent) : QObject(parent), m_thread(this) {}

void FitWorker::begin(const engine::LoadRequest& request, const engine::FitHeld& held, Measures measures) {
    m_thread.start([this, request, held, measures](const BackgroundThread::Reply& reply, const std::stop_token& stop) {
        if (!reply.isWanted()) {
            return;
        }
        const auto fail = [&](const EngineFailure& failure) { reply([this, failure] { Q_EMIT failed(failure); }); };
        try {
            if (!m_estimator || m_estimator->model() != request.model) {
                m_estimator.reset();
                m_estimator = std::make_unique<engine::FitEstimator>(request.model);
            }
            const auto progress = [&](const engine::LoadProgress& done) {
                const double share = static_cast<double>(done.bytes_done) / static_cast<double>(done.bytes_total);
                reply([this, share] { Q_EMIT measured(share); });
            };
            const engine::FitEstimate estimate =
                measures == Measures::kNothing
                    ? m_estimator->estimate(request, held)
                    : m_estimator->measure(request, held, progress, stop, measures == Measures::kAnew);
            reply([this, estimate] { Q_EMIT estimated(estimate); });
        } catch (const engine::Error& error) {
            fail({error.kind(), {}, QString::fromStdString(error.detail()), error.message()});
        } catch (const std::exception& error) {
            fail({engine::ErrorKind::kInternal,
                  tr("The model could not be looked at."),
                  QString::fromUtf8(error.what()),
                  {}});
        }
    });
}

}  // namespace offstage::ui
