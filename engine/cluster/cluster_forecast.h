#pragma once

#include <cstdint>

#include "engine/cluster/cluster_plan.h"
#include "engine/cluster/network.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

struct ClusterForecast {
    // decode_layer_us: of the machine that finishes last. bytes_per_token and hit_rate:
    // of all machines together.
    Forecast whole;
    double busiest_experts = 0;  // a token's experts of one layer on the machine that has most of them, mean
    double network_us = 0;       // one decoded token, all layers
};

// PlanInputs::forecast() for experts on several machines, after the performance model of
// "Towards Building Private LLMs" (RACS '24, equation 1): each machine computes the dense
// part, then its own share of the experts; a layer ends when the busiest machine has
// finished and the experts' outputs have been exchanged (one message's latency, and
// exchange_bytes per token, ModelDemand::n_active times hidden_dim numbers in the paper's
// table 1). Each layer's busiest machine is found token by token, with the routings that
// forecast() draws; so E, "executed experts per node and layer", is a result here. If
// machines hold copies of others' experts (ClusterPlan::holders), each chosen one goes to
// the holder with which the busiest machine has the fewest, as in the dispatcher. One
// machine has no network, and gets exactly that forecast.
ClusterForecast forecast_cluster(const ClusterPlan& plan, const PlanInputs& inputs, const Network& network,
                                 double exchange_bytes, std::int64_t prompt_tokens = kForecastPrompt);

}  // namespace offstage::engine
