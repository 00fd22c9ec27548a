#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/run/session.h"

namespace offstage::engine {

// A piece of work that is done beside others: on a thread of its own, in turns with the
// engine's, so that never both of them run. The work's generate() leaves the request to
// the engine's thread, which makes its answer together with the others'.
class QueuedWork final : private Session {
  public:
    using Work = std::function<void(Session& session)>;

    // answered: called on the engine's thread when an answer that the work asked for was
    // made, or could not be: step() comes next, then or later.
    QueuedWork(Session& session, Work work, std::function<void()> answered);
    // When step() has returned nothing.
    ~QueuedWork() override = default;
    QueuedWork(const QueuedWork&) = delete;
    QueuedWork& operator=(const QueuedWork&) = delete;

    // Has the work run until it asks for an answer, or ends: nullopt.
    std::optional<AnswerCall> step();

  private:
    enum class Turn { kEngine, kWork };
    void pass_to(Turn other);

    // ---- Session, on the work's thread
    ModelSummary load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) override;
    void unload() override;
    void reset_conversation() override;
    bool is_loaded() const override { return session_.is_loaded(); }
    std::int64_t count_tokens(const std::vector<ChatMessage>& messages) const override {
        return session_.count_tokens(messages);
    }
    std::string text_of(std::span<const TokenId> tokens) const override { return session_.text_of(tokens); }
    GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              std::stop_token stop) override;
    Snapshot snapshot() const override { return session_.snapshot(); }

    Session& session_;
    const std::function<void()> answered_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Turn turn_ = Turn::kEngine;
    std::optional<AnswerCall> asked_;
    GenerationResult result_;
    std::exception_ptr problem_;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace offstage::engine
