#pragma once

#include <optional>

#include "engine/plan/forecast.h"
#include "engine/run/plan_basis.h"
#include "engine/run/replanner.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {

// What decode really takes under the plan in force, beside what is forecast for it. One
// thread, the engine's.
class DecodeWatch {
  public:
    void add(double step_us, const DispatchTotals& totals) { meter_.add(step_us, totals); }
    void pass(const DispatchTotals& totals) { meter_.pass(totals); }  // a step that says nothing
    void clear();                                                     // the plan changes
    void reset() { *this = {}; }                                      // the model does
    PlanDraft draft(const Replanner& replanner, LoadedModel& model) const;
    // See Snapshot::decode_overhead_us. Once an answer, and for decode alone: a whole
    // forecast takes longer.
    void measure(const Replanner& replanner, LoadedModel& model);
    double overhead_us() const { return overhead_us_; }

  private:
    DecodeMeter meter_;
    std::optional<DecodeSample> sample_;  // for the forecast of its steps; drawn once per model
    double overhead_us_ = 0;
};

}  // namespace offstage::engine
