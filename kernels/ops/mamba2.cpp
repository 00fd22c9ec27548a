// Mamba-2 on the CPU (Dao and Gu, 2024, arXiv:2405.21060).

#include "kernels/ops/mamba2.h"

#include <cmath>

#include "kernels/cpu/recurrent_states.h"

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const Mamba2& op) {
    const Mamba2Shape& shape = op.shape;
    constexpr std::int64_t kTokensTogether = 4;
    const std::int64_t width = shape.row_width();
    const std::int64_t out_width = shape.output_width();
    const std::int64_t n_heads = shape.n_heads;
    const std::int64_t n_rows = rows_of(op.segments);
    const RecurrentStep step{op.segments, op.kv, op.layer, shape.states().size()};
    convolve(worker, shape.inputs(), step, op.xbc, width);
    worker.for_values(n_rows * n_heads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            op.time[i] = softplus(op.time[i] + shape.time_bias[i % n_heads]);
            op.decay[i] = std::exp(shape.decay_rate[i % n_heads] * op.time[i]);
        }
    });
    DeltaRule rule;
    rule.v = op.xbc;
    rule.k = rule.v + out_width;
    rule.q = rule.k + shape.n_groups * shape.state_dim;
    rule.stride = width;
    rule.decay = op.decay;
    rule.beta = op.time;
    rule.gate_stride = n_heads;
    rule.out = op.out;
    rule.corrects = false;
    update_states(worker, shape.states(), step, rule);
    const std::int64_t group = out_width / shape.n_groups;
    worker.for_rows(
        n_rows,
        [&](std::int64_t t) {
            float* const out = op.out + t * out_width;
            const float* const x = op.xbc + t * width;
            const float* const z = op.z + t * out_width;
            for (std::int64_t i = 0; i < out_width; ++i) {
                out[i] = (out[i] + shape.skip[i / shape.head_dim] * x[i]) * (z[i] * logistic(z[i]));
            }
            for (std::int64_t i = 0; i < out_width; i += group) {
                worker.kernels.rms_norm(out + i, shape.norm + i, group, shape.norm_eps, out + i);
            }
        },
        kTokensTogether);
}

}  // namespace offstage::kernels::ops
