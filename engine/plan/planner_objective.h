#pragma once
// What the planner minimizes and forecasts add up: the times of decoded tokens and of a
// prompt's steps, played through with drawn routings.

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/plan/dispatch_policy.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

// The figures of a plan by which the planner chooses.
struct PlanScore {
    double us = 0;          // of a token's experts
    double disk_calls = 0;  // calls of experts on disk, per token
    double loss = 0;        // of quality
};
// By more than rounding: the faster plan, and of equals the one with less loss. If the
// cost of reading is unknown, forecasts treat a disk as RAM: so fewer calls come first.
bool is_better(const PlanScore& a, const PlanScore& b, const CostModel& cost);

// The share of calls that find their expert in the fastest memory, by the plan's places.
double resident_rate(const Plan& plan, const PlanInputs& inputs);

// Microseconds of a decoded token beside its experts, after `context` others. Includes
// guessing if the plan has slots for guessed copies and the policy copies.
double decode_dense_us(const Plan& plan, const PlanInputs& inputs, std::int64_t context);

// The cost of a layer's experts when one token is decoded. Only the numbers of experts of
// each place and format count, so each case is decided once. The referents must outlive
// this object. One thread.
class DecodeCosts {
  public:
    struct Figures {
        double us = 0;
        double cpu_us = 0;   // of these, computed on the CPU
        double disk_us = 0;  // and reading beside that
        double copied_bytes = 0;
    };
    // One of a layer's experts: a place and a format.
    static char code(Place place, kernels::WeightType format) {
        return static_cast<char>(static_cast<int>(place) * kernels::kWeightTypes + static_cast<int>(format));
    }

    explicit DecodeCosts(const PlanInputs& inputs);
    kernels::WeightType master() const { return master_; }
    DiskReadCost disk_read(kernels::WeightType format) const { return cost_.disk_read(format); }
    // codes: of the token's experts, in ascending order.
    Figures of(const std::string& codes, std::int64_t staging_slots);

  private:
    const CostModel& cost_;
    const PolicyKind policy_;
    const kernels::WeightType master_;
    double bytes_[kernels::kWeightTypes] = {};
    std::int64_t staging_slots_ = -1;  // of `known_`
    std::unordered_map<std::string, Figures> known_;
    std::vector<ExpertLoad> loads_;
    Schedule schedule_;
};

// The experts on disk that are in RAM's slots, as in ExpertStore: those used last.
class HostSlots {
  public:
    explicit HostSlots(std::int64_t n_slots) : n_slots_(static_cast<std::size_t>(std::max<std::int64_t>(0, n_slots))) {}
    // Uses an expert whose place is `place`. Returns kRam instead of kDisk if it lies in
    // a slot.
    Place use(Place place, std::size_t expert);

  private:
    std::size_t n_slots_;
    std::vector<std::size_t> experts_;  // used last: at the end
};

class RoutingDraw;

// Routings of some decoded tokens, drawn once, so that all plans are compared with the
// same tokens.
class DecodeSample {
  public:
    explicit DecodeSample(const PlanInputs& inputs);
    DecodeSample(const ModelDemand& demand, RoutingDraw& routing);

    struct Figures {
        double us = 0;  // experts of one token, all layers, mean
        double copied_bytes = 0;
    };
    // Work beside the experts.
    struct Conditions {
        double dense_us = 0;  // of a token beside its experts
        // Guesses that the disk reads while it would be idle.
        std::int64_t n_slots = 0;  // for guesses; 0: none
        double recall = 1;         // of the called experts, the guessed share; above 0
        // If copies on demand stay: the chance that an expert that is not on disk is on
        // the device. 0: by the plan.
        double hit_rate = 0;
    };
    Figures play(const Plan& plan, DecodeCosts& times, const Conditions& conditions) const;

    std::int64_t n_tokens() const { return static_cast<std::int64_t>(experts_.size()) / n_layers_; }
    std::span<const std::int32_t> chosen(std::int64_t token, std::int64_t layer) const {
        return experts_[static_cast<std::size_t>(token * n_layers_ + layer)];
    }

  private:
    std::int64_t n_layers_ = 0, n_experts_ = 0;
    std::vector<std::vector<std::int32_t>> experts_;  // (tokens, layers): the chosen ones
};

// For tokens that are decoded after `context` others, by the model's habits.
DecodeSample::Conditions decode_conditions(const Plan& plan, const PlanInputs& inputs, std::int64_t context);

// DecodeSample::Conditions::hit_rate for so many experts on the device; `resident_rate`:
// the share of calls that would hit if the same experts stayed.
double cached_hit_rate(std::int64_t n_resident, double resident_rate, const PlanInputs& inputs);
Place place_with_hits(Place place, double hit_rate, std::mt19937& random);

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
    explicit StepCosts(const PlanInputs& inputs);

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
