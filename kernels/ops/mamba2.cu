// Mamba-2: see Mamba2Shape.

#include "kernels/cuda/recurrent_states.cuh"
#include "kernels/cuda/row_norm.cuh"
#include "kernels/ops/mamba2.h"

namespace offstage::kernels::cuda {
namespace {

// One thread per row and head.
__global__ void __launch_bounds__(kStateThreads)
    time_steps(Mamba2Shape shape, std::int64_t n, float* time, float* decay) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStateThreads + threadIdx.x;
    if (i >= n) return;
    const std::int64_t head = i % shape.n_heads;
    time[i] = softplus(time[i] + shape.time_bias[head]);
    decay[i] = expf(shape.decay_rate[head] * time[i]);
}

// One block per row (x) and group (y).
__global__ void __launch_bounds__(kStateThreads) gate_and_norm(Mamba2Shape shape, std::int64_t group, const float* xbc,
                                                               std::int64_t row_width, const float* z, float* out) {
    float* const sums = shared_memory<float>();  // (kRowWarps)
    const std::int64_t first = blockIdx.y * group, at = blockIdx.x * group * shape.n_groups + first;
    const float* const x = xbc + blockIdx.x * row_width + first;
    for (std::int64_t i = threadIdx.x; i < group; i += kStateThreads) {
        const float skip = shape.skip[(first + i) / shape.head_dim];
        out[at + i] = fmaf(skip, x[i], out[at + i]) * silu(z[at + i]);
    }
    __syncthreads();
    const float factor = rms_factor(out + at, group, shape.norm_eps, sums);
    for (std::int64_t i = threadIdx.x; i < group; i += kStateThreads) {
        out[at + i] = normed(out[at + i], factor, shape.norm, first + i);
    }
}

}  // namespace

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const Mamba2& op) {
    const Mamba2Shape& shape = op.shape;
    if (shape.state_dim > kMostKeyDim) {
        worker.failure.set("A Mamba layer has a state of more than 256 values, which CUDA devices do not compute.");
        return;
    }
    const std::int64_t width = shape.row_width();
    const std::int64_t out_width = shape.output_width();
    const std::int64_t place = op.kv.keys_offset(op.layer, 0);
    const std::int64_t n_rows = rows_of(op.segments);
    const std::int64_t n_steps = n_rows * shape.n_heads;
    convolve(worker, shape.inputs(), op.segments, place, shape.states().size(), op.xbc, width);
    worker.start(time_steps, blocks_for(n_steps, kStateThreads), kStateThreads, 0, shape, n_steps, op.time, op.decay);
    const float* const b = op.xbc + out_width;
    update_states(worker, op.segments,
                  {shape.states(), place, b + shape.n_groups * shape.state_dim, b, op.xbc, width, op.decay, op.time,
                   shape.n_heads, op.out, false});
    worker.start(gate_and_norm, dim3(blocks_for(n_rows, 1), blocks_for(shape.n_groups, 1)), kStateThreads,
                 kRowWarps * sizeof(float), shape, out_width / shape.n_groups, op.xbc, width, op.z, op.out);
}

}  // namespace offstage::kernels::ops
