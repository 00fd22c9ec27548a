// The router's choice of experts for each token, and the weighted sum of their outputs.

#include <algorithm>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {

void CpuOperations::route(const kernels::RouterSpec& spec, const kernels::RouterArrays& arrays, const float* x,
                          std::int64_t n, std::int64_t hidden_dim, std::int32_t* experts, float* weights) {
    const std::int64_t n_experts = spec.n_experts;
    const std::int64_t n_active = spec.n_active;
    // For each token its logits, and the scratch memory of kernels::route().
    float* logits = State::room(state_->router_logits, n * 3 * n_experts);
    const kernels::WeightView view{arrays.gate, kernels::WeightType::kF32, n_experts, hidden_dim};
    const auto multiply = [&](std::int64_t expert, std::int64_t expert_end, std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            state_->kernels.matvec(view, x + t * hidden_dim, expert, expert_end, logits + t * 3 * n_experts);
        }
    };
    const auto choose = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            float* row = logits + t * 3 * n_experts;
            kernels::route(spec, {row, as_size(n_experts)}, arrays.selection_bias,
                           {experts + t * n_active, as_size(n_active)}, {weights + t * n_active, as_size(n_active)},
                           {row + n_experts, as_size(2 * n_experts)}, arrays.expert_scale);
        }
    };
    if (n <= kFewTokens) {  // too few for a thread each: the gate is divided
        const std::int64_t grain = n_experts * hidden_dim <= State::kSerialFloats ? n_experts : State::kRowGrain;
        state_->pool.parallel_for(n_experts, grain,
                                  [&](std::int64_t begin, std::int64_t end, int) { multiply(begin, end, 0, n); });
        choose(0, n);
        return;
    }
    state_->pool.parallel_for(n, kFewTokens, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t block = begin; block < end; block += kFewTokens) {
            const std::int64_t block_end = std::min(block + kFewTokens, end);
            // A few tokens are multiplied by a stretch of the gate while it is in a
            // cache.
            for (std::int64_t expert = 0; expert < n_experts; expert += State::kRowGrain) {
                multiply(expert, std::min(expert + State::kRowGrain, n_experts), block, block_end);
            }
            choose(block, block_end);
        }
    });
}

void CpuOperations::combine(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
                            std::int64_t n_active, std::int64_t hidden_dim, float* x) {
    state_->pool.parallel_for(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            for (std::int64_t a = t * n_active; a < (t + 1) * n_active; ++a) {
                state_->kernels.axpy(weights[a], rows + row_of[a] * hidden_dim, hidden_dim, x + t * hidden_dim);
            }
        }
    });
}

}  // namespace offstage::engine
