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

// The expected reads of a token, by the experts' popularity. expert_formats: (n_layers,
// n_experts); empty: all in `master`'s. If all experts have one format this is exact;
// otherwise tokens differ, and their actual reads are counted:
// DispatchTotals::device_read_bytes, host_read_bytes.
WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, std::span<const kernels::WeightType> expert_formats);

// With a theta: for experts outside the device the CPU does not read neurons that it
// leaves out, by the shares that `cost` expects to be active.
WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, const Plan& plan, const CostModel& cost);

}  // namespace offstage::engine
