#pragma once

#include <cstdint>
#include <vector>

#include "engine/telemetry/layer_event.h"

namespace offstage::engine {

// The last layers' events, in rings whose size never grows, and their sums. Written and read by the engine's thread;
// others see copies (Snapshot). Costs well under 1 % of a step: overhead() says how much.
class Recorder {
  public:
    static constexpr std::size_t kEvents = 16384;
    static constexpr std::size_t kAssignments = 131072;

    Recorder();

    // The event's first_assignment and n_assignments are set here.
    void record(const LayerEvent& event, const AssignmentEvent* assignments, std::size_t n_assignments);
    void add_step(double step_us, bool decode);

    std::uint64_t n_events() const { return n_events_; }  // recorded in all
    // The i-th event, n_events() - kEvents <= i < n_events(); its assignments if they have not been overwritten.
    const LayerEvent& event(std::uint64_t i) const { return events_[i % kEvents]; }
    bool has_assignments(std::uint64_t i) const;
    const AssignmentEvent& assignment(std::uint64_t i, std::size_t n) const;

    void count_guessed_copy() { ++totals_.guessed_copies; }
    void count_used_guess() { ++totals_.used_guesses; }
    void count_admission() { ++totals_.admissions; }

    const DispatchTotals& totals() const { return totals_; }
    void reset_totals();

    // Time spent recording, by the host's clock.
    double overhead_us() const { return overhead_us_; }
    void add_overhead(double us) { overhead_us_ += us; }

    // Events from the i-th on, for exporters: at most kEvents.
    std::vector<LayerEvent> since(std::uint64_t i) const;

  private:
    std::vector<LayerEvent> events_;
    std::vector<AssignmentEvent> assignments_;
    std::uint64_t n_events_ = 0;
    std::uint64_t n_assignments_ = 0;
    std::vector<std::uint64_t> first_;  // of each event in the ring: running number of its first assignment
    DispatchTotals totals_;
    double overhead_us_ = 0;
};

}  // namespace offstage::engine
