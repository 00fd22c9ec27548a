#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/planner.h"
#include "engine/run/replan.h"

namespace offstage::engine {

// What a request makes of a loaded model (PlanInputs::present), while the model
// continues: any thread plans with a copy of the inputs. Throws Error where no plan can
// be made: kInvalidInput, kOutOfMemory.
Plan replanned(const PlanInputs& inputs, const ReplanRequest& request);
// error: of forecasts before the plan in force; becomes that of this preview's.
ReplanPreview preview_of(const PlanInputs& inputs, const ReplanRequest& request, ForecastError* error = nullptr);

// An expert that a user pins to the device takes the place of the least popular one that
// is no smaller; if there is none, it takes that one's format as well.
void apply_pins(const PlanInputs& inputs, const std::vector<std::uint8_t>& pinned, Plan& plan);

}  // namespace offstage::engine
