#pragma once

#include <cstdint>

#include "engine/plan/dispatch_policy.h"
#include "engine/plan/planner.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

struct Forecast {
    double decode_tokens_per_s = 0;
    double decode_layer_us = 0;  // mean makespan of a layer's experts, one token
    double hit_rate = 0;         // expected_hit_rate() of the plan's places
    double bytes_per_token = 0;  // weights copied
    double ttft_s = 0;           // prompt of prompt_tokens
    double prefill_tokens_per_s = 0;
    std::int64_t prompt_tokens = 0;
};

// What a plan would do: draws routings from the popularity (experts of a token without repetition, by share), lets the
// policy decide each layer with the cost model, and averages. Deterministic (`seed`). An estimate: dense work counts
// only where the table has it, and disk costs nothing more than RAM. `popularity` is of the demand's shape.
Forecast forecast(const Plan& plan, const ModelDemand& demand, const Popularity& popularity, const CostModel& cost,
                  PolicyKind prefill, PolicyKind decode, std::int64_t prompt_tokens, std::uint64_t seed = 1);

}  // namespace offstage::engine
