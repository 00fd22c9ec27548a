#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/plan/dispatch_policy.h"
#include "engine/plan/model_demand.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

// The default length of the prompt in forecasts.
inline constexpr std::int64_t kForecastPrompt = 512;  // tokens

struct Forecast {
    double decode_tokens_per_s = 0;
    double decode_layer_us = 0;  // mean makespan of a layer's experts, one token
    double hit_rate = 0;         // expected_hit_rate() of the plan's places
    double bytes_per_token = 0;  // weights copied
    double ttft_s = 0;           // prompt of prompt_tokens
    double prefill_tokens_per_s = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t prompt_steps = 0;  // to read the prompt
    double mean_bits = 16;          // of the plan
    double predicted_loss = 0;      // of the plan
};

// Microseconds of a decoded token beside its experts, after `context` others. Includes
// guessing if the plan has slots for guessed copies and the policy copies.
double decode_dense_us(const Plan& plan, const CostModel& cost, PolicyKind decode, std::int64_t context);

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

    DecodeCosts(const ModelDemand& demand, const CostModel& cost, PolicyKind policy);
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
    DecodeSample(const ModelDemand& demand, const Popularity& popularity, std::uint64_t seed = 1);
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
    Figures play(const Plan& plan, DecodeCosts& times) const { return play(plan, times, {}); }

    std::int64_t n_tokens() const { return static_cast<std::int64_t>(experts_.size()) / n_layers_; }
    std::span<const std::int32_t> chosen(std::int64_t token, std::int64_t layer) const {
        return experts_[static_cast<std::size_t>(token * n_layers_ + layer)];
    }

  private:
    std::int64_t n_layers_ = 0, n_experts_ = 0;
    std::vector<std::vector<std::int32_t>> experts_;  // (tokens, layers): the chosen ones
};

// For tokens that are decoded after `context` others, by the model's habits.
DecodeSample::Conditions decode_conditions(const Plan& plan, const ModelDemand& demand, const Popularity& popularity,
                                           const CostModel& cost, PolicyKind decode, std::int64_t context);

// DecodeSample::Conditions::hit_rate for so many experts on the device; `resident_rate`:
// the share of calls that would hit if the same experts stayed.
double cached_hit_rate(std::int64_t n_resident, double resident_rate, const ModelDemand& demand,
                       const Popularity& popularity);
Place place_with_hits(Place place, double hit_rate, std::mt19937& random);

// Forecasts a plan: draws routings from the popularity (experts of a token without
// repetition, by share), lets the policy decide each layer with the cost model, and
// averages. Deterministic (`seed`). An estimate: dense work counts only if the table has
// it, and experts on disk cost CostTable::disk more than those in RAM. `popularity` has
// the demand's shape.
Forecast forecast(const Plan& plan, const ModelDemand& demand, const Popularity& popularity, const CostModel& cost,
                  PolicyKind prefill, PolicyKind decode, std::int64_t prompt_tokens, std::uint64_t seed = 1);

}  // namespace offstage::engine
