#include "ui/panels/what_if_worker.h"

#include <functional>

#include "engine/error.h"

namespace offstage::ui {

namespace {

constexpr quint64 kGainBytes = quint64{1} << 30;

using StepDone = std::function<void()>;

void answer(const engine::WhatIf& model, const WhatIfChoice& choice, WhatIfResult& result, const StepDone& stepDone,
            const std::stop_token& stop) {
    if (!choice.here.isEmpty()) {
        result.here = model.on(engine::find_hardware_profile(choice.here.toStdString()), choice.hereBudget, {});
    }
    for (int i = 0; i < choice.profiles.size() && !stop.stop_requested(); ++i) {
        const engine::HardwareProfile profile = engine::find_hardware_profile(choice.profiles[i].toStdString());
        result.rows.push_back(model.on(profile, 0, choice.cluster));
        stepDone();
        if (i != choice.chosen) {
            continue;
        }
        result.curve = model.curve(profile, WhatIfWorker::kCurvePoints, choice.cluster, stop);
        stepDone();
        result.machines = model.machines(profile, choice.cluster.network, WhatIfWorker::kMostMachines, stop);
        stepDone();
        const quint64 at = choice.budget > 0 ? choice.budget : profile.memory_bytes - profile.reserved_bytes;
        result.now = model.on(profile, at, choice.cluster);
        result.more = model.on(profile, at + kGainBytes, choice.cluster);
    }
}

}  // namespace

struct WhatIfWorker::Kept {
    std::unique_ptr<engine::WhatIf> model;
    quint64 number = 0;
    std::int64_t context = 0, keptContext = 0;
    engine::ThetaChoice theta;
    engine::KvType kv = engine::KvType::kBf16;

    bool isOf(quint64 asked, const engine::LoadRequest& request) const {
        return model && number == asked && context == request.context && keptContext == request.kept_context &&
               kv == request.kv && theta == request.theta_choice();
    }
};

WhatIfWorker::WhatIfWorker(QObject* parent) : QObject(parent), m_kept(std::make_shared<Kept>()), m_thread(this) {}

void WhatIfWorker::ask(const engine::LoadRequest& request, quint64 model, const WhatIfChoice& choice) {
    m_running = true;
    m_thread.start([this, request, model, choice](const BackgroundThread::Reply& reply, const std::stop_token& stop) {
        const auto progress = [&](const engine::Message& stage, int done, int total) {
            if (total > 0) {
                reply([this, stage, done, total] { Q_EMIT progressed(stage, done, total); });
            }
        };
        Kept* const kept = m_kept.get();
        WhatIfResult result;
        result.choice = choice;
        try {
            if (!kept->isOf(model, request)) {
                kept->model.reset();
                kept->model = std::make_unique<engine::WhatIf>(
                    request,
                    [&progress](const engine::LoadProgress& p) {
                        progress(p.stage, static_cast<int>(p.bytes_done), static_cast<int>(p.bytes_total));
                    },
                    stop);
                kept->number = model;
                kept->context = request.context;
                kept->keptContext = request.kept_context;
                kept->kv = request.kv;
                kept->theta = request.theta_choice();
                QMetaObject::invokeMethod(
                    this, [this] { ++m_measurements; }, Qt::QueuedConnection);
            }
            int done = 0;
            const int all = static_cast<int>(choice.profiles.size()) + 2;
            kept->model->set_overhead_us(choice.overheadUs);
            answer(
                *kept->model, choice, result, [&] { progress({}, ++done, all); }, stop);
            result.cancelled = stop.stop_requested();
        } catch (const engine::Error& error) {
            result.cancelled = error.kind() == engine::ErrorKind::kCancelled;
            result.problem = engine::message_of(error);
        } catch (const std::exception& error) {
            result.problem = engine::message_of(error);
        }
        reply([this, result] {
            m_running = false;
            Q_EMIT answered(result);
        });
    });
}

void WhatIfWorker::giveUp() {
    m_thread.giveUp();
    m_running = false;
}

}  // namespace offstage::ui
