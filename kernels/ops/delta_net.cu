// Gated DeltaNet: see DeltaNetShape.

#include "kernels/cuda/recurrent_states.cuh"
#include "kernels/ops/delta_net.h"

namespace offstage::kernels::cuda {
namespace {

// One warp per query or key (blockIdx.y * kStateWarps + warp) of row blockIdx.x; the
// warps after them compute decay and beta from a and b.
__global__ void __launch_bounds__(kStateThreads)
    prepare_rows(DeltaNetShape shape, std::int64_t qkv_width, float* qkv, float* decay_beta) {
    const std::int64_t unit = static_cast<std::int64_t>(blockIdx.y) * kStateWarps + threadIdx.x / kWarp;
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    if (unit < 2 * shape.n_key_heads) {
        float* const x = qkv + blockIdx.x * qkv_width + unit * shape.key_dim;
        float squares = 0.0f;
        for (std::int64_t i = lane; i < shape.key_dim; i += kWarp) squares = fmaf(x[i], x[i], squares);
        const float of_queries = unit < shape.n_key_heads ? static_cast<float>(shape.key_dim) : 1.0f;
        const float factor = 1.0f / sqrtf((warp_sum(squares) + 1e-6f) * of_queries);
        for (std::int64_t i = lane; i < shape.key_dim; i += kWarp) x[i] *= factor;
        return;
    }
    const std::int64_t head = (unit - 2 * shape.n_key_heads) * kWarp + lane;
    if (head >= shape.n_value_heads) return;
    float* const gates = decay_beta + blockIdx.x * 2 * shape.n_value_heads + head;
    gates[0] = expf(shape.decay_rate[head] * softplus(gates[0] + shape.time_bias[head]));
    gates[shape.n_value_heads] = logistic(gates[shape.n_value_heads]);
}

// One warp per head: rows of value_dim values.
__global__ void __launch_bounds__(kStateThreads) norm_and_gate(const float* weight, const float* z, std::int64_t n_rows,
                                                               std::int64_t value_dim, float eps, float* out) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kStateWarps + threadIdx.x / kWarp;
    if (row >= n_rows) return;
    float* const x = out + row * value_dim;
    float squares = 0.0f;
    for (std::int64_t i = threadIdx.x % kWarp; i < value_dim; i += kWarp) squares = fmaf(x[i], x[i], squares);
    const float factor = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(value_dim) + eps);
    for (std::int64_t i = threadIdx.x % kWarp; i < value_dim; i += kWarp) {
        x[i] = x[i] * factor * weight[i] * silu(z[row * value_dim + i]);
    }
}

}  // namespace

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const DeltaNet& op) {
    const DeltaNetShape& shape = op.shape;
    if (shape.key_dim > kMostKeyDim) {
        worker.failure.set("A DeltaNet layer has keys of more than 256 values, which CUDA devices do not compute.");
        return;
    }
    const std::int64_t width = shape.qkv_width();
    const std::int64_t place = op.kv.keys_offset(op.layer, 0);
    const std::int64_t n_rows = rows_of(op.segments);
    const std::int64_t units = 2 * shape.n_key_heads + blocks_for(shape.n_value_heads, kWarp);
    convolve(worker, shape.inputs(), op.segments, place, shape.states().size(), op.qkv, width);
    worker.start(prepare_rows, dim3(blocks_for(n_rows, 1), blocks_for(units, kStateWarps)), kStateThreads, 0, shape,
                 width, op.qkv, op.decay_beta);
    const float* const keys = op.qkv + shape.n_key_heads * shape.key_dim;
    update_states(worker, op.segments,
                  {shape.states(), place, op.qkv, keys, keys + shape.n_key_heads * shape.key_dim, width, op.decay_beta,
                   op.decay_beta + shape.n_value_heads, 2 * shape.n_value_heads, op.out, true});
    worker.start(norm_and_gate, blocks_for(n_rows * shape.n_value_heads, kStateWarps), kStateThreads, 0, shape.norm,
                 op.z, n_rows * shape.n_value_heads, shape.value_dim, shape.norm_eps, op.out);
}

}  // namespace offstage::kernels::ops
