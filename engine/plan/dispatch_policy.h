#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/schedule.h"

namespace offstage::engine {

// Each expert has the cost of its format, plus reading from disk if it lies there
// (CostTable::disk). For balanced the split is the best of all if at most 8 experts miss,
// otherwise the best that a bounded search finds. Decides without allocating once `out`
// has seen the largest layer. `staging_slots` 0: nothing can be copied on demand. Without
// an accelerator (cost.table()) nothing is resident or copied. Executors elsewhere take
// part in `balanced` and `threshold`, and where they are preferred
// (ExecutorCost::is_preferred) in all policies, which decide about the rest of the layer
// then: at most kMostElsewhere. Sets the costs in the assignments, with a theta by the
// known shares of `layer`.
void decide(PolicyKind policy, std::span<const ExpertLoad> loads, const CostModel& cost, std::int64_t staging_slots,
            Schedule& out, ElsewhereCosts elsewhere = {}, const LayerAtHand& layer = {});

// Makespan of a layer: the GPU runs residents while the copy engine works, then each
// copied expert once it has arrived; the CPU runs its list meanwhile. A CPU list costs
// one hand-over and one activation copy: half of it before either side begins, half when
// both are done. Copies and CPU slow each other down while both run
// (CostTable::cpu_slowdown, copy_slowdown), the less the longer the CPU computes with the
// weights that it reads. The host reads the experts on disk that are to be copied first,
// then those that the CPU computes: before it computes, or beside it if the costs allow
// that (CostTable::disk_beside). Its preparation of copies comes before its own experts
// as well, but the GPU does not wait for it. Ignores the costs in the assignments.
double makespan_us(std::span<const Assignment> assignments, const CostModel& cost, std::int64_t staging_slots,
                   ElsewhereCosts elsewhere = {}, const LayerAtHand& layer = {});

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
