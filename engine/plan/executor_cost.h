#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/types.h"

namespace offstage::engine {

// What an executor costs that works beside this machine's accelerator and CPU and takes
// nothing from them: it has weights of its own, on another machine. Microseconds; n_rows:
// (token, chosen expert) pairs. Called for every layer, by the engine's thread: quick,
// and without allocating.
class ExecutorCost {
  public:
    virtual ~ExecutorCost() = default;
    // One expert, when its inputs are there. Experts of a layer follow each other.
    virtual double expert_us(kernels::WeightType format, std::int64_t n_rows) const = 0;
    // All inputs there and all outputs back.
    virtual double transfer_us(std::int64_t n_rows) const = 0;
    // The person wants it used: what it can take and the accelerator does not hold is computed there, whatever the
    // policy is and whatever that costs. Of several such executors each expert's is the one with which the layer's last
    // one is done first.
    virtual bool is_preferred() const { return false; }
};

inline constexpr std::size_t kMostElsewhere = 16;
using ElsewhereCosts = std::span<const ExecutorCost* const>;

}  // namespace offstage::engine
