#include "engine/plan/forecast.h"

#include <algorithm>
#include <cmath>

#include "engine/model/model_spec.h"
#include "engine/plan/planner_objective.h"
#include "engine/plan/repeated_time.h"
#include "engine/plan/routing_draw.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {
namespace {

// Hit rate of the other plan: misses shrink, or hits do, as was forecast.
double hits_then(double measured, double now, double then) {
    const double hits = then >= now ? (now < 1 ? 1 - (1 - measured) * (1 - then) / (1 - now) : measured)
                                    : measured * then / now;  // now > then >= 0
    return std::clamp(hits, 0.0, 1.0);
}

void put_right(Forecast& forecast, const ForecastError& error) {
    add_overhead(forecast, error.overhead_us);
    forecast.decode_tokens_per_s *= error.speedup;
    if (error.forecast_hits >= 0) {
        forecast.hit_rate = hits_then(error.measured_hits, error.forecast_hits, forecast.hit_rate);
    }
}

}  // namespace

Forecast PlanInputs::forecast(const Plan& plan, std::int64_t prompt_tokens) const {
    Forecast result;
    result.hit_rate = resident_rate(plan, *this);
    result.prompt_tokens = prompt_tokens;
    result.prompt_steps = n_prompt_steps(prompt_tokens, plan.max_step);
    RoutingDraw routing(popularity.expected(), 1);

    DecodeCosts times(*this);
    const DecodeSample::Conditions conditions = decode_conditions(plan, *this, prompt_tokens);
    const DecodeSample::Figures token = DecodeSample(demand, routing).play(plan, times, conditions);
    const double token_us = token.us + conditions.dense_us;
    result.decode_layer_us = token.us / static_cast<double>(demand.n_layers);
    result.bytes_per_token = token.copied_bytes;
    if (token_us > 0) result.decode_tokens_per_s = 1e6 / token_us;
    result.mean_bits = plan.mean_bits;
    result.predicted_loss = plan.predicted_loss;

    StepCosts steps(*this);
    const DenseCosts& dense = cost.table().dense;
    const auto step_us = [&](std::int64_t n_tokens, bool is_last) {
        steps.begin_step(n_tokens, dense.step_us(n_tokens, 0));
        double us = 0;
        for (std::int64_t layer = 0; layer < demand.n_layers; ++layer)
            us += steps.of(plan, layer, routing.draw(layer, computed_tokens(demand, layer, n_tokens, is_last)));
        return us;
    };
    const double us =
        dense.prompt_us(prompt_tokens, plan.max_step) + prompt_steps_us(prompt_tokens, plan.max_step, step_us);
    result.ttft_s = us / 1e6;
    if (us > 0) result.prefill_tokens_per_s = static_cast<double>(prompt_tokens) / result.ttft_s;
    return result;
}

double overhead_us(double forecast_us, const MeasuredDecode& measured) {
    return measured.n_steps == 0 || forecast_us <= 0 ? 0 : std::max(0.0, measured.step_us - forecast_us);
}

bool is_unlike(const MeasuredDecode& measured, double forecast_us) {
    if (measured.n_steps == 0 || forecast_us <= 0) return false;
    return has_drifted(forecast_us, measured.typical_us(), measured.is_disturbed());
}

void add_overhead(Forecast& forecast, double us) {
    if (us <= 0) return;
    if (forecast.decode_tokens_per_s > 0)
        forecast.decode_tokens_per_s = 1e6 / (1e6 / forecast.decode_tokens_per_s + us);
    if (forecast.ttft_s <= 0) return;
    forecast.ttft_s += us * static_cast<double>(forecast.prompt_steps) / 1e6;
    forecast.prefill_tokens_per_s = static_cast<double>(forecast.prompt_tokens) / forecast.ttft_s;
}

ForecastError correct(Forecast& now, Forecast& then, const MeasuredDecode& measured, const ForecastError& known) {
    const bool is_measured = measured.n_steps > 0 && measured.step_us > 0;
    const double forecast_per_s = now.decode_tokens_per_s;
    const double measured_per_s = is_measured ? 1e6 / measured.step_us : 0;
    ForecastError error = known;
    if (is_measured) {
        error = {};
        if (forecast_per_s > 0) {
            error.overhead_us = overhead_us(1e6 / forecast_per_s, measured);
            error.speedup = std::max(1.0, measured_per_s / forecast_per_s);
        }
        if (measured.hit_rate.has_value()) {
            error.measured_hits = *measured.hit_rate;
            error.forecast_hits = now.hit_rate;
        }
    }
    put_right(now, error);
    put_right(then, error);
    if (is_measured) now.decode_tokens_per_s = measured_per_s;
    return error;
}

WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, std::span<const kernels::WeightType> expert_formats,
                           const Plan* plan, const CostModel* cost) {
    double experts = 0;
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < grid.n_experts; ++expert) {
            const auto i = static_cast<std::size_t>(layer * grid.n_experts + expert);
            const kernels::WeightType format = expert_formats.empty() ? grid.stored(master, layer) : expert_formats[i];
            const bool whole = plan == nullptr || plan->places[i] == Place::kDevice || !lies_by_neurons(format);
            experts += popularity.share(layer, expert) * static_cast<double>(grid.expert_bytes(format)) *
                       (whole ? 1.0 : read_share(cost->active_share(layer, 1)));
        }
    }
    return {dense_read_bytes, static_cast<std::uint64_t>(std::llround(experts))};
}

}  // namespace offstage::engine
