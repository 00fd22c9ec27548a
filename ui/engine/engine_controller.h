#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>

#include <QObject>
#include <QThread>
#include <QTimer>

#include "ui/engine/engine_values.h"

namespace offstage::engine {
class AnswerQueue;
}

namespace offstage::ui {

class EngineWorker;

inline bool isOver(engine::ReplanState state) {
    return state != engine::ReplanState::kWaiting && state != engine::ReplanState::kMoving;
}

// The window's side of the engine: owns the thread and the worker, numbers the requests,
// drops results of outdated requests. GUI thread only; only shutdown() waits for the
// engine.
class EngineController : public QObject {
    Q_OBJECT

  public:
    enum class State { NoModel, Loading, Ready, Generating, Stopping };
    Q_ENUM(State)

    explicit EngineController(SessionFactory factory, QObject* parent = nullptr);
    ~EngineController() override;

    State state() const { return m_state; }
    const std::optional<engine::ModelSummary>& model() const { return m_model; }
    // The request of the open model, or of the one being opened.
    const engine::LoadRequest& loadRequest() const { return m_loadRequest; }
    bool isAnswering() const { return m_state == State::Generating || m_state == State::Stopping; }

    // Replaces the model; a running load or answer is stopped and its results dropped.
    void openModel(const engine::LoadRequest& request);
    void cancelLoad();

    // Only when Ready; 0 otherwise.
    RequestId generate(const engine::GenerationRequest& request);
    // The token is set before this returns; answered() follows within one layer's time.
    void stop();
    // Ends a running answer for the window at once (answerInterrupted), and makes the
    // engine drop all conversations.
    void resetConversation();
    // The same, but the KV cache keeps its contents while there is room: for another
    // conversation.
    void beginConversation();

    // tokensCounted() follows: the number of context tokens for these messages.
    RequestId countTokens(const std::vector<engine::ChatMessage>& messages);

    // ---- requests of other programs, and work without haste of the window's own, one at
    // a time, between its answers
    enum class Service { Others, OwnWork };
    // Answers the oldest request; only if Ready and not serving, otherwise nothing
    // happens. The state stays Ready: generate() accepts requests meanwhile and answers
    // them next.
    void serve(std::shared_ptr<engine::AnswerQueue> queue, Service service = Service::Others);
    bool isServing() const { return m_serving; }
    bool isServingOthers() const { return m_serving && m_service == Service::Others; }
    void stopServing();

    // A copied value; nothing before the first load.
    std::optional<engine::Snapshot> snapshot() const;
    // See engine::Session; empty before the first load.
    engine::LayerEvents layerEvents(quint64 from) const;
    std::vector<float> plannedPopularity() const;
    std::vector<engine::ReplanReport> replans() const;

    // ---- other machines that compute experts: for every model from now on, and for the
    // loaded one from the end of a running answer on. Empty: none.
    void setMachines(const engine::JoinMachinesFn& join);
    bool hasMachines() const { return static_cast<bool>(m_machines); }
    // Notes about them since the last call.
    std::vector<engine::Message> takeMachineNotes();

    // ---- the neurons of experts that are left out (engine::LoadRequest::theta): as
    // opened, and as set since.
    const engine::ThetaChoice& theta() const { return m_theta; }
    // From the next step on, also of a running answer. Returns whether the engine can.
    bool setTheta(const engine::ThetaChoice& theta);
    // The theta of the running or last answer; of several the largest, or the last of two
    // kinds.
    const engine::ThetaChoice& answerTheta() const { return m_answerTheta; }

    // ---- changes of budgets, also while an answer is written. They return the report's
    // number, or 0 if impossible now (no model).
    quint64 replan(const engine::ReplanRequest& request);
    // Requests since the model was loaded, by the numbers of the reports.
    const std::map<quint64, engine::ReplanRequest>& replanRequests() const { return m_replanRequests; }
    quint64 changeExperts(const engine::ExpertChange& change);
    void cancelReplan();
    // previewed() follows, unless another model is opened before. 0: not now.
    RequestId requestPreview(const engine::ReplanRequest& request);

    // Stops all work and joins the thread. Idempotent.
    void shutdown();

  Q_SIGNALS:
    void stateChanged(offstage::ui::EngineController::State state);
    void servingChanged(bool serving);
    void loadStarted(const QString& model);
    void loadProgressed(const offstage::engine::LoadProgress& progress);
    void modelLoaded(const offstage::engine::ModelSummary& model);
    // Failures and problems come with the sentence in the window's language.
    void loadFailed(const QString& model, const offstage::ui::EngineFailure& failure);
    void streamed(quint64 id, const offstage::ui::StreamedText& piece);
    // About four times a second until the answer's first token: the number of read
    // tokens, of those that must be read.
    void promptRead(quint64 id, qint64 read, qint64 tokens);
    void answered(quint64 id, const offstage::engine::GenerationResult& result);
    void answerFailed(quint64 id, const offstage::ui::EngineFailure& failure);
    void answerInterrupted(quint64 id);
    void tokensCounted(quint64 id, qint64 tokens);  // -1: the model has nothing to count them with
    // problem: empty, or a sentence with the reason why there is no preview.
    void previewed(quint64 id, const offstage::engine::ReplanPreview& preview, const QString& problem);
    // A re-plan was requested by any part of the program: panels begin to watch
    // replans().
    void replanRequested(quint64 id);
    // It has ended, well or not; what snapshot() says is of after it.
    void replanEnded(const offstage::engine::ReplanReport& report);
    void thetaChanged(const offstage::engine::ThetaChoice& theta);
    // The engine begins to connect to other machines; or it cannot, and why.
    void machinesJoining();
    void machinesFailed(const QString& why);

  private:
    engine::Session* session() const;
    template <typename Ask>
    quint64 ask(Ask&& ask);
    void advance();
    void joinMachines();
    void setState(State state);
    void lookAtReading();
    void follow(quint64 replan);
    void lookAtReplans();
    void interruptAnswer();
    void leaveConversation(void (EngineWorker::*leave)());
    void onLoaded(RequestId id, const engine::ModelSummary& model);
    void onLoadFailed(RequestId id, const EngineFailure& failure);
    void onAnswered(RequestId id, const engine::GenerationResult& result);
    void onAnswerFailed(RequestId id, const EngineFailure& failure);

    QThread m_thread;
    EngineWorker* m_worker;  // deleted on its own thread when that ends
    State m_state = State::NoModel;
    std::optional<engine::ModelSummary> m_model;
    engine::LoadRequest m_loadRequest;
    std::map<quint64, engine::ReplanRequest> m_replanRequests;
    engine::ThetaChoice m_theta;
    engine::ThetaChoice m_answerTheta;
    QString m_loadingModel;
    RequestId m_lastId = 0;
    RequestId m_loadId = 0;      // 0: none
    RequestId m_generateId = 0;  // 0: none
    std::stop_source m_loadStop{std::nostopstate};
    std::stop_source m_generateStop{std::nostopstate};
    std::stop_source m_advanceStop{std::nostopstate};
    std::stop_source m_serveStop{std::nostopstate};
    engine::JoinMachinesFn m_machines;
    std::stop_source m_joinStop{std::nostopstate};
    bool m_serving = false;
    Service m_service = Service::Others;  // of what is being served
    RequestId m_previewsFrom = 0;         // earlier ones are of the model before
    QTimer m_reading;                     // runs until the answer's first token
    std::map<quint64, bool> m_underWay;   // re-plans, and whether one was already seen to have ended
    QTimer m_replanning;                  // runs while there are any
};

}  // namespace offstage::ui
