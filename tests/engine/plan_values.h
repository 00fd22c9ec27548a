#pragma once
// Inputs of plans, and what is planned and forecast by them, from a test's values.

#include "engine/plan/planner.h"

namespace offstage::tests {

inline engine::PlanInputs plan_inputs(const engine::ModelDemand& demand, const engine::Popularity& popularity) {
    engine::PlanInputs inputs;
    inputs.demand = demand;
    inputs.popularity = popularity;
    inputs.sensitivity = engine::Sensitivity::typical(popularity.n_layers, popularity.n_experts);
    return inputs;
}

// Without costs.
inline engine::Plan make_plan(const engine::ModelDemand& demand, const engine::Budget& budget,
                              const engine::Popularity& popularity, engine::PlacementKind kind) {
    return engine::make_plan(plan_inputs(demand, popularity), budget, kind);
}

inline engine::Forecast forecast(const engine::Plan& plan, const engine::ModelDemand& demand,
                                 const engine::Popularity& popularity, const engine::CostModel& cost,
                                 engine::PolicyKind policy, std::int64_t prompt_tokens) {
    engine::PlanInputs inputs = plan_inputs(demand, popularity);
    inputs.cost = cost;
    inputs.prefill = inputs.decode = policy;
    return inputs.forecast(plan, prompt_tokens);
}

}  // namespace offstage::tests
