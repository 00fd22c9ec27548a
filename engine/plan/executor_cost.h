#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/types.h"

namespace offstage::engine {

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

}  // namespace offstage::engine
