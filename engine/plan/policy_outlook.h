#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/dispatch_policy.h"

namespace offstage::engine {

// Forecasts other policies for the same layers: which of them decide differently from the
// forecast's choice, and their predicted times. Selects those that are worth a trial on
// live tokens. One thread.
class PolicyOutlook {
  public:
    static constexpr std::size_t kPolicies = 4;
    // A policy that is predicted to take this many times as long is not tried:
    // predictions are not that wrong.
    static constexpr double kHopeless = 1.5;

    // `favourite`: the forecast's choice, any but `layers`, which needs its own
    // placement.
    explicit PolicyOutlook(PolicyKind favourite);

    // The favourite first, then what may challenge it.
    const std::array<PolicyKind, kPolicies>& policies() const { return policies_; }
    void clear();
    void add_layer(std::span<const ExpertLoad> loads, const CostModel& cost, std::int64_t staging_slots,
                   ElsewhereCosts elsewhere = {}, const LayerAtHand& layer = {});
    // Indices into policies(): those that differ and have a chance, the shortest
    // predicted first. Of several that always agree, one.
    std::vector<std::size_t> challengers() const;

  private:
    std::array<PolicyKind, kPolicies> policies_;
    std::array<double, kPolicies> predicted_us_{};
    std::array<std::array<bool, kPolicies>, kPolicies> differ_{};  // [i][j], j < i: in any layer
    std::array<Schedule, kPolicies> schedules_;
};

// The same experts on the same sides.
bool same_ways(const Schedule& a, const Schedule& b);

}  // namespace offstage::engine
