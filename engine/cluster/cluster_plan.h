#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/planner.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

// The machine of each expert, (n_layers, n_experts). Within a layer the most popular goes
// first, each to the machine with the least load so far, so that the expected load is
// even; no machine gets two experts more than another. A layer's remaining experts go to
// the machines that have the fewest experts in all. Throws Error (kInvalidInput) when
// there are more machines than experts in a layer, or none.
std::vector<std::int32_t> partition_experts(const ModelDemand& demand, const Popularity& popularity,
                                            std::int64_t n_machines);

// Expert parallelism as in "Towards Building Private LLMs" (RACS '24, sections 2.3, 4.3
// and 5.3): each expert is on one machine; the dense part, router and KV cache are on all
// machines. A machine whose accelerator has all its own experts and free VRAM also has
// copies of other machines' experts there (holding_order).
struct ClusterPlan {
    std::int64_t n_experts = 0;        // per layer
    std::vector<std::int32_t> owners;  // partition_experts()
    // (n_layers, n_experts): the machines that may compute each expert, the owner first.
    // The owner is missing if only other machines have the expert on an accelerator.
    std::vector<std::vector<std::int32_t>> holders;
    std::vector<Plan>
        machines;         // each with its own experts and its copies placed; the others are on none of its places
    double hit_rate = 0;  // over all experts' calls

    std::int64_t n_machines() const { return static_cast<std::int64_t>(machines.size()); }
    std::int64_t n_resident() const;  // on any of the devices; each expert once
    std::int64_t max_step() const;    // the shortest: machines read a prompt together
};

// By the inputs' demand, popularity and policy of decoding. `budget` is each machine's;
// experts are in the master's format (budget.uniform and budget.quality are unset).
// Without a VRAM budget the spare memory is unknown, and there are no copies. One machine
// gets the plan of make_plan(). Throws as partition_experts(), and as make_plan() if one
// machine's part does not fit.
ClusterPlan make_cluster_plan(const PlanInputs& inputs, const Budget& budget, std::int64_t n_machines);

}  // namespace offstage::engine
