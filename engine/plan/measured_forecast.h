#pragma once

#include "engine/plan/forecast.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {

// What a decoded token was measured to take beyond its plan's forecast: launches, hand-overs, sampling, everything that
// no table has. 0 where nothing was measured, nothing was forecast, or the forecast was the slower.
double overhead_us(const Forecast& forecast, const MeasuredDecode& measured);

// Whether steps were off by more than kCostNoise from what was forecast (has_drifted()):
// slower ones count only where no other work interrupted them. False where nothing was
// measured.
bool is_unlike(const MeasuredDecode& measured, double forecast_us);

// The forecast with so much more for each token decoded and each step of the prompt: it does not depend on where
// experts are.
void add_overhead(Forecast& forecast, double us);

// Puts forecasts of the plan in force and of another one right by what was measured with the first. `now` decodes as
// measured. `then` has the same overhead; where the forecast of `now` was too slow, both are quicker by the same
// factor. Hit rates: as measured, and of the calls that `then` was forecast to gain or to lose the same share. So who
// was forecast to be faster, or to hit more, still is. Without a measurement nothing changes.
void correct(Forecast& now, Forecast& then, const MeasuredDecode& measured);

}  // namespace offstage::engine
