#include "engine/serve/queued_work.h"

#include <utility>

#include "engine/error.h"
#include "engine/serve/serve_messages.h"

namespace offstage::engine {

QueuedWork::QueuedWork(Session& session, Work work, std::function<void()> answered)
    : session_(session), answered_(std::move(answered)) {
    thread_ = std::jthread([this, work = std::move(work)]() mutable {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return turn_ == Turn::kWork; });
        }
        work(*this);
        work = nullptr;  // with all that it owns
        const std::lock_guard lock(mutex_);
        turn_ = Turn::kEngine;
        changed_.notify_all();
    });
}

// Returns when it is this thread's turn again.
void QueuedWork::pass_to(Turn other) {
    std::unique_lock lock(mutex_);
    const Turn mine = std::exchange(turn_, other);
    changed_.notify_all();
    changed_.wait(lock, [&] { return turn_ == mine; });
}

std::optional<AnswerCall> QueuedWork::step() {
    pass_to(Turn::kWork);
    return std::exchange(asked_, std::nullopt);
}

GenerationResult QueuedWork::generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                      std::stop_token stop) {
    asked_ = AnswerCall{&request, &on_delta, std::move(stop),
                        // With a copy: this object may be gone before the call returns.
                        [this, answered = answered_](GenerationResult result, const std::exception_ptr& problem) {
                            result_ = std::move(result);
                            problem_ = problem;
                            answered();
                        }};
    pass_to(Turn::kEngine);
    if (problem_ != nullptr) std::rethrow_exception(std::exchange(problem_, nullptr));
    return std::move(result_);
}

// Work beside other answers changes nothing that these need.
ModelSummary QueuedWork::load(const LoadRequest&, const LoadProgressFn&, std::stop_token) {
    throw Error(ErrorKind::kUnsupported, messages::queued_work_changes_nothing);
}
void QueuedWork::unload() {
    throw Error(ErrorKind::kUnsupported, messages::queued_work_changes_nothing);
}
void QueuedWork::reset_conversation() {
    throw Error(ErrorKind::kUnsupported, messages::queued_work_changes_nothing);
}

}  // namespace offstage::engine
