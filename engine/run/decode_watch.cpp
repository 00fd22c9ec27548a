#include "engine/run/decode_watch.h"

#include <utility>

#include "engine/plan/calibration.h"
#include "engine/plan/measured_forecast.h"
#include "engine/plan/repeated_time.h"
#include "engine/run/model_costs.h"

namespace offstage::engine {

void DecodeWatch::add(double step_us, const DispatchTotals& totals) {
    if (steps_us_ == 0) waited_before_us_ = waited_us();
    steps_us_ += step_us;
    const std::int64_t now = n_preempted();
    meter_.add(step_us, totals, now != n_preempted_);
    n_preempted_ = now;
}

void DecodeWatch::clear() {
    meter_.clear();
    overhead_us_ = 0;
    steps_us_ = 0;
}

PlanDraft DecodeWatch::draft(const Replanner& replanner, LoadedModel& model) const {
    PlanDraft draft = replanner.draft();
    draft.measured = meter_.figures(!model.device().shares_host_memory());
    return draft;
}

void DecodeWatch::measure(const Replanner& replanner, LoadedModel& model) {
    overhead_us_ = 0;
    if (model.device().shares_host_memory()) return;  // the CPU's work beside experts has no bearing on a GPU
    const MeasuredDecode measured = meter_.figures(true);
    const PlanBasis& basis = model.basis();
    if (measured.n_steps == 0 || !basis.cost.table().has_accelerator()) return;
    Forecast told;
    told.decode_tokens_per_s = 1e6 / forecast_us(replanner, model, kForecastPrompt);
    overhead_us_ = engine::overhead_us(told, measured);
}

double DecodeWatch::forecast_us(const Replanner& replanner, LoadedModel& model, std::int64_t context) {
    const PlanBasis& basis = model.basis();
    if (!sample_.has_value()) sample_.emplace(basis.demand, basis.popularity);
    const PlanDraft now = replanner.draft();
    DecodeCosts times(basis.demand, basis.cost, now.decode);
    const DecodeSample::Conditions conditions =
        decode_conditions(now.now, basis.demand, basis.popularity, basis.cost, now.decode, context);
    return sample_->play(now.now, times, conditions).us + conditions.dense_us;
}

Message DecodeWatch::doubt_costs(const Replanner& replanner, LoadedModel& model, std::int64_t context) {
    const bool disturbed = is_disturbed(std::exchange(steps_us_, 0), waited_us() - waited_before_us_);
    const CostTable& table = model.basis().cost.table();
    if (doubted_ || model.request().dry || table.cpu_expert.empty() || !table.dense.known()) return {};
    MeasuredDecode measured = meter_.figures(false);
    if (measured.n_steps == 0) return {};
    if (disturbed) measured.n_undisturbed = 0;
    const double told_us = forecast_us(replanner, model, context);
    if (!is_unlike(measured, told_us)) return {};
    doubted_ = true;
    if (!engine::doubt_costs(model)) return {};
    return run_unlike_forecast(measured.typical_us(), told_us);
}

}  // namespace offstage::engine
