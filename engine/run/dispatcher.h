#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/live_comparison.h"
#include "engine/run/prefetch_settings.h"
#include "engine/run/session.h"
#include "engine/telemetry/recorder.h"

namespace offstage::engine {

// What the layers of a step really took, as far as it can be known.
struct LayerTimes {
    double attention_us = 0;
    double gpu_us = 0, copy_us = 0, cpu_us = 0;
    double layer_us = 0;
    std::uint64_t bytes_copied = 0;
    std::uint16_t guessed_copies = 0, used_guesses = 0, admissions = 0;  // as in LayerEvent
};

// Decides what each expert of a layer does, by policy and cost model; hears what it took, corrects the cost model,
// compares policies on live tokens, and writes it all down. One thread, the engine's.
class Dispatcher {
  public:
    // `cost` must outlive this object.
    Dispatcher(CostModel& cost, const DispatchSettings& settings);

    void set_policy(const DispatchSettings& settings);
    const DispatchSettings& settings() const { return settings_; }
    const CostModel& cost() const { return cost_; }
    // Speculative loading: whether this step may.
    void set_prefetch(PrefetchMode mode);
    bool prefetches() const;
    bool prefetches_regardless() const { return prefetch_ == PrefetchMode::kAlways; }

    // The policy in force for decode steps, and for prefill.
    PolicyKind decode_policy() const;

    // A step of n_tokens tokens; prefill: any of its segments has more than one token.
    void begin_step(std::int64_t n_tokens, bool prefill);
    // Valid until the next call.
    Schedule& schedule(std::span<const ExpertLoad> loads, std::int64_t staging_slots);
    // `schedule`: what was done in the end, with its predictions.
    void finish_layer(std::int32_t layer, const Schedule& schedule, std::span<const ExpertLoad> loads,
                      const LayerTimes& times);
    void end_step(double step_us);
    // What writing down took, by the host's clock: events, times and corrections.
    void add_overhead(double us) { recorder_->add_overhead(us); }

    const DispatchTotals& totals() const { return recorder_->totals(); }
    void reset_totals() { recorder_->reset_totals(); }
    Recorder& recorder() { return *recorder_; }
    const Recorder& recorder() const { return *recorder_; }
    // For readers on other threads, who may outlive this object.
    std::shared_ptr<const Recorder> shared_recorder() const { return recorder_; }
    // What live comparisons decided, in the order in which they did: the last 64 of n_decisions().
    const std::deque<std::string>& decisions() const { return decisions_; }
    std::uint64_t n_decisions() const { return n_decisions_; }

  private:
    void note(const LiveComparison& comparison);

    CostModel& cost_;
    DispatchSettings settings_;
    std::optional<LiveComparison> choice_;
    PrefetchMode prefetch_ = PrefetchMode::kOff;
    std::optional<LiveComparison> prefetch_choice_;
    std::deque<std::string> decisions_;
    std::uint64_t n_decisions_ = 0;
    bool guesses_copied_ = false;  // in the last step that was allowed to
    std::uint64_t guessed_copies_before_ = 0;
    std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
    PolicyKind policy_ = PolicyKind::kBalanced;
    std::uint64_t step_ = 0;
    std::int64_t n_tokens_ = 0;
    bool prefill_ = false;
    bool differ_ = false;  // the compared policies' schedules, in this step
    Schedule schedule_;
    Schedule other_;
    std::vector<AssignmentEvent> assignment_events_;
};

}  // namespace offstage::engine
