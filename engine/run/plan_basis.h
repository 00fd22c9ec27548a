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

// All inputs of a loaded model's plans: a value, so that any thread may plan with a copy
// while tokens are generated (tens of kilobytes to some megabytes). A plan takes
// milliseconds to tenths of a second.
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

    PlanCosts costs() const;  // pointers into this object
    // Makes the costs account for neurons that are left out.
    void set_theta(CostModel& costs, const ThetaChoice& choice) const;
    // A plan for these budgets. `uniform`: all experts in this format; otherwise
    // Budget::quality decides. theta: a fixed choice of thresholds for every plan
    // (PlanCosts::theta). Throws Error.
    Plan plan_for(const ModelDemand& model, const Budget& budget, std::optional<kernels::WeightType> uniform,
                  const std::optional<ThetaChoice>& theta = {}) const;
    // A plan that replaces the one in force, with room for the tokens in use. context 0
    // in the budget: on a device the present context, whose last blocks may be in RAM; on
    // the CPU the context that a load would choose. Steps are as in a request without a
    // context.
    Plan replan_for(const Plan& in_force, const Budget& budget, std::int64_t tokens_in_use,
                    std::optional<kernels::WeightType> uniform, const std::optional<ThetaChoice>& theta = {}) const;
    // Mean bits and predicted loss of the plan's formats.
    void describe_formats(Plan& plan) const;
    // measured: the times of migrations so far.
    void estimate_transition(const Plan& from, const Plan& to, const MigrationRates& measured,
                             ReplanPreview& preview) const;
    // The expected time of each expert of a migration, before any was observed: from the
    // measured speeds of the disk, the bus and quantizing. speeds may be nullptr.
    MigrationRates migration_rates(const QuantizingSpeeds* speeds) const;

    double share(std::size_t expert) const {  // of its layer's calls
        const auto n = static_cast<std::int64_t>(expert);
        return popularity.share(n / demand.n_experts, n % demand.n_experts);
    }
    std::uint64_t expert_bytes(kernels::WeightType format) const;  // as arenas count
};

}  // namespace offstage::engine
