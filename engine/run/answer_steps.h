#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>

#include "engine/run/conversation_cache.h"
#include "engine/run/decode_watch.h"
#include "engine/run/draft_policy.h"
#include "engine/run/forward.h"
#include "engine/run/loaded_model.h"
#include "engine/run/machine_links.h"
#include "engine/run/prompt_reading.h"
#include "engine/run/replan_queue.h"
#include "engine/run/snapshot_publisher.h"

namespace offstage::engine {

// The user's choice of the thresholds below which neurons are left out: any thread sets
// it, and the next step takes it.
class ThetaSelection {
  public:
    // ---- the engine's thread
    // The model's own thresholds are in force; it must outlive close().
    void open(const LoadedModel& model) {
        const std::lock_guard lock(mutex_);
        used_.reset();
        selected_.reset();
        model_ = &model;
    }
    void close() {
        const std::lock_guard lock(mutex_);
        model_ = nullptr;
    }
    // Between two steps.
    void apply(LoadedModel& model) {
        const std::optional<ThetaChoice> selected = [this] {
            const std::lock_guard lock(mutex_);
            return selected_;
        }();
        if (selected == used_) return;
        model.use_theta(selected);
        used_ = selected;
    }

    // ---- any thread
    // Throws Error (kInvalidInput): out of range, or the model has no such
    // thresholds.
    void select(const ThetaChoice& choice) {
        check_theta(choice.theta);
        if (choice.loss != 0) check_theta_loss(choice.loss);
        const std::lock_guard lock(mutex_);
        if (model_ != nullptr) static_cast<void>(model_->thetas_of(choice));
        selected_ = choice;
    }

  private:
    // The lock is held only to copy the choice or to look up a loss in the model.
    std::mutex mutex_;
    std::optional<ThetaChoice> selected_;  // nothing: as opened
    const LoadedModel* model_ = nullptr;   // nullptr: none is open
    std::optional<ThetaChoice> used_;      // of the last step; the engine's thread only
};

// The parts of a session that a step changes.
struct SessionParts {
    LoadedModel& model;
    ConversationCache& conversation;
    MachineLinks& machines;
    ThetaSelection& thetas;
    DecodeWatch& watch;
    ReplanQueue& replans;
    SnapshotPublisher& publisher;
    PromptReading& reading;
    DraftPolicy& drafts;
};

// The steps of answers, each with the work of the session around it: before it the
// requests that waited for the end of a step (re-plans, another context, other
// thresholds), and after it the counts and a snapshot. One thread, the engine's.
class AnswerSteps {
  public:
    // The referents must outlive this object.
    explicit AnswerSteps(const SessionParts& parts) : parts_(parts) {}

    // Before an answer's first step.
    void begin_answer() { ended_us_ = 0; }
    // Before each step, and before its tokens are chosen. goes_on: the step is the one
    // behind the last step, which the device may have begun.
    void begin(bool goes_on = false);
    // Tokens that the next step may have.
    std::size_t max_tokens() const { return static_cast<std::size_t>(parts_.model.forward().max_step()); }
    // Runs a step: done, or not (stopped, full). n_prompt, chooser: as for
    // Forward::step(). Throws Error (kDevice).
    Forward::Outcome run(std::span<const Segment> segments, Forward::Logits wanted, const std::stop_token& stop,
                         std::int64_t n_prompt = 0, TokenChooser* chooser = nullptr);
    double last_us() const { return last_us_; }  // of the last step, by the device's clock
    // Whether its time is that of its tokens alone.
    bool last_is_typical() const { return !moved_; }
    // The drafted token tokens[at] of the last step's segment is the answer's.
    void accept_draft(const Segment& segment, std::size_t at);

  private:
    void add(std::span<const Segment> segments);

    const SessionParts parts_;
    double began_us_ = 0;  // the step, including the work before it
    double ended_us_ = 0;  // the step before; 0: none of this answer
    double last_us_ = 0;
    bool moved_ = false;  // a re-plan did something before the step
};

}  // namespace offstage::engine
