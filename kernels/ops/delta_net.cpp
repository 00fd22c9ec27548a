// Gated DeltaNet on the CPU (Yang and others, 2024, arXiv:2412.06464).

#include "kernels/ops/delta_net.h"

#include <cmath>

#include "kernels/cpu/recurrent_states.h"

namespace offstage::kernels::ops {
namespace {

constexpr std::int64_t kTokenGrain = 4;
constexpr float kSmallestLength = 1e-6f;  // squared

// One token's queries and keys get their lengths; its a and b become decay and beta.
void prepare_token(const DeltaNetShape& shape, float* qkv, float* decay_beta) {
    for (std::int64_t head = 0; head < 2 * shape.n_key_heads; ++head) {
        float* const x = qkv + head * shape.key_dim;
        float squares = 0;
        for (std::int64_t i = 0; i < shape.key_dim; ++i) squares += x[i] * x[i];
        const float of_queries = head < shape.n_key_heads ? static_cast<float>(shape.key_dim) : 1.0f;
        const float factor = 1.0f / std::sqrt((squares + kSmallestLength) * of_queries);
        for (std::int64_t i = 0; i < shape.key_dim; ++i) x[i] *= factor;
    }
    for (std::int64_t h = 0; h < shape.n_value_heads; ++h) {
        decay_beta[h] = std::exp(shape.decay_rate[h] * softplus(decay_beta[h] + shape.time_bias[h]));
        decay_beta[shape.n_value_heads + h] = logistic(decay_beta[shape.n_value_heads + h]);
    }
}

}  // namespace

void compute(CpuWorker& worker, const DeltaNet& op) {
    const DeltaNetShape& shape = op.shape;
    const std::int64_t width = shape.qkv_width();
    const std::int64_t out_width = shape.output_width();
    const std::int64_t n_heads = shape.n_value_heads;
    const std::int64_t n_rows = rows_of(op.segments);
    const RecurrentStep step{op.segments, op.kv, op.layer, shape.states().size()};
    convolve(worker, shape.inputs(), step, op.qkv, width);
    worker.for_rows(
        n_rows, [&](std::int64_t t) { prepare_token(shape, op.qkv + t * width, op.decay_beta + t * 2 * n_heads); },
        kTokenGrain);
    DeltaRule rule;
    rule.q = op.qkv;
    rule.k = rule.q + shape.n_key_heads * shape.key_dim;
    rule.v = rule.k + shape.n_key_heads * shape.key_dim;
    rule.stride = width;
    rule.decay = op.decay_beta;
    rule.beta = op.decay_beta + n_heads;
    rule.gate_stride = 2 * n_heads;
    rule.out = op.out;
    update_states(worker, shape.states(), step, rule);
    worker.for_rows(
        n_rows,
        [&](std::int64_t t) {
            for (std::int64_t i = t * out_width; i < (t + 1) * out_width; i += shape.value_dim) {
                worker.kernels.rms_norm(op.out + i, shape.norm, shape.value_dim, shape.norm_eps, op.out + i);
                for (std::int64_t c = i; c < i + shape.value_dim; ++c) op.out[c] *= op.z[c] * logistic(op.z[c]);
            }
        },
        kTokenGrain);
}

}  // namespace offstage::kernels::ops
