#include "engine/plan/prompt_steps.h"

namespace offstage::engine {

kernels::WeightType master_format(const ModelDemand& demand, const CostModel& cost) {
    return demand.formats.empty() ? cost.master() : demand.formats.front().format;
}

StepCosts::StepCosts(const ModelDemand& demand, const CostModel& cost, PolicyKind policy)
    : cost_(cost), policy_(policy), master_(master_format(demand, cost)), demand_(demand) {}

void StepCosts::begin_step(std::int64_t n_tokens, double dense_us) {
    calls_all_ = n_tokens * demand_.n_active >= kSureTokens * demand_.n_experts;
    loads_ahead_ = demand_.loads_ahead && calls_all_;
    read_us_ = 0;
    dense_us_ = dense_us / static_cast<double>(demand_.n_layers);
    ahead_us_ = 0;
}

double StepCosts::of(const Plan& plan, std::int64_t layer, std::span<const std::int32_t> counts,
                     std::span<const std::int32_t> owners, std::int32_t owner) {
    const auto n_experts = static_cast<std::int64_t>(counts.size());
    // Nothing is loaded ahead for the experts of one token.
    if (demand_.ends_with_experts && layer + 1 == demand_.n_layers) ahead_us_ = read_us_ = 0;
    loads_.clear();
    for (std::int64_t expert = 0; expert < n_experts; ++expert) {
        const auto e = static_cast<std::size_t>(expert);
        if (counts[e] == 0 || (!owners.empty() && owners[e] != owner)) continue;
        loads_.push_back({static_cast<std::int32_t>(expert), counts[e], plan.place(layer, n_experts, expert),
                          plan.format(static_cast<std::size_t>(layer * n_experts) + e, master_)});
    }
    decide(policy_, loads_, cost_, plan.staging_slots, schedule_, {}, {-1, true});
    if (!loads_ahead_) return without_reads_ahead(plan);
    const double ahead_us = std::min(ahead_us_, schedule_.copy_us);
    const double us = std::max(schedule_.makespan_us - ahead_us, std::min(schedule_.makespan_us, schedule_.gpu_us));
    const double copy_us = schedule_.copy_us - ahead_us;
    const bool shares = std::any_of(schedule_.assignments.begin(), schedule_.assignments.end(),
                                    [](const Assignment& a) { return a.target == ExecutionTarget::kCpu; });
    ahead_us_ = shares || copy_us <= 0
                    ? 0
                    : std::min(std::max(0.0, us - copy_us + dense_us_),
                               static_cast<double>(plan.staging_slots) * cost_.weight_copy_us(master_));
    return us;
}

// The disk reads the next layer's experts while no expert of this layer is read.
double StepCosts::without_reads_ahead(const Plan& plan) {
    const double read_us = std::min(read_us_, schedule_.disk_us);
    const double us = std::max(std::min(schedule_.makespan_us, schedule_.cpu_us), schedule_.makespan_us - read_us);
    const double idle_us = dense_us_ + std::max(0.0, us - (schedule_.disk_us - read_us));
    const bool guesses = calls_all_ && demand_.disk_guess_slots > 0 && cost_.table().disk_beside;
    const auto n_slots = static_cast<double>(plan.host_staging_slots / 2);
    read_us_ = guesses ? std::min(idle_us, n_slots * cost_.disk_read(master_).us) : 0;
    return us;
}

}  // namespace offstage::engine
