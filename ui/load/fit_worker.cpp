#include "ui/load/fit_worker.h"

#include <atomic>
#include <optional>

namespace offstage::ui {

struct FitWorker::Bench {
    std::atomic<quint64> newest = 0;
    std::unique_ptr<engine::FitEstimator> estimator;  // for the last model, used on the thread only
};

FitWorker::FitWorker(QObject* parent) : QObject(parent), m_bench(std::make_shared<Bench>()), m_there(new QObject) {
    m_there->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_there, &QObject::deleteLater);
    m_thread.setObjectName(QStringLiteral("fit estimate"));
    m_thread.start();
}

FitWorker::~FitWorker() {
    m_bench->newest = ~quint64{0};  // waiting requests are outdated
    m_stop.request_stop();
    m_thread.quit();
    m_thread.wait();
}

void FitWorker::begin(const engine::LoadRequest& request, const engine::FitHeld& held, Measures measures) {
    m_stop.request_stop();
    m_stop = std::stop_source();
    const quint64 id = ++m_newest;
    m_bench->newest = id;
    ++m_pending;
    const auto work = [this, bench = m_bench, id, request, held, measures, stop = m_stop.get_token()] {
        std::optional<engine::FitEstimate> estimate;
        EngineFailure failure;
        if (bench->newest == id) {
            try {
                if (!bench->estimator || bench->estimator->model() != request.model) {
                    bench->estimator.reset();
                    bench->estimator = std::make_unique<engine::FitEstimator>(request.model);
                }
                const auto progress = [this, id](const engine::LoadProgress& done) {
                    const double share = static_cast<double>(done.bytes_done) / static_cast<double>(done.bytes_total);
                    QMetaObject::invokeMethod(
                        this,
                        [this, id, share] {
                            if (id == m_newest) {
                                Q_EMIT measured(share);
                            }
                        },
                        Qt::QueuedConnection);
                };
                estimate = measures == Measures::kNothing
                               ? bench->estimator->estimate(request, held)
                               : bench->estimator->measure(request, held, progress, stop, measures == Measures::kAnew);
            } catch (const engine::Error& error) {
                failure = {error.kind(), {}, QString::fromStdString(error.detail()), error.message()};
            } catch (const std::exception& error) {
                failure = {engine::ErrorKind::kInternal,
                           tr("The model could not be looked at."),
                           QString::fromUtf8(error.what()),
                           {}};
            }
        }
        // The destructor joins this thread: `this` is there while the thread runs.
        QMetaObject::invokeMethod(
            this,
            [this, id, estimate, failure] {
                --m_pending;
                if (id != m_newest) {
                    return;
                }
                if (estimate) {
                    Q_EMIT estimated(*estimate);
                } else {
                    Q_EMIT failed(failure);
                }
            },
            Qt::QueuedConnection);
    };
    QMetaObject::invokeMethod(m_there, work, Qt::QueuedConnection);
}

}  // namespace offstage::ui
