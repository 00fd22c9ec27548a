#pragma once

#include "kernels/expert_layout.h"
#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// ops::Experts with experts that only the device knows: row r of out, r < n, is computed
// by the expert whose block is at blocks[chosen[r]], each row as a separate call, bit by
// bit; a row with nullptr stays unchanged. blocks and chosen are in the device's memory;
// all blocks have this layout, and lie at multiples of 16 bytes. Only where
// Backend::takes_chosen_experts().
struct ChosenExperts {
    ExpertLayout layout;
    const std::byte* const* blocks = nullptr;
    const std::int32_t* chosen = nullptr;
    std::int64_t n = 0;
    const float* inputs = nullptr;
    const std::int32_t* row_token = nullptr;
    float* out = nullptr;

    Cost cost() const {
        const double n_weights = as_double(layout.n_weights());
        return {as_double(n) * (static_cast<double>(layout.bytes()) + as_double(layout.hidden_dim) * 8),
                2 * as_double(n) * n_weights};
    }
};
void compute(cuda::Worker& worker, const ChosenExperts& op);  // kernels/cuda/experts.cu

}  // namespace offstage::kernels::ops
