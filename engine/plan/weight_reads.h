#pragma once

#include <cstdint>
#include <span>

#include "engine/model/model_spec.h"
#include "engine/plan/plan.h"
#include "engine/plan/popularity.h"
#include "kernels/types.h"

namespace offstage::engine {

class CostModel;

// Bytes of weights that one decoded token reads, in the formats that they are in.
struct WeightReads {
    std::uint64_t dense = 0;    // dense_bytes_read()
    std::uint64_t experts = 0;  // of n_active experts in each layer
    std::uint64_t total() const { return dense + experts; }
};

// What a token will read, by the experts' popularity. expert_formats: (n_layers, n_experts); empty: all in `master`'s.
// Where all experts have one format this is exact; otherwise tokens differ, and what they really read is counted:
// DispatchTotals::device_read_bytes, host_read_bytes.
WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, std::span<const kernels::WeightType> expert_formats);

// With a theta: of experts that are not on the device the CPU leaves unread what it
// leaves out, by the shares of the neurons that `cost` expects to be active.
WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, const Plan& plan, const CostModel& cost);

}  // namespace offstage::engine
