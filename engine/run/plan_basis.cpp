#include "engine/run/plan_basis.h"

#include <algorithm>

#include "engine/plan/calibration.h"
#include "engine/plan/forecast.h"
#include "engine/plan/quality_trade.h"

namespace offstage::engine {

Plan PlanBasis::plan_for(const ModelDemand& model, const Budget& budget, std::optional<kernels::WeightType> uniform,
                         const std::optional<ThetaChoice>& theta) const {
    Budget wanted = budget;
    wanted.uniform = uniform;
    PlanCosts by = costs();
    by.theta = theta;
    return make_plan(model, wanted, popularity, placement_for(decode), by);
}

PlanCosts PlanBasis::costs() const {
    return {cost.table().expert_bytes > 0 ? &cost : nullptr, &sensitivity, decode, &thresholds, sparse_loading};
}

void PlanBasis::set_theta(CostModel& costs, const ThetaChoice& choice) const {
    leave_out(costs, choice, thresholds, sparse_loading);
    if (active_share > 0) costs.set_theta(costs.theta(), sparse_loading, active_share, {});
}

Plan PlanBasis::replan_for(const Plan& in_force, const Budget& budget, std::int64_t tokens_in_use,
                           std::optional<kernels::WeightType> uniform, const std::optional<ThetaChoice>& theta) const {
    ModelDemand model = demand.with_kv(budget.kv);
    if (budget.kept_context.has_value()) model.kept_context = *budget.kept_context;
    Budget wanted = budget;
    if (wanted.context == 0) {
        wanted.largest_step = kShortestContext;
        if (!model.shares_host_memory) {
            wanted.context = in_force.context;
        } else if (in_force.context > model.short_context) {
            wanted.least_context = std::max(tokens_in_use, model.short_context + 1);
        } else {  // positions stay what they are
            model.max_context = std::min(model.max_context, model.short_context);
            wanted.least_context = tokens_in_use;
        }
    }
    model.max_context = std::max(model.max_context, wanted.context);
    return plan_for(model, wanted, uniform, theta);
}

void PlanBasis::describe_formats(Plan& plan) const {
    double bits = 0;
    plan.predicted_loss = 0;
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        const kernels::WeightType format = plan.format(i, master);
        const FormatDemand* const found = demand.find(format);
        bits += found != nullptr ? found->bits_per_weight : 16;
        const auto n = static_cast<std::int64_t>(i);
        plan.predicted_loss += sensitivity.loss(format, n / demand.n_experts, n % demand.n_experts, popularity);
    }
    plan.mean_bits = bits / static_cast<double>(plan.places.size());
}

MigrationRates PlanBasis::migration_rates(const QuantizingSpeeds* speeds) const {
    MigrationRates rates;
    for (const kernels::FormatTraits& row : kernels::kFormats) {
        const FormatDemand* const size = demand.find(row.type);
        if (size == nullptr) continue;
        const auto f = static_cast<std::size_t>(row.type);
        rates.upload_us[f] = cost.weight_copy_us(row.type);
        rates.pack_us[f] = cost.disk_read(row.type).us;
        rates.change_us[f] = cost.disk_read(master).us;
        const double n_weights = static_cast<double>(size->expert_bytes) * 8 / size->bits_per_weight;
        if (speeds != nullptr && row.is_packed() && (*speeds)[f] > 0)
            rates.change_us[f] += n_weights / (*speeds)[f] * 1e6;
    }
    return rates;
}

void PlanBasis::estimate_transition(const Plan& from, const Plan& to, const MigrationRates& measured,
                                    ReplanPreview& preview) const {
    const Transition change = transition(from, to, demand, &cost);
    std::optional<QuantizingSpeeds> speeds;
    if (change.quantized > 0 && !dry) {
        const CalibrationCache cache(calibrations);
        speeds = quantizing_speeds.has_value() ? *quantizing_speeds : engine::quantizing_speeds(hidden_dim, cache, {});
        if (preview.plan.note.empty()) preview.plan.note = cache.problem();
    }
    preview.bytes_to_move = change.bytes_to_move();
    preview.seconds = us_of(change.work, measured, migration_rates(speeds.has_value() ? &*speeds : nullptr)) / 1e6;
    preview.quantized = change.quantized;
}

std::uint64_t PlanBasis::expert_bytes(kernels::WeightType format) const {
    const FormatDemand* const known = demand.find(format);
    return known != nullptr ? known->expert_bytes : demand.expert_bytes;
}

}  // namespace offstage::engine
