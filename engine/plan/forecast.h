#pragma once
// What a plan gives, and what a measurement says about that.

#include <cstdint>
#include <span>

#include "engine/plan/load_settings.h"
#include "kernels/types.h"

namespace offstage::engine {

class CostModel;
struct ExpertGrid;
struct MeasuredDecode;
struct Plan;
struct Popularity;

// The default length of the prompt in forecasts.
inline constexpr std::int64_t kForecastPrompt = 512;  // tokens

struct Forecast {
    double decode_tokens_per_s = 0;
    double decode_layer_us = 0;  // mean makespan of a layer's experts, one token
    double hit_rate = 0;         // expected_hit_rate() of the plan's places
    double bytes_per_token = 0;  // weights copied
    double ttft_s = 0;           // prompt of prompt_tokens
    double prefill_tokens_per_s = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t prompt_steps = 0;  // to read the prompt
    double mean_bits = 16;          // of the plan
    double predicted_loss = 0;      // of the plan
};

// The measured time of a decoded token beyond its plan's forecast: launches, hand-overs,
// sampling, everything that no table has. 0 if nothing was measured or forecast, or the
// forecast was slower.
double overhead_us(double forecast_us, const MeasuredDecode& measured);

// Whether steps differed by more than kCostNoise from the forecast (has_drifted()):
// slower ones count only if no other work interrupted them. False if nothing was
// measured.
bool is_unlike(const MeasuredDecode& measured, double forecast_us);

// Adds `us` to each decoded token and to each step of the prompt: this overhead does not
// depend on where experts are.
void add_overhead(Forecast& forecast, double us);

// By how much the measurements with one plan differed from its forecast.
struct ForecastError {
    double overhead_us = 0;  // of a token
    double speedup = 1;      // tokens came so many times as fast
    // Of the experts' calls; forecast_hits below 0: none were measured.
    double measured_hits = 0, forecast_hits = -1;
};

// Corrects forecasts of the present plan and of another one by the measurements with the
// first. `now` decodes as measured. `then` has the same overhead; if the forecast of
// `now` was too slow, both get faster by the same factor. Hit rates: as measured, and
// `then` gains or loses the same share of the calls as in its forecast. So the plan with
// the faster forecast, or the higher hit rate, keeps its advantage. Where nothing was
// measured yet, both have the error that was `known`, from the plan before: what was said
// of a plan before it came into force is said of it afterwards. Returns the error that
// both were corrected by.
ForecastError correct(Forecast& now, Forecast& then, const MeasuredDecode& measured, const ForecastError& known = {});

// Bytes of weights that one decoded token reads, in the formats that they are in.
struct WeightReads {
    std::uint64_t dense = 0;    // dense_bytes_read()
    std::uint64_t experts = 0;  // of n_active experts in each layer
    std::uint64_t total() const { return dense + experts; }
};

// The expected reads of a token, by the experts' popularity. expert_formats: (n_layers,
// n_experts); empty: all in `master`'s. If all experts have one format this is exact;
// otherwise tokens differ, and their actual reads are counted:
// DispatchTotals::device_read_bytes, host_read_bytes. With a plan that has a theta: for
// experts outside the device the CPU does not read neurons that it leaves out, by the
// shares that `cost` expects to be active.
WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, std::span<const kernels::WeightType> expert_formats,
                           const Plan* plan = nullptr, const CostModel* cost = nullptr);

}  // namespace offstage::engine
