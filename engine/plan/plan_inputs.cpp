#include "engine/plan/plan_inputs.h"

namespace offstage::engine {

Forecast PlanInputs::forecast_with(const CostModel& costs, const Plan& plan, std::int64_t prompt_tokens) const {
    return engine::forecast(plan, demand, popularity, costs, prefill, decode, prompt_tokens);
}

void PlanInputs::set_theta(CostModel& costs, const ThetaChoice& choice) const {
    leave_out(costs, choice, thresholds, sparse_loading);
    if (active_share > 0) costs.set_theta(costs.theta(), sparse_loading, active_share, {});
}

void PlanInputs::describe_formats(Plan& plan) const {
    double bits = 0;
    plan.predicted_loss = 0;
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        const kernels::WeightType format = plan.format(i, master);
        const ModelDemand::Format* const found = demand.find(format);
        bits += found != nullptr ? found->bits_per_weight : 16;
        const auto n = static_cast<std::int64_t>(i);
        plan.predicted_loss += sensitivity.loss(format, n / demand.n_experts, n % demand.n_experts, popularity);
    }
    plan.mean_bits = bits / static_cast<double>(plan.places.size());
}

MigrationRates PlanInputs::migration_rates(const QuantizingSpeeds* speeds) const {
    MigrationRates rates;
    for (const kernels::FormatTraits& row : kernels::kFormats) {
        const ModelDemand::Format* const size = demand.find(row.type);
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

std::uint64_t PlanInputs::expert_bytes(kernels::WeightType format) const {
    const ModelDemand::Format* const known = demand.find(format);
    return known != nullptr ? known->expert_bytes : demand.expert_bytes;
}

}  // namespace offstage::engine
