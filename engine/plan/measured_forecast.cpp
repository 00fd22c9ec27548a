#include "engine/plan/measured_forecast.h"

#include <algorithm>

#include "engine/plan/repeated_time.h"

namespace offstage::engine {
namespace {

// Hit rate of the other plan: misses shrink, or hits do, as was forecast.
double hits_then(double measured, double now, double then) {
    const double hits = then >= now ? (now < 1 ? 1 - (1 - measured) * (1 - then) / (1 - now) : measured)
                                    : measured * then / now;  // now > then >= 0
    return std::clamp(hits, 0.0, 1.0);
}

}  // namespace

double overhead_us(const Forecast& forecast, const MeasuredDecode& measured) {
    if (measured.n_steps == 0 || forecast.decode_tokens_per_s <= 0) return 0;
    return std::max(0.0, measured.step_us - 1e6 / forecast.decode_tokens_per_s);
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

void correct(Forecast& now, Forecast& then, const MeasuredDecode& measured) {
    if (measured.n_steps == 0 || measured.step_us <= 0) return;
    const double measured_per_s = 1e6 / measured.step_us;
    const double forecast_per_s = now.decode_tokens_per_s;
    const double us = overhead_us(now, measured);
    add_overhead(now, us);
    add_overhead(then, us);
    if (forecast_per_s > 0 && measured_per_s > forecast_per_s)
        then.decode_tokens_per_s *= measured_per_s / forecast_per_s;
    now.decode_tokens_per_s = measured_per_s;
    if (measured.hit_rate.has_value()) {
        then.hit_rate = hits_then(*measured.hit_rate, now.hit_rate, then.hit_rate);
        now.hit_rate = *measured.hit_rate;
    }
}

}  // namespace offstage::engine
