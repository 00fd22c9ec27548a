#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/eval/routing_trace.h"
#include "engine/plan/forecast.h"
#include "engine/run/kv_pool.h"
#include "engine/run/loaded_model.h"
#include "engine/run/planning_thread.h"
#include "engine/run/replanner.h"
#include "engine/run/sampler.h"
#include "engine/run/session.h"
#include "engine/run/snapshot_filler.h"
#include "engine/telemetry/decode_meter.h"
#include "engine/telemetry/routing_recorder.h"
#include "engine/telemetry/snapshot_board.h"

namespace offstage::engine {

// The engine on this machine: what Session::create() returns.
class LocalSession final : public Session {
  public:
    ModelSummary load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) override;
    void unload() override;
    bool is_loaded() const override { return model_ != nullptr; }
    std::int64_t count_tokens(const std::vector<ChatMessage>& messages) const override;
    GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              std::stop_token stop) override;
    void reset_conversation() override;
    Snapshot snapshot() const override;
    LayerEvents layer_events(std::uint64_t i) const override;
    std::vector<float> planned_popularity() const override;
    ReplanPreview preview(const ReplanRequest& request) override;
    void request_preview(const ReplanRequest& request, PreviewFn done) override;
    std::uint64_t replan(const ReplanRequest& request) override;
    void cancel_replan() override;
    std::uint64_t pin_expert(std::int64_t layer, std::int64_t expert, bool pinned) override;
    std::uint64_t evict_expert(std::int64_t layer, std::int64_t expert) override;
    std::uint64_t set_expert_format(std::int64_t layer, std::int64_t expert, kernels::WeightType format) override;
    std::vector<ReplanReport> replans() const override;
    void advance(std::stop_token stop) override;

    LoadedModel* model() { return model_.get(); }  // nullptr: none; for tests and benches

  private:
    LoadedModel& require_model() const;
    // By the device's clock: for an emulated one the time it would have taken.
    double seconds_since(double start_us) const;
    const Tokenizer& require_tokenizer() const;
    std::vector<TokenId> prompt_tokens(const GenerationRequest& request) const;
    std::vector<TokenId> render(const std::vector<ChatMessage>& messages) const;
    void check_fits(std::int64_t n_prompt) const;
    std::int64_t reuse_prefix(const std::vector<TokenId>& prompt);
    // Runs tokens of the conversation through the model, logits of the last one wanted; false when stopped. Throws
    // Error (kDevice) when the device failed.
    bool feed(std::span<const TokenId> tokens, const std::stop_token& stop);
    bool is_end(TokenId token) const;
    std::vector<TokenId> end_tokens() const;
    // What may be chosen from, (rows, vocab_size): the model's logits, or a copy in which nothing ends the turn. Valid
    // until the next call.
    std::span<const float> choosable(std::span<const float> logits, const GenerationRequest& request);
    std::string decode(std::span<const TokenId> tokens, bool strip_space) const;
    // A step, and what to make of its outcome: done, or not (stopped, full). Throws Error (kDevice).
    Forward::Outcome step(std::span<const Segment> segments, Forward::Logits wanted, const std::stop_token& stop,
                          std::int64_t n_prompt = 0);

    // The answer's part of generate(), after the prompt was fed, by the way that was asked for.
    void answer_one(const GenerationRequest& request, const TextDeltaFn& on_delta, const std::stop_token& stop,
                    GenerationResult& result);
    void answer_by_beams(const GenerationRequest& request, const TextDeltaFn& on_delta, const std::stop_token& stop,
                         GenerationResult& result);
    void answer_several(const GenerationRequest& request, const TextDeltaFn& on_delta, const std::stop_token& stop,
                        GenerationResult& result);
    void deliver(GenerationResult& result, const TextDeltaFn& on_delta) const;
    void report(GenerationResult& result) const;
    [[noreturn]] void throw_no_probabilities() const;
    // Puts what may be looked at on the board: at once, or when the last time was long enough ago for an eye to care.
    enum class Publish { kNow, kWhenDue };
    void publish(Publish when);
    PlanDraft draft() const;
    void measure_overhead();

    std::unique_ptr<TraceWriter> trace_;  // of the answer being made
    std::vector<double> steps_us_;        // of its decode steps
    // What other threads ask for, done by the engine's thread between two steps, in order: behind a re-plan that is
    // still being planned the others wait.
    using Order = std::function<void(Replanner&)>;
    std::uint64_t post(const std::function<Order(std::uint64_t id)>& make);
    bool between_steps();  // whether there was anything to do
    void plan_elsewhere(std::uint64_t id, const ReplanRequest& request, PreviewFn preview);
    bool take_plans();  // that are made; whether there were any
    void trace_step(std::span<const Segment> segments);
    std::size_t index_of(std::int64_t layer, std::int64_t expert) const;

    std::unique_ptr<LoadedModel> model_;
    std::unique_ptr<Replanner> replanner_;
    std::unique_ptr<PlanningThread> planning_;
    bool plan_awaited_ = false;  // of a re-plan
    std::int64_t tokens_made_ = 0;

    mutable std::mutex orders_mutex_;  // never held while anything is computed
    std::deque<Order> orders_;
    std::uint64_t last_id_ = 0;
    std::vector<ReplanReport> reports_;          // a copy for other threads
    std::int64_t n_layers_ = 0, n_experts_ = 0;  // of the loaded model, for other threads
    KvSequence cache_;                           // the conversation's; goes before the model does
    std::vector<TokenId> cached_tokens_;         // what cache_ holds, token by token
    double started_us_ = 0;                      // of the answer being made, by the device's clock
    double first_token_us_ = 0;
    std::vector<float> endless_logits_;  // see choosable()
    RoutingRecorder recorder_;
    SnapshotBoard board_;
    SnapshotFiller filler_;
    DecodeMeter meter_;                   // of the plan in force
    std::optional<DecodeSample> sample_;  // for the forecast of its steps; drawn once per model
    double overhead_us_ = 0;              // see Snapshot::decode_overhead_us
    std::uint64_t revision_ = 0;
    mutable std::atomic<std::int64_t> looked_at_ms_ = 0;  // by the steady clock; 0: never
    std::shared_ptr<const Recorder> events_;              // with orders_mutex_: the loaded model's
    std::vector<float> popularity_;                       // with orders_mutex_
    std::chrono::steady_clock::time_point last_published_;
};

}  // namespace offstage::engine
