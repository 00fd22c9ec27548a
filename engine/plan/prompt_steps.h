#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/model_demand.h"

namespace offstage::engine {

// The default format of a demand's experts.
kernels::WeightType master_format(const ModelDemand& demand, const CostModel& cost);

// Copies are made ahead only if a prompt's step surely calls all experts of a layer: if
// it has this many tokens for each (chance would miss one in e^8).
inline constexpr std::int64_t kSureTokens = 8;

// The number of a step's tokens for which the layer's experts are computed
// (Forward::step()). is_last: the step ends the prompt.
inline std::int64_t computed_tokens(const ModelDemand& demand, std::int64_t layer, std::int64_t n_tokens,
                                    bool is_last) {
    const bool leaves_out = demand.ends_with_experts && layer + 1 == demand.n_layers && n_tokens > 1;
    return leaves_out ? (is_last ? 1 : 0) : n_tokens;
}

// The cost of the layers' experts in steps of many tokens. If the demand loads ahead, the
// copy engine continues with the next layer's experts in its idle time. The referents
// must outlive this object. One thread.
class StepCosts {
  public:
    StepCosts(const ModelDemand& demand, const CostModel& cost, PolicyKind policy);

    // Called before the layers of a step, whose costs are then requested in order.
    // dense_us: of the whole step.
    void begin_step(std::int64_t n_tokens, double dense_us);
    // Microseconds. counts: (n_experts), the tokens of each expert. owners: (n_experts),
    // the machine that has each; only experts of `owner` count. Empty: all count.
    double of(const Plan& plan, std::int64_t layer, std::span<const std::int32_t> counts,
              std::span<const std::int32_t> owners = {}, std::int32_t owner = 0);

  private:
    double without_reads_ahead(const Plan& plan);

    const CostModel& cost_;
    const PolicyKind policy_;
    const kernels::WeightType master_;
    const ModelDemand& demand_;
    bool loads_ahead_ = false;  // this step does
    double dense_us_ = 0;       // between two layers' experts
    double ahead_us_ = 0;       // of the next layer's copies that are made already
    bool calls_all_ = false;    // the step calls all experts of each layer
    double read_us_ = 0;        // of the next layer's experts on disk that are read already
    std::vector<ExpertLoad> loads_;
    Schedule schedule_;
};

inline std::int64_t n_prompt_steps(std::int64_t prompt_tokens, std::int64_t max_step) {
    const std::int64_t step_tokens = std::max<std::int64_t>(1, max_step);
    return (prompt_tokens + step_tokens - 1) / step_tokens;
}

// Microseconds of a prompt that is read in steps of at most max_step tokens.
// step_us(n_tokens, is_last) is called for each simulated step, in order. Full steps cost
// about the same: a few are simulated, and the others are assumed to be equal.
template <typename StepUs>
double prompt_steps_us(std::int64_t prompt_tokens, std::int64_t max_step, StepUs&& step_us) {
    constexpr std::int64_t kPlayed = 4;
    const std::int64_t step_tokens = std::max<std::int64_t>(1, max_step);
    if (prompt_tokens <= 0) return 0;
    const std::int64_t full_steps = (prompt_tokens - 1) / step_tokens;  // before the last one
    double us = 0;
    if (full_steps > 0) {
        const std::int64_t n = std::min(full_steps, kPlayed);
        double full_us = 0;
        for (std::int64_t i = 0; i < n; ++i) full_us += step_us(step_tokens, false);
        us += full_us / static_cast<double>(n) * static_cast<double>(full_steps);
    }
    return us + step_us(prompt_tokens - full_steps * step_tokens, true);
}

}  // namespace offstage::engine
