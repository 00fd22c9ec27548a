#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/dispatch/live_comparison.h"
#include "engine/experts/sparse_copies.h"
#include "engine/message.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/load_request.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/telemetry/host_times.h"
#include "engine/telemetry/recorder.h"

namespace offstage::engine {

// The measured times of a step's layers, as far as they can be measured.
struct LayerTimes : LayerCounts {
    // Whether the device's times (attention, gpu, layer, loading) are this step's;
    // otherwise they are the layer's last measured ones.
    bool measured = true;
    double attention_us = 0;
    double gpu_us = 0, copy_us = 0, cpu_us = 0;
    double layer_us = 0;
    LoadingTimes loading;
    SparseCopies::Work sparse;
};

// Decides where each expert of a layer is computed, by policy and cost model; receives
// the measured times, corrects the cost model, compares policies on live tokens, and
// records everything. One thread, the engine's.
class Dispatcher {
  public:
    // The number of decode steps that are observed before policies are compared.
    static constexpr int kStepsLookedAt = 8;

    // `cost` must outlive this object.
    Dispatcher(CostModel& cost, const DispatchSettings& settings);

    void set_policy(const DispatchSettings& settings);
    const DispatchSettings& settings() const { return settings_; }
    const CostModel& cost() const { return cost_; }
    // From the next step on; see CostModel::set_theta().
    void set_theta(double theta, SparseLoading loading, const ActiveShares& prior) {
        cost_.set_theta(theta, loading, prior.of_model, prior.of_layers);
    }
    // Speculative loading: whether this step may.
    void set_prefetch(PrefetchMode mode);
    PrefetchMode prefetch() const { return prefetch_; }
    bool prefetches() const;
    bool prefetches_regardless() const { return prefetch_ == PrefetchMode::kAlways; }

    // The policy in force for decode steps, and for prefill.
    PolicyKind decode_policy() const;

    // Whether experts on the device are computed there in this step, independently of the
    // other experts of their layer.
    bool uses_residents() const { return cost_.table().has_accelerator() && policy_ != PolicyKind::kLayers; }

    // Whether no decode step copies an expert to the device, whatever is measured.
    bool never_copies() const {
        return !trials_.has_value() &&
               (settings_.decode == PolicyKind::kStatic || settings_.decode == PolicyKind::kLayers);
    }

    // A step of n_tokens tokens; prefill: any of its segments has more than one token.
    // n_drafted: the last of them, in decode; the step's time is then no other's measure.
    void begin_step(std::int64_t n_tokens, bool prefill, std::size_t n_drafted = 0);
    // Valid until the next call.
    Schedule& schedule(std::span<const ExpertLoad> loads, std::int64_t staging_slots, ElsewhereCosts elsewhere = {},
                       std::int64_t layer = -1);
    // `schedule`: the work as executed, with its predictions.
    void finish_layer(std::int32_t layer, const Schedule& schedule, const LayerTimes& times);
    void end_step(double step_us);
    // The overhead by the host's clock: recording and choosing which copies stay; and
    // finding the experts' places and deciding.
    void add_recording(double us) { recorder_->add_overhead(us); }
    void add_deciding(double us) { deciding_us_ += us; }
    // Since the last reset_totals(); Recorder::overhead_us() has the other.
    double deciding_us() const { return deciding_us_; }
    HostTimes& host_times() { return host_times_; }

    const DispatchTotals& totals() const { return recorder_->totals(); }
    void reset_totals() {
        recorder_->reset_totals();
        deciding_us_ = 0;
    }
    Recorder& recorder() { return *recorder_; }
    const Recorder& recorder() const { return *recorder_; }
    // For readers on other threads, which may outlive this object.
    std::shared_ptr<const Recorder> shared_recorder() const { return recorder_; }
    // The decisions of live comparisons, in order: the last 64 of n_decisions().
    const std::deque<Message>& decisions() const { return decisions_; }
    std::uint64_t n_decisions() const { return n_decisions_; }

  private:
    void compare_policies(double step_us);
    void compare_loading(double step_us);
    void note(const LiveComparison& comparison);

    // A trial of policies begins with a forecast of some steps for each.
    struct PolicyTrials {
        explicit PolicyTrials(PolicyKind favourite);
        PolicyOutlook outlook;
        LiveComparison comparison;
        int n_looked_at = 0;  // steps
    };

    CostModel& cost_;
    DispatchSettings settings_;
    std::optional<PolicyTrials> trials_;
    PrefetchMode prefetch_ = PrefetchMode::kOff;
    std::optional<LiveComparison> prefetch_choice_;
    std::deque<Message> decisions_;
    std::uint64_t n_decisions_ = 0;
    bool guesses_copied_ = false;  // in the last step that was allowed to
    std::uint64_t guessed_copies_before_ = 0;
    std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
    PolicyKind policy_ = PolicyKind::kBalanced;
    std::uint64_t step_ = 0;
    std::int64_t n_tokens_ = 0;
    bool prefill_ = false;
    std::size_t n_drafted_ = 0;
    bool looks_ahead_ = false;            // this step is part of the forecast
    std::optional<PolicyKind> compared_;  // in this step with the policy in force
    bool differ_ = false;                 // the two's schedules, in this step
    Schedule schedule_;
    Schedule other_;
    std::vector<AssignmentEvent> assignment_events_;
    double deciding_us_ = 0;
    HostTimes host_times_;
};

}  // namespace offstage::engine
