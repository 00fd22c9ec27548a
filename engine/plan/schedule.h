#pragma once
// Which side computes which expert of a layer and step, as plain values.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/load_settings.h"
#include "engine/plan/plan.h"
#include "kernels/types.h"

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

// The cost of an executor that works beside this machine's accelerator and CPU without
// sharing anything with them: it has its own weights, on another machine. Microseconds;
// n_rows: (token, chosen expert) pairs. Called for every layer, by the engine's thread:
// quick, and without allocating.
class ExecutorCost {
  public:
    virtual ~ExecutorCost() = default;
    // One expert, when its inputs are there. Experts of a layer follow each other.
    virtual double expert_us(kernels::WeightType format, std::int64_t n_rows) const = 0;
    // All inputs there and all outputs back.
    virtual double transfer_us(std::int64_t n_rows) const = 0;
    // The user prefers it: experts that it can compute and the accelerator does not hold
    // are computed there, under every policy and at any cost. If several such executors
    // have an expert, it goes to the one that lets the layer end first.
    virtual bool is_preferred() const { return false; }
};

inline constexpr std::size_t kMostElsewhere = 16;
using ElsewhereCosts = std::span<const ExecutorCost* const>;

// Where an expert of a layer and step runs: on the device, which holds it; on the device
// after a copy; on the CPU.
enum class ExecutionTarget : std::uint8_t { kResident, kCopy, kCpu };

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
    double one_us = 0;   // one token on the CPU: the time of reading the weights
    double disk_us = 0;  // of one on disk, before the CPU or the copy can begin
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
    struct Candidate : Assignment {
        std::uint32_t elsewhere = 0;                   // as in ExpertLoad
        ExecutionTarget best = ExecutionTarget::kCpu;  // in the best split so far
        bool copied() const { return target == ExecutionTarget::kCopy; }
    };
    std::vector<Candidate> candidates;
    std::vector<Candidate> preferred;  // experts that ExecutorCost::is_preferred() takes out of the policy's decision
};

}  // namespace offstage::engine
