#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/plan/calibrate_host.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/model_demand.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/plan/plan.h"
#include "engine/plan/popularity.h"
#include "engine/plan/sensitivity.h"
#include "engine/plan/transition.h"
#include "kernels/types.h"

namespace offstage::engine {

enum class PlacementKind : std::uint8_t {
    kPopular,  // the most popular experts of all layers
    kLayers,   // whole layers, the last ones first
};

// The placement that a policy decodes with.
inline PlacementKind placement_for(PolicyKind decode) {
    return decode == PolicyKind::kLayers ? PlacementKind::kLayers : PlacementKind::kPopular;
}

// All inputs of a model's plans and of their forecasts, without the budgets. A load, its
// estimate, its report and re-plans use the same one (LoadPlanner). A value, so that any
// thread may plan with a copy while tokens are generated (tens of kilobytes to some
// megabytes). A plan takes milliseconds to tenths of a second.
struct PlanInputs {
    ModelDemand demand;
    Popularity popularity;
    Sensitivity sensitivity;
    CostModel cost;                                     // without a table: not measured
    std::optional<QuantizingSpeeds> quantizing_speeds;  // measured at load
    kernels::WeightType master = kernels::WeightType::kBf16;
    PolicyKind prefill = PolicyKind::kBalanced;
    PolicyKind decode = PolicyKind::kBalanced;
    bool dry = false;
    NeuronThresholds thresholds;  // measured of the model
    SparseLoading sparse_loading = SparseLoading::kOff;
    double active_share = 0;   // LoadRequest::active_share
    std::string calibrations;  // folder where measured speeds are kept; empty: nowhere

    bool has_costs() const { return cost.table().expert_bytes > 0; }
    // Of a prompt of prompt_tokens and the decode after it.
    Forecast forecast(const Plan& plan, std::int64_t prompt_tokens = kForecastPrompt) const {
        return forecast_with(cost, plan, prompt_tokens);
    }
    Forecast forecast_with(const CostModel& costs, const Plan& plan,
                           std::int64_t prompt_tokens = kForecastPrompt) const;
    // Makes the costs account for neurons that are left out.
    void set_theta(CostModel& costs, const ThetaChoice& choice) const;
    // Mean bits and predicted loss of the plan's formats.
    void describe_formats(Plan& plan) const;
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
