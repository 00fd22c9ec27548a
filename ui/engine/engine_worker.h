#pragma once

#include <atomic>
#include <stop_token>

#include <QObject>

#include "ui/engine/engine_values.h"

namespace offstage::engine {
class AnswerQueue;
}

namespace offstage::ui {

// Lives on the engine's thread and owns the session. Its functions run there (queued by
// EngineController) and block it; a stop request bypasses the event loop, through the
// token. Exceptions never leave this class: the engine's become a signal.
class EngineWorker : public QObject {
    Q_OBJECT

  public:
    explicit EngineWorker(SessionFactory factory);
    ~EngineWorker() override;

    void load(RequestId id, const engine::LoadRequest& request, const std::stop_token& stop);
    void generate(RequestId id, const engine::GenerationRequest& request, const std::stop_token& stop);
    void resetConversation();
    void beginConversation();
    void countTokens(RequestId id, const std::vector<engine::ChatMessage>& messages);
    // Continues moving experts between two answers, until all is done or a stop is
    // requested.
    void advance(const std::stop_token& stop);

    // Other machines compute experts of the loaded model, if there is one; they replace
    // the machines before.
    void join(const engine::JoinMachinesFn& machines, const std::stop_token& stop);

    // Any thread. Null until the session exists; then valid for the worker's lifetime.
    // Another thread may call only those functions that engine::Session allows for any
    // thread.
    engine::Session* session() const { return m_published.load(std::memory_order_acquire); }

    // The oldest request of another program, if one waits.
    void serve(engine::AnswerQueue& queue, const std::stop_token& stop);

  Q_SIGNALS:
    void served();
    void joining();
    void joinFailed(const offstage::ui::EngineFailure& failure);
    void loadProgressed(quint64 id, const offstage::engine::LoadProgress& progress);
    void loaded(quint64 id, const offstage::engine::ModelSummary& model);
    void loadFailed(quint64 id, const offstage::ui::EngineFailure& failure);
    void streamed(quint64 id, const offstage::ui::StreamedText& piece);
    void answered(quint64 id, const offstage::engine::GenerationResult& result);
    void answerFailed(quint64 id, const offstage::ui::EngineFailure& failure);
    void tokensCounted(quint64 id, qint64 tokens);
    void previewed(quint64 id, const offstage::engine::ReplanPreview& preview,
                   const offstage::engine::Message& problem);

  private:
    engine::Session& ensureSession();
    void leaveConversation(void (engine::Session::*leave)());

    SessionFactory m_factory;
    std::unique_ptr<engine::Session> m_session;
    std::atomic<engine::Session*> m_published = nullptr;
};

}  // namespace offstage::ui
