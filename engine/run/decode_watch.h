#pragma once

#include <cstdint>
#include <optional>

#include "engine/message.h"
#include "engine/plan/forecast.h"
#include "engine/run/plan_basis.h"
#include "engine/run/replanner.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {

// What decode really takes under the plan in force, beside what is forecast for it. One
// thread, the engine's.
class DecodeWatch {
  public:
    void add(double step_us, const DispatchTotals& totals);
    void pass(const DispatchTotals& totals) { meter_.pass(totals); }  // a step that says nothing
    void clear();                                                     // the plan changes
    void reset() { *this = {}; }                                      // the model does
    PlanDraft draft(const Replanner& replanner, LoadedModel& model) const;
    // See Snapshot::decode_overhead_us. Once an answer, and for decode alone: a whole
    // forecast takes longer.
    void measure(const Replanner& replanner, LoadedModel& model);
    double overhead_us() const { return overhead_us_; }
    // A sentence where tokens behind `context` others took another time than was
    // forecast: the kept costs are in doubt then (doubt_costs()). Once for a model;
    // empty: nothing to say.
    Message doubt_costs(const Replanner& replanner, LoadedModel& model, std::int64_t context);

  private:
    double forecast_us(const Replanner& replanner, LoadedModel& model, std::int64_t context);

    DecodeMeter meter_;
    std::optional<DecodeSample> sample_;  // for the forecast of its steps; drawn once per model
    double overhead_us_ = 0;
    std::int64_t n_preempted_ = 0;  // up to the last step
    double steps_us_ = 0;           // of this answer's steps
    double waited_before_us_ = 0;   // the first of them
    bool doubted_ = false;
};

}  // namespace offstage::engine
