#pragma once

#include "engine/plan/forecast.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {

// The measured time of a decoded token beyond its plan's forecast: launches, hand-overs,
// sampling, everything that no table has. 0 if nothing was measured or forecast, or the
// forecast was slower.
double overhead_us(const Forecast& forecast, const MeasuredDecode& measured);

// Whether steps differed by more than kCostNoise from the forecast (has_drifted()):
// slower ones count only if no other work interrupted them. False if nothing was
// measured.
bool is_unlike(const MeasuredDecode& measured, double forecast_us);

// Adds `us` to each decoded token and to each step of the prompt: this overhead does not
// depend on where experts are.
void add_overhead(Forecast& forecast, double us);

// Corrects forecasts of the present plan and of another one by the measurements with the
// first. `now` decodes as measured. `then` has the same overhead; if the forecast of
// `now` was too slow, both get faster by the same factor. Hit rates: as measured, and
// `then` gains or loses the same share of the calls as in its forecast. So the plan with
// the faster forecast, or the higher hit rate, keeps its advantage. Without a measurement
// nothing changes.
void correct(Forecast& now, Forecast& then, const MeasuredDecode& measured);

}  // namespace offstage::engine
