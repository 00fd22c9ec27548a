#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/plan/calibrate_host.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/plan/planner.h"
#include "engine/plan/policy_kind.h"
#include "engine/plan/popularity.h"
#include "engine/plan/prefetch_settings.h"
#include "engine/plan/sensitivity.h"
#include "engine/plan/transition.h"
#include "engine/run/replan.h"
#include "kernels/types.h"

namespace offstage::engine {

// All that plans of a loaded model depend on: a value, so that any thread may plan with a copy of its own while tokens
// are being made (tens of kilobytes to some megabytes). A plan takes milliseconds to tenths of a second.
struct PlanBasis {
    ModelDemand demand;
    Popularity popularity;
    Sensitivity sensitivity;
    CostModel cost;                                     // without a table: not measured
    std::optional<QuantizingSpeeds> quantizing_speeds;  // measured at load
    kernels::WeightType master = kernels::WeightType::kBf16;
    std::int64_t hidden_dim = 0;
    PolicyKind decode = PolicyKind::kBalanced;
    bool dry = false;
    NeuronThresholds thresholds;  // measured of the model
    SparseLoading sparse_loading = SparseLoading::kOff;
    double active_share = 0;   // LoadRequest::active_share
    std::string calibrations;  // folder where measured speeds are kept; empty: nowhere

    PlanCosts costs() const;  // of this object
    // So that it counts with what is left out.
    void set_theta(CostModel& costs, const ThetaChoice& choice) const;
    // A plan for these budgets. `uniform`: all experts in this format; else Budget::quality decides. theta: what is
    // left out whatever the plan (PlanCosts::theta). Throws Error.
    Plan plan_for(const ModelDemand& model, const Budget& budget, std::optional<kernels::WeightType> uniform,
                  const std::optional<ThetaChoice>& theta = {}) const;
    // A plan that takes this one's place. context 0 in the budget: this one's, and steps
    // as where nobody named one.
    Plan replan_for(const Plan& in_force, const Budget& budget, std::optional<kernels::WeightType> uniform,
                    const std::optional<ThetaChoice>& theta = {}) const;
    // Mean bits and predicted loss of the plan's formats.
    void describe_formats(Plan& plan) const;
    // measured: what migrations took so far.
    void estimate_transition(const Plan& from, const Plan& to, const MigrationRates& measured,
                             ReplanPreview& preview) const;
    // What each expert of a migration takes, before one was seen to: by what was measured of the disk, the bus and
    // quantizing. speeds may be nullptr.
    MigrationRates migration_rates(const QuantizingSpeeds* speeds) const;

    double share(std::size_t expert) const {  // of its layer's calls
        const auto n = static_cast<std::int64_t>(expert);
        return popularity.share(n / demand.n_experts, n % demand.n_experts);
    }
    std::uint64_t expert_bytes(kernels::WeightType format) const;  // as arenas count
};

}  // namespace offstage::engine
