#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/telemetry/layer_event.h"

namespace offstage::engine {

// The last layers' events, in rings of fixed size, and their sums. Written by the
// engine's thread, which reads without the lock; copy() and uses() from any thread, which
// hold the lock only to copy at most kCopiedAtOnce events.
class Recorder {
  public:
    static constexpr std::size_t kEvents = 16384;
    static constexpr std::size_t kAssignments = 131072;

    static constexpr std::size_t kCopiedAtOnce = 1024;

    Recorder();

    // Counts per expert from now on, for a model of this shape; all zero.
    void reshape(std::int64_t n_layers, std::int64_t n_experts);

    // The event's first_assignment and n_assignments are set here.
    void record(const LayerEvent& event, const AssignmentEvent* assignments, std::size_t n_assignments);
    void add_step(double step_us, bool decode);

    std::uint64_t n_events() const { return n_events_; }  // recorded in all
    std::uint64_t last_step() const { return step_; }     // of the last event
    // The i-th event, n_events() - kEvents <= i < n_events(); its assignments if they
    // have not been overwritten.
    const LayerEvent& event(std::uint64_t i) const { return events_[i % kEvents]; }
    bool has_assignments(std::uint64_t i) const;
    const AssignmentEvent& assignment(std::uint64_t i, std::size_t n) const;

    const DispatchTotals& totals() const { return totals_; }
    void reset_totals();
    // Since the model was loaded, unaffected by resets.
    DispatchTotals all_totals() const;

    // Any thread: events from the i-th on, the oldest first, at most kCopiedAtOnce of
    // them.
    LayerEvents copy(std::uint64_t i) const;
    // Any thread: (n_layers, n_experts), and the number of the running step.
    std::uint64_t uses(std::vector<ExpertUse>& out) const;

    // Time spent recording, by the host's clock.
    double overhead_us() const { return overhead_us_; }
    void add_overhead(double us) { overhead_us_ += us; }

  private:
    mutable std::mutex mutex_;  // writing, and reading from other threads
    std::int64_t n_experts_ = 0;
    std::uint64_t step_ = 0;  // of the last event
    std::vector<ExpertUse> uses_;
    std::vector<LayerEvent> events_;
    std::vector<AssignmentEvent> assignments_;
    std::uint64_t n_events_ = 0;
    std::uint64_t n_assignments_ = 0;
    std::vector<std::uint64_t> first_;  // for each event in the ring: running number of its first assignment
    DispatchTotals totals_, before_reset_;
    double overhead_us_ = 0;
};

}  // namespace offstage::engine
