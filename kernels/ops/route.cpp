#include "kernels/ops/route.h"

#include <algorithm>

#include "kernels/cpu_worker.h"

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const Route& op) {
    constexpr std::int64_t kFewTokens = CpuWorker::kFewTokens;
    constexpr std::int64_t kRowGrain = CpuWorker::kRowGrain;
    const std::int64_t n_experts = op.spec.n_experts;
    const auto n_active = static_cast<std::size_t>(op.spec.n_active);
    // For each token its logits, and the scratch memory of kernels::route().
    float* logits = CpuWorker::room(worker.router_logits, op.n * 3 * n_experts);
    const WeightView view{op.arrays.gate, WeightType::kF32, n_experts, op.hidden_dim};
    const auto multiply = [&](std::int64_t expert, std::int64_t expert_end, std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            worker.kernels.matvec(view, op.x + t * op.hidden_dim, expert, expert_end, logits + t * 3 * n_experts);
        }
    };
    const auto choose = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            float* row = logits + t * 3 * n_experts;
            const float* const by_token = op.arrays.table_row(t);
            route(op.spec, {row, static_cast<std::size_t>(n_experts)}, op.arrays.selection_bias,
                  {op.experts + t * op.spec.n_active, n_active}, {op.weights + t * op.spec.n_active, n_active},
                  {row + n_experts, static_cast<std::size_t>(2 * n_experts)}, op.arrays.expert_scale,
                  {by_token, by_token == nullptr ? 0 : static_cast<std::size_t>(op.arrays.n_by_token)});
        }
    };
    if (op.n <= kFewTokens) {  // too few for a thread each: the gate is divided
        const std::int64_t grain = n_experts * op.hidden_dim <= CpuWorker::kSerialFloats ? n_experts : kRowGrain;
        worker.pool.parallel_for(n_experts, grain,
                                 [&](std::int64_t begin, std::int64_t end, int) { multiply(begin, end, 0, op.n); });
        choose(0, op.n);
        return;
    }
    worker.pool.parallel_for(op.n, kFewTokens, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t block = begin; block < end; block += kFewTokens) {
            const std::int64_t block_end = std::min(block + kFewTokens, end);
            // A few tokens are multiplied by a stretch of the gate while it is in a
            // cache.
            for (std::int64_t expert = 0; expert < n_experts; expert += kRowGrain) {
                multiply(expert, std::min(expert + kRowGrain, n_experts), block, block_end);
            }
            choose(block, block_end);
        }
    });
}

}  // namespace offstage::kernels::ops
