#pragma once

#include <cstdint>
#include <optional>

#include "engine/message.h"
#include "engine/plan/planner_objective.h"
#include "engine/run/replanner.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {

// Compares the measured time of decode under the present plan with its forecast. One
// thread, the engine's.
class DecodeWatch {
  public:
    // token_us: since the token before, with all that lies between two steps.
    void add(double step_us, double token_us, const DispatchTotals& totals);
    void pass(const DispatchTotals& totals);  // skips a step that is not typical
    void clear();                             // the plan changes
    void reset() { *this = {}; }              // the model does
    // With the plan in force, from token to token, as GenerationResult::decode_tokens_per_s
    // counts, but without the slowest and the quickest twentieth.
    MeasuredDecode measured(LoadedModel& model) const { return tokens_.figures(!model.device().shares_host_memory()); }
    // See Snapshot::decode_overhead_us. Once per answer, and for decode only: a whole
    // forecast takes longer.
    void measure(const Replanner& replanner, LoadedModel& model);
    double overhead_us() const { return overhead_us_; }
    // A sentence if the time of tokens after `context` others was far from the forecast:
    // the stored costs are in doubt then (doubt_costs()). Once for a model; empty: no
    // difference.
    Message doubt_costs(const Replanner& replanner, LoadedModel& model, std::int64_t context);

  private:
    double forecast_us(const Replanner& replanner, LoadedModel& model, std::int64_t context);

    DecodeMeter meter_;
    DecodeMeter tokens_;                  // the same steps, each from token to token
    std::optional<DecodeSample> sample_;  // for the forecast of its steps; drawn once per model
    double overhead_us_ = 0;
    std::int64_t n_preempted_ = 0;  // up to the last step
    double steps_us_ = 0;           // of this answer's steps
    double waited_before_us_ = 0;   // the first of them
    bool doubted_ = false;
};

}  // namespace offstage::engine
