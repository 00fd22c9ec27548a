#include "engine/run/decode_watch.h"

#include "engine/plan/measured_forecast.h"

namespace offstage::engine {

void DecodeWatch::clear() {
    meter_.clear();
    overhead_us_ = 0;
}

PlanDraft DecodeWatch::draft(const Replanner& replanner, LoadedModel& model) const {
    PlanDraft draft = replanner.draft();
    draft.measured = meter_.figures(!model.device().shares_host_memory());
    return draft;
}

void DecodeWatch::measure(const Replanner& replanner, LoadedModel& model) {
    overhead_us_ = 0;
    if (model.device().shares_host_memory()) return;  // what the CPU does beside experts says nothing of a GPU
    const MeasuredDecode measured = meter_.figures(true);
    const PlanBasis& basis = model.basis();
    if (measured.n_steps == 0 || !basis.cost.table().has_accelerator()) return;
    if (!sample_.has_value()) sample_.emplace(basis.demand, basis.popularity);
    const PlanDraft now = replanner.draft();
    DecodeCosts times(basis.demand, basis.cost, now.decode);
    const DecodeSample::Conditions conditions =
        decode_conditions(now.now, basis.demand, basis.popularity, basis.cost, now.decode, kForecastPrompt);
    Forecast told;
    told.decode_tokens_per_s = 1e6 / (sample_->play(now.now, times, conditions).us + conditions.dense_us);
    overhead_us_ = engine::overhead_us(told, measured);
}

}  // namespace offstage::engine
