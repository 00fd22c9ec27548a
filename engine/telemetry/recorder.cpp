#include "engine/telemetry/recorder.h"

#include <algorithm>

namespace offstage::engine {

namespace {

// Calls body(to's, from's) for each of the sums.
template <typename Body>
void for_each_sum(DispatchTotals& to, const DispatchTotals& from, const Body& body) {
    body(to.steps, from.steps);
    body(to.decode_steps, from.decode_steps);
    body(to.expert_calls, from.expert_calls);
    body(to.resident_calls, from.resident_calls);
    body(to.copied_calls, from.copied_calls);
    body(to.cpu_calls, from.cpu_calls);
    body(to.routed_tokens, from.routed_tokens);
    body(to.resident_tokens, from.resident_tokens);
    body(to.bytes_copied, from.bytes_copied);
    body(to.device_read_bytes, from.device_read_bytes);
    body(to.host_read_bytes, from.host_read_bytes);
    body(to.guessed_copies, from.guessed_copies);
    body(to.used_guesses, from.used_guesses);
    body(to.admissions, from.admissions);
    body(to.neurons, from.neurons);
    body(to.active_neurons, from.active_neurons);
    body(to.sparse_copies, from.sparse_copies);
    body(to.copy_bytes_saved, from.copy_bytes_saved);
    body(to.needed_neurons, from.needed_neurons);
    body(to.held_neurons, from.held_neurons);
    body(to.gpu_us, from.gpu_us);
    body(to.copy_us, from.copy_us);
    body(to.cpu_us, from.cpu_us);
    body(to.layers_us, from.layers_us);
    body(to.attention_us, from.attention_us);
    body(to.loading, from.loading);
    body(to.steps_us, from.steps_us);
}

}  // namespace

DispatchTotals& DispatchTotals::operator+=(const DispatchTotals& other) {
    for_each_sum(*this, other, [](auto& sum, const auto& value) { sum += value; });
    return *this;
}

DispatchTotals& DispatchTotals::operator-=(const DispatchTotals& other) {
    for_each_sum(*this, other, [](auto& sum, const auto& value) { sum -= value; });
    return *this;
}

// 7 MB of room, which are touched as they fill: opening a model does not wait for them.
Recorder::Recorder() {
    events_.reserve(kEvents);
    assignments_.reserve(kAssignments);
    first_.reserve(kEvents);
}

void Recorder::reshape(std::int64_t n_layers, std::int64_t n_experts) {
    const std::lock_guard lock(mutex_);
    n_experts_ = n_experts;
    uses_.assign(static_cast<std::size_t>(n_layers * n_experts), {});
}

void Recorder::record(const LayerEvent& event, const AssignmentEvent* assignments, std::size_t n_assignments) {
    DispatchTotals sums;
    static_cast<LayerCounts&>(sums) = event;
    {
        const std::lock_guard lock(mutex_);
        const std::size_t slot = n_events_ % kEvents;
        if (slot == events_.size()) {
            events_.emplace_back();
            first_.push_back(0);
        }
        events_[slot] = event;
        events_[slot].n_assignments = static_cast<std::uint16_t>(n_assignments);
        events_[slot].first_assignment = static_cast<std::uint32_t>(n_assignments_ % kAssignments);
        first_[slot] = n_assignments_;
        step_ = event.step;
        for (std::size_t i = 0; i < n_assignments; ++i) {
            const AssignmentEvent& a = assignments[i];
            const std::size_t place = n_assignments_++ % kAssignments;
            if (place == assignments_.size()) assignments_.emplace_back();
            assignments_[place] = a;
            const bool resident = a.target == 0;  // ExecutionTarget::kResident
            ++sums.expert_calls;
            sums.resident_calls += resident;
            sums.copied_calls += a.target == 1;
            sums.cpu_calls += a.target == 2;
            sums.routed_tokens += a.n_tokens;
            sums.resident_tokens += resident ? a.n_tokens : 0;
            const auto use = static_cast<std::size_t>(event.layer * n_experts_ + a.expert);
            if (use < uses_.size()) {
                uses_[use].tokens += a.n_tokens;
                uses_[use].resident_tokens += resident ? a.n_tokens : 0;
                uses_[use].last_step = event.step;
            }
        }
        ++n_events_;
    }
    sums.gpu_us = static_cast<double>(event.gpu_us);
    sums.copy_us = static_cast<double>(event.copy_us);
    sums.cpu_us = static_cast<double>(event.cpu_us);
    sums.layers_us = static_cast<double>(event.layer_us);
    sums.attention_us = static_cast<double>(event.attention_us);
    if (event.is_prefill == 0) sums.loading = event.loading;
    totals_ += sums;
}

void Recorder::add_step(double step_us, bool decode) {
    DispatchTotals sums;
    sums.steps = 1;
    sums.decode_steps = decode;
    sums.steps_us = step_us;
    totals_ += sums;
}

bool Recorder::has_assignments(std::uint64_t i) const {
    return i < n_events_ && i + kEvents >= n_events_ && first_[i % kEvents] + kAssignments >= n_assignments_;
}

const AssignmentEvent& Recorder::assignment(std::uint64_t i, std::size_t n) const {
    return assignments_[(first_[i % kEvents] + n) % kAssignments];
}

DispatchTotals Recorder::all_totals() const {
    DispatchTotals all = before_reset_;
    all += totals_;
    return all;
}

void Recorder::reset_totals() {
    before_reset_ += totals_;
    totals_ = {};
    overhead_us_ = 0;
}

LayerEvents Recorder::copy(std::uint64_t i) const {
    LayerEvents copied;
    const std::lock_guard lock(mutex_);
    copied.first = std::clamp(i, n_events_ > kEvents ? n_events_ - kEvents : 0, n_events_);
    const std::uint64_t end = std::min<std::uint64_t>(n_events_, copied.first + kCopiedAtOnce);
    copied.events.reserve(end - copied.first);
    for (i = copied.first; i < end; ++i) {
        LayerEvent& copy = copied.events.emplace_back(event(i));
        copy.first_assignment = static_cast<std::uint32_t>(copied.assignments.size());
        if (!has_assignments(i)) copy.n_assignments = 0;
        for (std::size_t n = 0; n < copy.n_assignments; ++n) copied.assignments.push_back(assignment(i, n));
    }
    return copied;
}

std::uint64_t Recorder::uses(std::vector<ExpertUse>& out) const {
    const std::lock_guard lock(mutex_);
    out = uses_;
    return step_;
}

}  // namespace offstage::engine
