#include "ui/engine/engine_controller.h"

#include <utility>

#include "engine/serve/answer_queue.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/engine_worker.h"

namespace offstage::ui {

namespace {

constexpr int kReadingIntervalMs = 250;
constexpr int kReplanIntervalMs = 50;
constexpr std::size_t kMostReplanRequests = 256;  // as many as the engine keeps reports

// The choice to show for an answer that was written with one after the other.
engine::ThetaChoice moreLeftOut(const engine::ThetaChoice& before, const engine::ThetaChoice& now) {
    if (!now.leaves_out() || !before.leaves_out()) {
        return now.leaves_out() ? now : before;
    }
    const bool isSameKind = (before.loss > 0) == (now.loss > 0);
    engine::ThetaChoice more = isSameKind && before.theta + before.loss > now.theta + now.loss ? before : now;
    if (before.accepts_guesses()) {
        more.guesses = before.guesses;
    }
    return more;
}

}  // namespace

EngineController::EngineController(SessionFactory factory, QObject* parent)
    : QObject(parent), m_worker(new EngineWorker(std::move(factory))) {
    registerEngineValues();
    m_worker->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_worker, &QObject::deleteLater);

    connect(m_worker, &EngineWorker::loadProgressed, this, [this](RequestId id, const engine::LoadProgress& progress) {
        if (id == m_loadId) {
            Q_EMIT loadProgressed(progress);
        }
    });
    connect(m_worker, &EngineWorker::loaded, this, &EngineController::onLoaded);
    connect(m_worker, &EngineWorker::loadFailed, this, &EngineController::onLoadFailed);
    connect(m_worker, &EngineWorker::streamed, this, [this](RequestId id, const StreamedText& piece) {
        if (id == m_generateId) {
            m_reading.stop();
            Q_EMIT streamed(id, piece);
        }
    });
    m_reading.setInterval(kReadingIntervalMs);
    connect(&m_reading, &QTimer::timeout, this, &EngineController::lookAtReading);
    m_replanning.setInterval(kReplanIntervalMs);
    connect(&m_replanning, &QTimer::timeout, this, &EngineController::lookAtReplans);
    connect(m_worker, &EngineWorker::previewed, this,
            [this](RequestId id, const engine::ReplanPreview& preview, const engine::Message& problem) {
                if (id >= m_previewsFrom) {
                    Q_EMIT previewed(id, preview, engineText(problem));
                }
            });
    connect(m_worker, &EngineWorker::joining, this, &EngineController::machinesJoining);
    connect(m_worker, &EngineWorker::joinFailed, this,
            [this](const EngineFailure& failure) { Q_EMIT machinesFailed(sentenceOf(failure)); });
    connect(m_worker, &EngineWorker::tokensCounted, this, &EngineController::tokensCounted);
    connect(m_worker, &EngineWorker::answered, this, &EngineController::onAnswered);
    connect(m_worker, &EngineWorker::answerFailed, this, &EngineController::onAnswerFailed);

    connect(m_worker, &EngineWorker::served, this, [this] {
        m_serving = false;
        Q_EMIT servingChanged(false);
    });

    m_thread.setObjectName(QStringLiteral("engine"));
    m_thread.start();
}

EngineController::~EngineController() {
    shutdown();
}

void EngineController::shutdown() {
    if (!m_worker) {
        return;
    }
    m_loadStop.request_stop();
    m_generateStop.request_stop();
    m_advanceStop.request_stop();
    m_serveStop.request_stop();
    m_joinStop.request_stop();
    m_loadId = 0;
    m_generateId = 0;
    m_thread.quit();
    m_thread.wait();
    m_worker = nullptr;
    m_model.reset();
    m_state = State::NoModel;
}

void EngineController::openModel(const engine::LoadRequest& request) {
    if (!m_worker) {
        return;
    }
    interruptAnswer();
    m_advanceStop.request_stop();
    m_serveStop.request_stop();
    m_joinStop.request_stop();
    m_previewsFrom = m_lastId + 1;
    m_underWay.clear();
    m_loadStop.request_stop();
    m_loadStop = std::stop_source();
    m_loadId = ++m_lastId;
    m_model.reset();
    m_loadRequest = request;
    m_replanRequests.clear();
    m_theta = m_answerTheta = request.theta_choice();
    m_loadingModel = QString::fromStdString(request.model);
    setState(State::Loading);
    Q_EMIT loadStarted(m_loadingModel);
    QMetaObject::invokeMethod(
        m_worker,
        [worker = m_worker, id = m_loadId, request, stop = m_loadStop.get_token()] { worker->load(id, request, stop); },
        Qt::QueuedConnection);
    if (m_machines) {
        joinMachines();
    }
}

void EngineController::setMachines(const engine::JoinMachinesFn& join) {
    const bool any = m_machines || join;
    m_machines = join;
    if (any && m_worker && (m_model || m_loadId != 0)) {
        joinMachines();
    }
}

// Queued after the running work: a load, an answer.
void EngineController::joinMachines() {
    m_advanceStop.request_stop();
    m_joinStop.request_stop();
    m_joinStop = std::stop_source();
    QMetaObject::invokeMethod(
        m_worker,
        [worker = m_worker, machines = m_machines, stop = m_joinStop.get_token()] { worker->join(machines, stop); },
        Qt::QueuedConnection);
    advance();
}

std::vector<engine::Message> EngineController::takeMachineNotes() {
    engine::Session* session = this->session();
    return session ? session->take_machine_notes() : std::vector<engine::Message>();
}

void EngineController::cancelLoad() {
    m_loadStop.request_stop();
}

RequestId EngineController::generate(const engine::GenerationRequest& request) {
    if (!m_worker || m_state != State::Ready) {
        return 0;
    }
    m_advanceStop.request_stop();  // remaining work moves between the answer's steps
    m_generateStop = std::stop_source();
    m_generateId = ++m_lastId;
    m_answerTheta = m_theta;
    setState(State::Generating);
    m_reading.start();
    QMetaObject::invokeMethod(
        m_worker,
        [worker = m_worker, id = m_generateId, request, stop = m_generateStop.get_token()] {
            worker->generate(id, request, stop);
        },
        Qt::QueuedConnection);
    advance();
    return m_generateId;
}

void EngineController::stop() {
    if (m_state != State::Generating) {
        return;
    }
    m_generateStop.request_stop();
    setState(State::Stopping);
    if (m_serving) {  // the answer has not begun: it ends here, not behind another program's
        QMetaObject::invokeMethod(
            this,
            [this, id = m_generateId] {
                engine::GenerationResult nothing;
                nothing.finish = engine::FinishReason::kStopped;
                onAnswered(id, nothing);
            },
            Qt::QueuedConnection);
    }
}

void EngineController::serve(std::shared_ptr<engine::AnswerQueue> queue, Service service) {
    if (!m_worker || m_state != State::Ready || m_serving) {
        return;
    }
    m_serving = true;
    m_service = service;
    m_advanceStop.request_stop();  // remaining work moves between the answer's steps
    m_serveStop = std::stop_source();
    Q_EMIT servingChanged(true);
    QMetaObject::invokeMethod(
        m_worker,
        [worker = m_worker, queue = std::move(queue), stop = m_serveStop.get_token()] { worker->serve(*queue, stop); },
        Qt::QueuedConnection);
    advance();
}

void EngineController::stopServing() {
    m_serveStop.request_stop();
}

void EngineController::resetConversation() {
    leaveConversation(&EngineWorker::resetConversation);
}

void EngineController::beginConversation() {
    leaveConversation(&EngineWorker::beginConversation);
}

void EngineController::leaveConversation(void (EngineWorker::*leave)()) {
    if (!m_worker) {
        return;
    }
    interruptAnswer();
    QMetaObject::invokeMethod(
        m_worker, [worker = m_worker, leave] { (worker->*leave)(); }, Qt::QueuedConnection);
    if (m_state == State::Generating || m_state == State::Stopping) {
        setState(State::Ready);
    }
}

RequestId EngineController::countTokens(const std::vector<engine::ChatMessage>& messages) {
    if (!m_worker) {
        return 0;
    }
    const RequestId id = ++m_lastId;
    QMetaObject::invokeMethod(
        m_worker, [worker = m_worker, id, messages] { worker->countTokens(id, messages); }, Qt::QueuedConnection);
    return id;
}

void EngineController::interruptAnswer() {
    if (m_generateId == 0) {
        return;
    }
    m_generateStop.request_stop();
    const RequestId id = std::exchange(m_generateId, 0);
    Q_EMIT answerInterrupted(id);
}

std::optional<engine::Snapshot> EngineController::snapshot() const {
    const engine::Session* session = m_worker ? m_worker->session() : nullptr;
    if (!session) {
        return std::nullopt;
    }
    return session->snapshot();
}

engine::Session* EngineController::session() const {
    return m_worker ? m_worker->session() : nullptr;
}

engine::LayerEvents EngineController::layerEvents(quint64 from) const {
    const engine::Session* session = this->session();
    return session ? session->layer_events(from) : engine::LayerEvents{from, {}, {}};
}

std::vector<float> EngineController::plannedPopularity() const {
    const engine::Session* session = this->session();
    return session ? session->planned_popularity() : std::vector<float>();
}

std::vector<engine::ReplanReport> EngineController::replans() const {
    const engine::Session* session = this->session();
    return session ? session->replans() : std::vector<engine::ReplanReport>();
}

template <typename Ask>
quint64 EngineController::ask(Ask&& ask) {
    engine::Session* session = this->session();
    if (!session || !m_model) {
        return 0;
    }
    quint64 id = 0;
    try {
        id = ask(*session);
    } catch (const engine::Error&) {
        return 0;  // the model has just gone, or cannot do this at all
    }
    advance();
    return id;
}

// Queued after a running answer: little work is left then.
void EngineController::advance() {
    if (m_advanceStop.stop_requested() || !m_advanceStop.stop_possible()) {
        m_advanceStop = std::stop_source();
    }
    QMetaObject::invokeMethod(
        m_worker, [worker = m_worker, stop = m_advanceStop.get_token()] { worker->advance(stop); },
        Qt::QueuedConnection);
}

bool EngineController::setTheta(const engine::ThetaChoice& theta) {
    engine::Session* session = this->session();
    if (!session || !m_model) {
        return false;
    }
    try {
        session->set_theta(theta);
    } catch (const engine::Error&) {
        return false;  // the model has just gone, or cannot do this at all
    }
    m_theta = theta;
    m_answerTheta = isAnswering() ? moreLeftOut(m_answerTheta, theta) : theta;
    Q_EMIT thetaChanged(theta);
    return true;
}

quint64 EngineController::replan(const engine::ReplanRequest& request) {
    const quint64 id = ask([&](engine::Session& session) { return session.replan(request); });
    if (id != 0) {
        m_replanRequests[id] = request;
        if (m_replanRequests.size() > kMostReplanRequests) {
            m_replanRequests.erase(m_replanRequests.begin());
        }
        follow(id);
    }
    return id;
}

quint64 EngineController::changeExperts(const engine::ExpertChange& change) {
    const quint64 id = ask([&](engine::Session& session) { return session.change_experts(change); });
    if (id != 0) {
        follow(id);
    }
    return id;
}

void EngineController::follow(quint64 replan) {
    m_underWay[replan] = false;
    m_replanning.start();
    Q_EMIT replanRequested(replan);
}

// An end is told a moment later: the engine writes its report before the snapshot.
void EngineController::lookAtReplans() {
    for (const engine::ReplanReport& report : replans()) {
        const auto one = m_underWay.find(report.id);
        if (one == m_underWay.end() || !isOver(report.state) || !std::exchange(one->second, true)) {
            continue;
        }
        m_underWay.erase(one);
        Q_EMIT replanEnded(report);
    }
    if (m_underWay.empty()) {
        m_replanning.stop();
    }
}

void EngineController::cancelReplan() {
    ask([](engine::Session& session) {
        session.cancel_replan();
        return quint64{1};
    });
}

RequestId EngineController::requestPreview(const engine::ReplanRequest& request) {
    const RequestId id = ++m_lastId;
    const bool asked = ask([&](engine::Session& session) {
                           // The worker exists as long as its session; this object may be
                           // destroyed by then.
                           session.request_preview(
                               request, [worker = m_worker, id](const auto& preview, const engine::Message& problem) {
                                   Q_EMIT worker->previewed(id, preview.value_or(engine::ReplanPreview()), problem);
                               });
                           return quint64{1};
                       }) != 0;
    return asked ? id : 0;
}

void EngineController::lookAtReading() {
    const engine::Session* session = this->session();
    if (!session || m_state != State::Generating) {
        m_reading.stop();
        return;
    }
    const engine::PromptProgress progress = session->prompt_progress();
    if (progress.n_tokens > 0) {
        Q_EMIT promptRead(m_generateId, static_cast<qint64>(progress.n_read), progress.n_tokens);
    }
}

void EngineController::setState(State state) {
    if (state != m_state) {
        m_state = state;
        Q_EMIT stateChanged(state);
    }
}

void EngineController::onLoaded(RequestId id, const engine::ModelSummary& model) {
    if (id != m_loadId) {
        return;
    }
    m_loadId = 0;
    m_model = model;
    if (m_loadRequest.quality.max_kl > 0) {  // the plan has chosen the thresholds
        m_theta =
            m_answerTheta = {model.theta_loss > 0 ? 0 : model.theta, model.theta_loss,
                             model.accepts_guesses ? engine::NeuronGuesses::kAccept : engine::NeuronGuesses::kCorrect};
        Q_EMIT thetaChanged(m_theta);
    }
    setState(State::Ready);
    // A listener of the state may already have acted (sent a queued prompt, opened
    // another model).
    if (m_model) {
        Q_EMIT modelLoaded(*m_model);
    }
}

void EngineController::onLoadFailed(RequestId id, const EngineFailure& failure) {
    if (id != m_loadId) {
        return;
    }
    m_loadId = 0;
    setState(State::NoModel);
    Q_EMIT loadFailed(m_loadingModel, {failure.kind, sentenceOf(failure), failure.detail, failure.message});
}

void EngineController::onAnswered(RequestId id, const engine::GenerationResult& result) {
    if (id != m_generateId) {
        return;
    }
    m_generateId = 0;
    setState(State::Ready);
    Q_EMIT answered(id, result);
}

void EngineController::onAnswerFailed(RequestId id, const EngineFailure& failure) {
    if (id != m_generateId) {
        return;
    }
    m_generateId = 0;
    setState(State::Ready);
    Q_EMIT answerFailed(id, {failure.kind, sentenceOf(failure), failure.detail, failure.message});
}

}  // namespace offstage::ui
