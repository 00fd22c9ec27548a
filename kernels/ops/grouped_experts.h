#pragma once

#include "kernels/expert_layout.h"
#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// ops::Experts for several tokens whose choice only the device knows: it groups the
// (token, chosen expert) pairs by expert, ascending, tokens in order, and computes the
// groups as calls. Every pair p = token * n_active + place of the choice has the row
// row_of[p] of `out`, bit by bit that of ops::Experts with these calls. All arrays are in
// the device's memory; all blocks have this layout, and lie at multiples of 16 bytes.
// Only where Backend::takes_grouped_experts().
struct GroupedExperts {
    ExpertLayout layout;
    const std::byte* const* blocks = nullptr;  // (n_experts), none is nullptr
    const std::int32_t* chosen = nullptr;      // (n_tokens, n_active)
    std::int64_t n_tokens = 0;
    std::int64_t n_active = 0;
    std::int64_t n_experts = 0;
    const float* inputs = nullptr;      // (n_tokens, hidden_dim)
    std::int32_t* row_token = nullptr;  // (n_tokens * n_active): gets the token of each row
    std::int32_t* row_of = nullptr;     // (n_tokens * n_active): gets the row of each pair
    float* out = nullptr;               // (n_tokens * n_active, hidden_dim)

    std::int64_t n_pairs() const { return n_tokens * n_active; }
    Cost cost() const {
        const double n_weights = as_double(layout.n_weights());
        const double n_read = as_double(n_pairs() < n_experts ? n_pairs() : n_experts);
        return {n_read * static_cast<double>(layout.bytes()) + as_double(n_pairs() * layout.hidden_dim) * 8,
                2 * as_double(n_pairs()) * n_weights};
    }
};
void compute(cuda::Worker& worker, const GroupedExperts& op);  // kernels/cuda/byte_experts.cu

}  // namespace offstage::kernels::ops
