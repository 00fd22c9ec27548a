#include "engine/dispatch/dispatcher.h"

#include "engine/dispatch/dispatch_messages.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostDecisions = 64;

std::vector<MessageArgument> names_of(std::span<const PolicyKind> policies) {
    std::vector<MessageArgument> names;
    for (const PolicyKind policy : policies) names.emplace_back(name_of(policy));
    return names;
}

}  // namespace

Dispatcher::Dispatcher(CostModel& cost, const DispatchSettings& settings) : cost_(cost) {
    set_policy(settings);
}

Dispatcher::PolicyTrials::PolicyTrials(PolicyKind favourite)
    : outlook(favourite), comparison(names_of(outlook.policies())) {}

void Dispatcher::set_policy(const DispatchSettings& settings) {
    settings_ = settings;
    trials_.reset();
    if (settings.measured && settings.decode != PolicyKind::kLayers && cost_.table().has_accelerator()) {
        trials_.emplace(settings.decode);
    }
}

void Dispatcher::set_prefetch(PrefetchMode mode) {
    prefetch_ = mode;
    prefetch_choice_.reset();
    if (mode == PrefetchMode::kAuto && cost_.table().has_accelerator()) {
        prefetch_choice_.emplace(
            std::vector<MessageArgument>{messages::speculative_loading, messages::no_speculative_loading});
    }
}

bool Dispatcher::prefetches() const {
    if (policy_ == PolicyKind::kStatic || policy_ == PolicyKind::kLayers) return false;  // they copy nothing
    if (prefetch_ == PrefetchMode::kAlways) return true;
    return prefetch_choice_.has_value() && prefetch_choice_->way() == 0;
}

PolicyKind Dispatcher::decode_policy() const {
    return trials_.has_value() ? trials_->outlook.policies()[trials_->comparison.way()] : settings_.decode;
}

void Dispatcher::begin_step(std::int64_t n_tokens, bool prefill, std::size_t n_drafted) {
    n_tokens_ = n_tokens;
    prefill_ = prefill;
    n_drafted_ = n_drafted;
    policy_ = prefill ? settings_.prefill : decode_policy();
    differ_ = looks_ahead_ = false;
    compared_.reset();
    if (prefill || n_drafted > 0 || !trials_.has_value()) return;
    const LiveComparison& comparison = trials_->comparison;
    if (comparison.comparing()) {
        const auto& policies = trials_->outlook.policies();
        const PolicyKind holder = policies[comparison.holder()];
        compared_ = policy_ == holder ? policies[comparison.challenger()] : holder;
    } else {
        // Only one comparison at a time: otherwise each would count the other's steps.
        const bool loading_compared = prefetch_choice_.has_value() && prefetch_choice_->comparing();
        looks_ahead_ = comparison.is_due() && !loading_compared;
    }
}

Schedule& Dispatcher::schedule(std::span<const ExpertLoad> loads, std::int64_t staging_slots, ElsewhereCosts elsewhere,
                               std::int64_t index) {
    const LayerAtHand layer{index, prefill_};
    decide(policy_, loads, cost_, staging_slots, schedule_, elsewhere, layer);
    if (looks_ahead_) trials_->outlook.add_layer(loads, cost_, staging_slots, elsewhere, layer);
    if (compared_.has_value() && !differ_) {
        decide(*compared_, loads, cost_, staging_slots, other_, elsewhere, layer);
        differ_ = !same_ways(schedule_, other_);
    }
    return schedule_;
}

void Dispatcher::finish_layer(std::int32_t layer, const Schedule& schedule, const LayerTimes& times) {
    LayerEvent event;
    static_cast<LayerCounts&>(event) = times;
    event.step = step_;
    event.layer = layer;
    event.n_tokens = static_cast<std::int32_t>(n_tokens_);
    event.policy = static_cast<std::uint8_t>(policy_);
    event.is_prefill = prefill_ ? 1 : 0;
    event.n_drafted = static_cast<std::uint8_t>(n_drafted_);
    event.attention_us = static_cast<float>(times.attention_us);
    event.gpu_us = static_cast<float>(times.gpu_us);
    event.copy_us = static_cast<float>(times.copy_us);
    event.cpu_us = static_cast<float>(times.cpu_us);
    event.layer_us = static_cast<float>(times.layer_us);
    event.loading = times.loading;
    event.predicted_gpu_us = static_cast<float>(schedule.gpu_us);
    event.predicted_copy_us = static_cast<float>(schedule.copy_us);
    event.predicted_cpu_us = static_cast<float>(schedule.cpu_us);
    event.predicted_layer_us = static_cast<float>(schedule.makespan_us);

    assignment_events_.clear();
    double gpu_tokens = 0, cpu_tokens = 0;
    int n_gpu = 0, n_cpu = 0, n_copies = 0;
    const bool chosen = cost_.table().has_accelerator();
    for (const Assignment& a : schedule.assignments) {
        assignment_events_.push_back({static_cast<std::uint16_t>(a.expert), static_cast<std::uint8_t>(a.target),
                                      static_cast<std::uint8_t>(a.place), static_cast<std::uint8_t>(a.format),
                                      static_cast<std::uint32_t>(a.n_tokens),
                                      chosen ? static_cast<float>(a.cpu_us) : 0.0f,
                                      chosen ? static_cast<float>(a.gpu_us) : 0.0f,
                                      chosen && a.place != Place::kDevice ? static_cast<float>(a.copy_us) : 0.0f});
        if (is_elsewhere(a.target)) continue;
        (a.target == ExecutionTarget::kCpu ? cpu_tokens : gpu_tokens) += a.n_tokens;
        (a.target == ExecutionTarget::kCpu ? n_cpu : n_gpu) += 1;
        n_copies += a.target == ExecutionTarget::kCopy;
    }
    recorder_->record(event, assignment_events_.data(), assignment_events_.size());
    const kernels::NeuronCounts& looked_at = times.sparse.chosen;
    cost_.add_active(layer, times.neurons + looked_at.neurons, times.active_neurons + looked_at.active);
    cost_.correct_choosing(times.sparse.expected_choosing_us, times.sparse.choosing_us);
    cost_.correct_gathering(times.sparse.expected_gathering_us, times.sparse.gathering_us);
    if (chosen) {
        if (n_cpu > 0) cost_.correct(CostModel::Side::kCpu, cpu_tokens / n_cpu, schedule.cpu_us, times.cpu_us);
        if (n_gpu > 0 && times.measured) {
            cost_.correct(CostModel::Side::kGpu, gpu_tokens / n_gpu, schedule.gpu_us, times.gpu_us);
        }
        // If the CPU prepared the copies, the copy queue's time includes waiting for the
        // CPU.
        if (n_copies > 0 && times.sparse_copies == 0)
            cost_.correct(CostModel::Side::kCopy, 1, schedule.copy_us, times.copy_us);
    }
}

void Dispatcher::end_step(double step_us) {
    recorder_->add_step(step_us, !prefill_);
    if (!prefill_ && n_drafted_ == 0) {
        const bool loading_compared = prefetch_choice_.has_value() && prefetch_choice_->comparing();
        const bool policies_next = trials_.has_value() && (trials_->comparison.comparing() || looks_ahead_);
        if (trials_.has_value() && !loading_compared) compare_policies(step_us);
        if (prefetch_choice_.has_value() && !policies_next) compare_loading(step_us);
    }
    ++step_;
}

void Dispatcher::compare_policies(double step_us) {
    PolicyTrials& trials = *trials_;
    if (trials.comparison.record(step_us, differ_)) note(trials.comparison);
    if (!looks_ahead_ || ++trials.n_looked_at < kStepsLookedAt) return;
    trials.n_looked_at = 0;
    trials.comparison.begin(trials.outlook.challengers());
    trials.outlook.clear();
}

void Dispatcher::compare_loading(double step_us) {
    LiveComparison& comparison = *prefetch_choice_;
    const std::uint64_t copies = recorder_->totals().guessed_copies;
    if (comparison.way() == 0) guesses_copied_ = copies != guessed_copies_before_;
    guessed_copies_before_ = copies;
    if (comparison.record(step_us, guesses_copied_)) note(comparison);
    static constexpr std::size_t kWithout[] = {1};
    if (guesses_copied_ && comparison.is_due()) comparison.begin(kWithout);
}

void Dispatcher::note(const LiveComparison& comparison) {
    if (decisions_.size() == kMostDecisions) decisions_.pop_front();
    decisions_.push_back(comparison.verdicts().back().reason);
    ++n_decisions_;
}

}  // namespace offstage::engine
