#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/planner.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

// Which machine has each expert, (n_layers, n_experts). Within a layer the most popular goes first, each to the machine
// with the least to do so far, so that the expected load is even; no machine gets two experts more than another. What a
// layer leaves over goes to the machines that have the fewest experts in all.
// Throws Error (kInvalidInput) when there are more machines than experts in a layer, or none.
std::vector<std::int32_t> deal_experts(const ModelDemand& demand, const Popularity& popularity,
                                       std::int64_t n_machines);

// Expert parallelism as in "Towards Building Private LLMs" (RACS '24, sections 2.3 and 4.3): each expert on one
// machine, the dense part, router and KV cache on all of them.
struct ClusterPlan {
    std::int64_t n_experts = 0;        // per layer
    std::vector<std::int32_t> owners;  // deal_experts()
    std::vector<Plan> machines;        // each with its own experts placed; the others' are on none of its places

    std::int64_t n_machines() const { return static_cast<std::int64_t>(machines.size()); }
    std::span<const std::int32_t> owners_of(std::int64_t layer) const {
        return std::span(owners).subspan(static_cast<std::size_t>(layer * n_experts),
                                         static_cast<std::size_t>(n_experts));
    }
    std::int64_t n_resident() const;   // on all devices together
    double expected_hit_rate() const;  // of all experts' calls
    std::int64_t max_step() const;     // the shortest: machines read a prompt together
};

// `budget` is each machine's; experts are in the master's format (budget.uniform and budget.quality are unset). One
// machine gets the plan of make_plan(). Throws as deal_experts(), and as make_plan() where one machine's part does not
// fit.
ClusterPlan make_cluster_plan(const ModelDemand& demand, const Budget& budget, const Popularity& popularity,
                              PlacementKind kind, std::int64_t n_machines);

}  // namespace offstage::engine
