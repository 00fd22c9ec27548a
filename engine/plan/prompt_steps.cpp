#include "engine/plan/prompt_steps.h"

namespace offstage::engine {

kernels::WeightType master_format(const ModelDemand& demand, const CostModel& cost) {
    return demand.formats.empty() ? cost.master() : demand.formats.front().format;
}

StepCosts::StepCosts(const ModelDemand& demand, const CostModel& cost, PolicyKind policy)
    : cost_(cost), policy_(policy), master_(master_format(demand, cost)) {}

double StepCosts::of(const Plan& plan, std::int64_t layer, std::span<const std::int32_t> counts,
                     std::span<const std::int32_t> owners, std::int32_t owner) {
    const auto n_experts = static_cast<std::int64_t>(counts.size());
    loads_.clear();
    for (std::int64_t expert = 0; expert < n_experts; ++expert) {
        const auto e = static_cast<std::size_t>(expert);
        if (counts[e] == 0 || (!owners.empty() && owners[e] != owner)) continue;
        loads_.push_back({static_cast<std::int32_t>(expert), counts[e], plan.place(layer, n_experts, expert),
                          plan.format(static_cast<std::size_t>(layer * n_experts) + e, master_)});
    }
    decide(policy_, loads_, cost_, plan.staging_slots, schedule_);
    return schedule_.makespan_us;
}

}  // namespace offstage::engine
