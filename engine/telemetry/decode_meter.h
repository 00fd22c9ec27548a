#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/telemetry/layer_event.h"

namespace offstage::engine {

// The measured times of recent decode steps under the present plan, by the device's
// clock.
struct MeasuredDecode {
    std::int64_t n_steps = 0;        // 0: too few for a result; all below is worthless then
    double step_us = 0;              // of one token: the mean, without the slowest and the quickest twentieth
    std::optional<double> hit_rate;  // none where the device is the CPU
    // The steps that no other work interrupted: their number and median.
    std::int64_t n_undisturbed = 0;
    double undisturbed_us = 0;

    static constexpr std::int64_t kFewest = 16;  // steps for a result
    bool is_disturbed() const { return n_undisturbed < kFewest; }
    double typical_us() const { return is_disturbed() ? step_us : undisturbed_us; }
};

// Collects them. One thread.
class DecodeMeter {
  public:
    static constexpr std::size_t kSteps = 256;  // the last ones
    static constexpr std::int64_t kFewest = MeasuredDecode::kFewest;

    // A step of one token. `totals`: sums over all steps up to this one
    // (Recorder::all_totals); the meter takes the difference to those of the step before.
    // disturbed: threads lost a core to other work meanwhile.
    void add(double step_us, const DispatchTotals& totals, bool disturbed = false);
    // A step that is not measured: its routing is skipped.
    void pass(const DispatchTotals& totals);
    // Another plan, or another model.
    void clear();

    // hits: whether there is a device that can hold experts.
    MeasuredDecode figures(bool hits) const;

  private:
    struct Step {
        double us = 0;
        std::uint64_t routed = 0, resident = 0;  // (token, expert) pairs
        bool disturbed = false;
    };

    std::vector<Step> steps_;  // a ring once it has kSteps
    std::size_t next_ = 0;
    std::uint64_t routed_ = 0, resident_ = 0;  // over all steps so far
};

}  // namespace offstage::engine
