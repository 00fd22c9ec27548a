#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/executor_cost.h"
#include "engine/plan/plan.h"
#include "engine/plan/policy_kind.h"

namespace offstage::engine {

// One expert of a layer and step, with at least one token.
struct ExpertLoad {
    std::int32_t expert = 0;
    std::int32_t n_tokens = 0;
    Place place = Place::kRam;
    kernels::WeightType format = kernels::WeightType::kBf16;  // the format of its copies
    std::uint32_t elsewhere = 0;                              // bit i: the i-th executor elsewhere can take it
    double held = 0;                                          // of the neurons that it needs, the share on the device
};

// Kinds of execution beyond the three of this machine: executors elsewhere.
constexpr ExecutionTarget target_elsewhere(std::size_t i) {
    return static_cast<ExecutionTarget>(static_cast<std::size_t>(ExecutionTarget::kCpu) + 1 + i);
}
constexpr bool is_elsewhere(ExecutionTarget target) {
    return target > ExecutionTarget::kCpu;
}
constexpr std::size_t index_elsewhere(ExecutionTarget target) {
    return static_cast<std::size_t>(target) - static_cast<std::size_t>(target_elsewhere(0));
}

struct Assignment {
    std::int32_t expert = 0;
    std::int32_t n_tokens = 0;
    ExecutionTarget target = ExecutionTarget::kCpu;
    kernels::WeightType format = kernels::WeightType::kBf16;
    Place place = Place::kRam;
    // The costs that were compared, each alone: computing on the CPU, computing on the
    // accelerator, and the copy to it.
    double cpu_us = 0, gpu_us = 0, copy_us = 0;
    // A copy without the neurons that a theta leaves out: the CPU's part, before the
    // bus's; and the copied share of its bytes.
    double preparing_us = 0, copied_share = 1;
};

// The executions of a layer's experts. Residents first, then copies in the order in which
// they are made (most loaded first; with several formats: the order that keeps the GPU
// busiest while the next arrives), then the CPU's, then those of each executor elsewhere.
struct Schedule {
    std::vector<Assignment> assignments;
    // Predicted microseconds: the busy time of each side (including slow-downs by the
    // other sides, without waiting; the CPU's without activation copy and hand-over), and
    // the whole layer with all sides at once.
    double gpu_us = 0;
    double copy_us = 0;
    double cpu_us = 0;
    double makespan_us = 0;
    double disk_us = 0;  // reading beside the CPU's work, which waits for it where it is longer
    void clear();

    // Room for deciding, kept from call to call.
    struct Candidate {
        std::int32_t expert = 0;
        std::int32_t n_tokens = 0;
        kernels::WeightType format = kernels::WeightType::kBf16;
        double gpu_us = 0;
        double cpu_us = 0;                          // without disk_us
        double one_us = 0;                          // one token on the CPU: the time of reading the weights
        double copy_us = 0;                         // without disk_us and preparing_us
        double disk_us = 0;                         // before the CPU or the copy can begin
        double preparing_us = 0, copied_share = 1;  // as in Assignment
        Place place = Place::kRam;
        std::uint32_t elsewhere = 0;  // as in ExpertLoad
        ExecutionTarget target = ExecutionTarget::kCpu;
        ExecutionTarget best = ExecutionTarget::kCpu;  // in the best split so far
        bool copied() const { return target == ExecutionTarget::kCopy; }
    };
    std::vector<Candidate> candidates;
    std::vector<Candidate> preferred;  // experts that ExecutorCost::is_preferred() takes out of the policy's decision
};

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

}  // namespace offstage::engine
