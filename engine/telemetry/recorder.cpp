#include "engine/telemetry/recorder.h"

#include <algorithm>

namespace offstage::engine {

Recorder::Recorder() : events_(kEvents), assignments_(kAssignments), first_(kEvents, 0) {}

void Recorder::record(const LayerEvent& event, const AssignmentEvent* assignments, std::size_t n_assignments) {
    const std::size_t slot = n_events_ % kEvents;
    events_[slot] = event;
    events_[slot].n_assignments = static_cast<std::uint16_t>(n_assignments);
    events_[slot].first_assignment = static_cast<std::uint32_t>(n_assignments_ % kAssignments);
    first_[slot] = n_assignments_;
    for (std::size_t i = 0; i < n_assignments; ++i) {
        const AssignmentEvent& a = assignments[i];
        assignments_[n_assignments_++ % kAssignments] = a;
        const bool resident = a.way == 0;  // Way::kResident
        ++totals_.expert_calls;
        totals_.resident_calls += resident;
        totals_.copied_calls += a.way == 1;
        totals_.cpu_calls += a.way == 2;
        totals_.routed_tokens += a.n_tokens;
        totals_.resident_tokens += resident ? a.n_tokens : 0;
    }
    ++n_events_;
    totals_.bytes_copied += event.bytes_copied;
    totals_.gpu_us += static_cast<double>(event.gpu_us);
    totals_.copy_us += static_cast<double>(event.copy_us);
    totals_.cpu_us += static_cast<double>(event.cpu_us);
    totals_.layers_us += static_cast<double>(event.layer_us);
    totals_.attention_us += static_cast<double>(event.attention_us);
}

void Recorder::add_step(double step_us, bool decode) {
    ++totals_.steps;
    totals_.decode_steps += decode;
    totals_.steps_us += step_us;
}

bool Recorder::has_assignments(std::uint64_t i) const {
    return i < n_events_ && i + kEvents >= n_events_ && first_[i % kEvents] + kAssignments >= n_assignments_;
}

const AssignmentEvent& Recorder::assignment(std::uint64_t i, std::size_t n) const {
    return assignments_[(first_[i % kEvents] + n) % kAssignments];
}

void Recorder::reset_totals() {
    totals_ = {};
    overhead_us_ = 0;
}

std::vector<LayerEvent> Recorder::since(std::uint64_t i) const {
    std::vector<LayerEvent> events;
    for (i = std::max(i, n_events_ > kEvents ? n_events_ - kEvents : 0); i < n_events_; ++i) {
        events.push_back(event(i));
    }
    return events;
}

}  // namespace offstage::engine
