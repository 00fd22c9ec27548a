#include "engine/run/dispatcher.h"

#include <algorithm>

namespace offstage::engine {
namespace {

constexpr std::size_t kMostDecisions = 64;

bool same_ways(const Schedule& a, const Schedule& b) {
    return std::equal(a.assignments.begin(), a.assignments.end(), b.assignments.begin(), b.assignments.end(),
                      [](const Assignment& x, const Assignment& y) { return x.expert == y.expert && x.way == y.way; });
}

}  // namespace

Dispatcher::Dispatcher(CostModel& cost, const DispatchSettings& settings) : cost_(cost) {
    set_policy(settings);
}

void Dispatcher::set_policy(const DispatchSettings& settings) {
    settings_ = settings;
    choice_.reset();
    if (settings.measured && settings.decode != PolicyKind::kStatic && cost_.table().has_accelerator()) {
        choice_.emplace(std::string(name_of(settings.decode)), std::string(name_of(PolicyKind::kStatic)));
    }
}

void Dispatcher::set_prefetch(PrefetchMode mode) {
    prefetch_ = mode;
    prefetch_choice_.reset();
    if (mode == PrefetchMode::kAuto && cost_.table().has_accelerator()) {
        prefetch_choice_.emplace("speculative loading", "no speculative loading");
    }
}

bool Dispatcher::prefetches() const {
    if (policy_ == PolicyKind::kStatic || policy_ == PolicyKind::kLayers) return false;  // they copy nothing
    if (prefetch_ == PrefetchMode::kAlways) return true;
    return prefetch_choice_.has_value() && prefetch_choice_->uses_favourite();
}

PolicyKind Dispatcher::decode_policy() const {
    return choice_.has_value() && !choice_->uses_favourite() ? PolicyKind::kStatic : settings_.decode;
}

void Dispatcher::begin_step(std::int64_t n_tokens, bool prefill) {
    n_tokens_ = n_tokens;
    prefill_ = prefill;
    policy_ = prefill ? settings_.prefill : decode_policy();
    differ_ = false;
}

Schedule& Dispatcher::schedule(std::span<const ExpertLoad> loads, std::int64_t staging_slots) {
    schedule_.clear();
    decide(policy_, loads, cost_, staging_slots, schedule_);
    if (choice_.has_value() && !prefill_ && !differ_) {
        // Both are known from the same loads; while they agree there is nothing to compare.
        const PolicyKind other = policy_ == PolicyKind::kStatic ? settings_.decode : PolicyKind::kStatic;
        other_.clear();
        decide(other, loads, cost_, staging_slots, other_);
        differ_ = !same_ways(schedule_, other_);
    }
    return schedule_;
}

void Dispatcher::finish_layer(std::int32_t layer, const Schedule& schedule, std::span<const ExpertLoad> loads,
                              const LayerTimes& times) {
    LayerEvent event;
    event.step = step_;
    event.layer = layer;
    event.n_tokens = static_cast<std::int32_t>(n_tokens_);
    event.policy = static_cast<std::uint8_t>(policy_);
    event.is_prefill = prefill_ ? 1 : 0;
    event.attention_us = static_cast<float>(times.attention_us);
    event.gpu_us = static_cast<float>(times.gpu_us);
    event.copy_us = static_cast<float>(times.copy_us);
    event.cpu_us = static_cast<float>(times.cpu_us);
    event.layer_us = static_cast<float>(times.layer_us);
    event.predicted_gpu_us = static_cast<float>(schedule.gpu_us);
    event.predicted_copy_us = static_cast<float>(schedule.copy_us);
    event.predicted_cpu_us = static_cast<float>(schedule.cpu_us);
    event.predicted_layer_us = static_cast<float>(schedule.makespan_us);
    event.bytes_copied = times.bytes_copied;
    event.guessed_copies = times.guessed_copies;
    event.used_guesses = times.used_guesses;
    event.admissions = times.admissions;

    assignment_events_.clear();
    double gpu_tokens = 0, cpu_tokens = 0;
    int n_gpu = 0, n_cpu = 0, n_copies = 0;
    for (const Assignment& a : schedule.assignments) {
        const auto load =
            std::find_if(loads.begin(), loads.end(), [&](const ExpertLoad& l) { return l.expert == a.expert; });
        const Place place = load == loads.end() ? Place::kRam : load->place;
        const bool chosen = cost_.table().has_accelerator();
        assignment_events_.push_back(
            {static_cast<std::uint16_t>(a.expert), static_cast<std::uint8_t>(a.way), static_cast<std::uint8_t>(place),
             static_cast<std::uint8_t>(a.format), static_cast<std::uint32_t>(a.n_tokens),
             chosen ? static_cast<float>(cost_.cpu_us(a.n_tokens, a.format)) : 0.0f,
             chosen ? static_cast<float>(cost_.gpu_us(a.n_tokens, a.format)) : 0.0f,
             chosen && place != Place::kDevice ? static_cast<float>(cost_.weight_copy_us(a.format)) : 0.0f});
        (a.way == Way::kCpu ? cpu_tokens : gpu_tokens) += a.n_tokens;
        (a.way == Way::kCpu ? n_cpu : n_gpu) += 1;
        n_copies += a.way == Way::kCopy;
    }
    recorder_->record(event, assignment_events_.data(), assignment_events_.size());
    if (cost_.table().has_accelerator()) {
        if (n_cpu > 0) cost_.correct(CostModel::Side::kCpu, cpu_tokens / n_cpu, schedule.cpu_us, times.cpu_us);
        if (n_gpu > 0) cost_.correct(CostModel::Side::kGpu, gpu_tokens / n_gpu, schedule.gpu_us, times.gpu_us);
        if (n_copies > 0) cost_.correct(CostModel::Side::kCopy, 1, schedule.copy_us, times.copy_us);
    }
}

void Dispatcher::end_step(double step_us) {
    recorder_->add_step(step_us, !prefill_);
    if (!prefill_) {
        // One comparison at a time, or each would see the other's steps.
        const bool loading_compared = prefetch_choice_.has_value() && prefetch_choice_->comparing();
        if (choice_.has_value() && !loading_compared && choice_->record(step_us, differ_)) note(*choice_);
        if (prefetch_choice_.has_value() && !(choice_.has_value() && choice_->comparing())) {
            const std::uint64_t copies = recorder_->totals().guessed_copies;
            if (prefetch_choice_->uses_favourite()) guesses_copied_ = copies != guessed_copies_before_;
            guessed_copies_before_ = copies;
            if (prefetch_choice_->record(step_us, guesses_copied_)) note(*prefetch_choice_);
        }
    }
    ++step_;
}

void Dispatcher::note(const LiveComparison& comparison) {
    if (decisions_.size() == kMostDecisions) decisions_.pop_front();
    decisions_.push_back(comparison.verdicts().back().reason);
    ++n_decisions_;
}

}  // namespace offstage::engine
