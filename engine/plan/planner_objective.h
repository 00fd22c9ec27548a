#pragma once
// What the planner minimizes: the forecast time of a decoded token, played through with
// drawn routings.

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
double resident_rate(const Plan& plan, const ModelDemand& demand, const Popularity& popularity);

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

}  // namespace offstage::engine
