#include "engine/run/decode_watch.h"

#include <utility>

#include "engine/plan/calibration.h"
#include "engine/plan/forecast.h"
#include "engine/plan/repeated_time.h"
#include "engine/run/measurements.h"

namespace offstage::engine {

void DecodeWatch::add(double step_us, double token_us, const DispatchTotals& totals) {
    if (steps_us_ == 0) waited_before_us_ = waited_us();
    steps_us_ += step_us;
    const std::int64_t now = n_preempted();
    meter_.add(step_us, totals, now != n_preempted_);
    tokens_.add(token_us, totals, now != n_preempted_);
    n_preempted_ = now;
}

void DecodeWatch::clear() {
    meter_.clear();
    tokens_.clear();
    overhead_us_ = 0;
    steps_us_ = 0;
}

void DecodeWatch::pass(const DispatchTotals& totals) {
    meter_.pass(totals);
    tokens_.pass(totals);
}

void DecodeWatch::measure(const Replanner& replanner, LoadedModel& model) {
    overhead_us_ = 0;
    if (model.device().shares_host_memory()) return;  // the CPU's work beside experts has no bearing on a GPU
    const MeasuredDecode measured = this->measured(model);
    const PlanInputs& inputs = model.plan_inputs();
    if (measured.n_steps == 0 || !inputs.cost.table().has_accelerator()) return;
    overhead_us_ = engine::overhead_us(forecast_us(replanner, model, kForecastPrompt), measured);
}

double DecodeWatch::forecast_us(const Replanner& replanner, LoadedModel& model, std::int64_t context) {
    const PlanInputs& inputs = model.plan_inputs();
    if (!sample_.has_value()) sample_.emplace(inputs);
    const Plan now = replanner.now();
    DecodeCosts times(inputs);
    const DecodeSample::Conditions conditions = decode_conditions(now, inputs, context);
    return sample_->play(now, times, conditions).us + conditions.dense_us;
}

Message DecodeWatch::doubt_costs(const Replanner& replanner, LoadedModel& model, std::int64_t context) {
    const bool disturbed = is_disturbed(std::exchange(steps_us_, 0), waited_us() - waited_before_us_);
    const CostTable& table = model.plan_inputs().cost.table();
    if (doubted_ || model.request().dry || table.cpu_expert.empty() || !table.dense.known()) return {};
    MeasuredDecode measured = meter_.figures(false);
    if (measured.n_steps == 0) return {};
    if (disturbed) measured.n_undisturbed = 0;
    const double forecast_us_now = forecast_us(replanner, model, context);
    if (!is_unlike(measured, forecast_us_now)) return {};
    doubted_ = true;
    if (!model.measurements().doubt(model.device(), model.host(), model.plan())) return {};
    return run_unlike_forecast(measured.typical_us(), forecast_us_now);
}

}  // namespace offstage::engine
