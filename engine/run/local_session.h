#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/run/answer_record.h"
#include "engine/run/answer_strategy.h"
#include "engine/run/decode_watch.h"
#include "engine/run/loaded_model.h"
#include "engine/run/prefix_store.h"
#include "engine/run/replan_queue.h"
#include "engine/run/session.h"
#include "engine/run/snapshot_publisher.h"
#include "engine/telemetry/routing_recorder.h"

namespace offstage::engine {

// The engine on this machine, returned by Session::create().
class LocalSession final : public Session {
  public:
    ModelSummary load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) override;
    void unload() override;
    bool is_loaded() const override { return model_ != nullptr; }
    std::int64_t count_tokens(const std::vector<ChatMessage>& messages) const override;
    std::string text_of(std::span<const TokenId> tokens) const override;
    GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              std::stop_token stop) override;
    void reset_conversation() override;
    void begin_conversation() override;
    Snapshot snapshot() const override;
    LayerEvents layer_events(std::uint64_t i) const override { return publisher_.layer_events(i); }
    PromptProgress prompt_progress() const override { return reading_.progress(); }
    std::vector<float> planned_popularity() const override { return publisher_.planned_popularity(); }
    void set_theta(const ThetaChoice& choice) override;
    void join(const JoinMachinesFn& join, std::stop_token stop) override;
    std::vector<Message> take_machine_notes() override;
    ReplanPreview preview(const ReplanRequest& request) override;
    void request_preview(const ReplanRequest& request, PreviewFn done) override;
    std::uint64_t replan(const ReplanRequest& request) override { return replans_.replan(request); }
    void cancel_replan() override { replans_.cancel(); }
    std::uint64_t change_experts(const ExpertChange& change) override { return replans_.change_experts(change); }
    std::vector<ReplanReport> replans() const override { return replans_.reports(); }
    void advance(std::stop_token stop) override;

    LoadedModel* model() { return model_.get(); }  // nullptr: none; for tests and benches

  private:
    LoadedModel& require_model() const;
    // By the device's clock: on an emulated device, accounted time.
    double seconds_since(double start_us) const;
    // Runs the prompt's tokens, with logits of the last one; false when stopped. Throws
    // Error (kDevice).
    bool feed(std::span<const TokenId> tokens, const std::stop_token& stop);
    // The same, with the log probability of each token of the prompt; the KV cache holds
    // nothing before.
    bool feed_scored(const std::vector<TokenId>& prompt, int n_alternatives, const std::stop_token& stop,
                     std::vector<TokenChoice>& choices);
    // Before each step, and before its tokens are chosen: carries out requests that wait
    // for the end of a step, and adapts to their changes.
    void begin_step();
    // Tokens that the next step may have.
    std::size_t max_step() const;
    // Runs a step and handles its outcome: done, or not (stopped, full). Throws Error
    // (kDevice).
    Forward::Outcome step(std::span<const Segment> segments, Forward::Logits wanted, const std::stop_token& stop,
                          std::int64_t n_prompt = 0);
    // The answer's part of generate(), after the prompt was fed.
    void answer(AnswerStrategy& strategy, const GenerationRequest& request, const TextDeltaFn& on_delta,
                const std::stop_token& stop, GenerationResult& result);
    // The model's logits, or a copy in which no token ends the turn. Valid until the next
    // call.
    std::span<const float> possible(std::span<const float> logits, const GenerationRequest& request);
    void follow_context();  // of the present plan
    void part();            // from the machines that were joined
    void join_again(const std::stop_token& stop);
    void publish(SnapshotPublisher::When when);

    PromptReading reading_;  // of the present answer
    std::unique_ptr<LoadedModel> model_;
    // Only the engine's thread writes this, with the lock held. The lock is held only for
    // short reads of the machines' state, never while machines are being joined.
    std::unique_ptr<JoinedMachines> machines_;
    std::uint64_t machines_revision_ = 0;  // of all machines joined earlier
    std::vector<Message> machine_notes_;   // of those
    mutable std::mutex machines_mutex_;    // for these three
    DecodeWatch watch_;
    ReplanQueue replans_;
    SnapshotPublisher publisher_;
    RoutingRecorder recorder_;  // of the conversation
    PrefixStore kept_;          // of other conversations; these two are destroyed before the model
    CachedPrefix running_;      // the conversation's
    AnswerRecord record_;       // of the present answer
    // The next step's thresholds, and the model that they were set for; nothing: as
    // opened. The lock is held only to copy the one or to look up a loss in the other.
    std::optional<ThetaChoice> theta_;
    const LoadedModel* theta_model_ = nullptr;
    std::mutex theta_mutex_;                 // for these two
    std::optional<ThetaChoice> used_theta_;  // of the last step
    double started_us_ = 0;                  // of the answer, by the device's clock
    double step_began_us_ = 0;               // including the work before it
    bool moved_ = false;                     // a re-plan did something before the step
    std::vector<float> endless_logits_;      // see possible()
};

}  // namespace offstage::engine
