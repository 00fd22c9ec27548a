// The operations of hyper-connections on the GPU.

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/ops/activate.h"
#include "kernels/ops/read_gated_streams.h"
#include "kernels/ops/read_streams.h"
#include "kernels/ops/write_streams.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kStreamThreads = 256;

__global__ void __launch_bounds__(kStreamThreads)
    activate_values(float factor, float scale, bool by_itself, std::int64_t n, float* x) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStreamThreads + threadIdx.x;
    if (i >= n) return;
    const float value = factor * x[i];
    x[i] = scale * (by_itself ? value : 1.0f) / (1.0f + expf(-value));
}

// Block (t, part): a stretch of one token's values, a thread each.
__device__ inline std::int64_t value_of_block() {
    return static_cast<std::int64_t>(blockIdx.y) * kStreamThreads + threadIdx.x;
}

__global__ void __launch_bounds__(kStreamThreads)
    read_streams(const float* streams, std::int64_t n_streams, std::int64_t dim, const float* weights,
                 std::int64_t stride, float* out) {
    const std::int64_t i = value_of_block();
    const std::int64_t t = blockIdx.x;
    if (i >= dim) return;
    float sum = 0.0f;
    for (std::int64_t s = 0; s < n_streams; ++s) {
        sum = fmaf(weights[t * stride + s], streams[(t * n_streams + s) * dim + i], sum);
    }
    out[t * dim + i] = sum;
}

__global__ void __launch_bounds__(kStreamThreads)
    read_gated_streams(const float* streams, const float* gates, std::int64_t n_streams, std::int64_t dim, float* out) {
    const std::int64_t i = value_of_block();
    const std::int64_t t = blockIdx.x;
    if (i >= dim) return;
    float sum = 0.0f;
    for (std::int64_t s = 0; s < n_streams; ++s) {
        const std::int64_t at = (t * n_streams + s) * dim + i;
        sum += streams[at] / (1.0f + expf(-gates[at]));
    }
    out[t * dim + i] = sum * (1.0f / static_cast<float>(n_streams));
}

__global__ void __launch_bounds__(kStreamThreads)
    write_streams(const float* y, std::int64_t n_streams, std::int64_t dim, const float* weights, const float* mix,
                  std::int64_t stride, float* streams) {
    const std::int64_t i = value_of_block();
    const std::int64_t t = blockIdx.x;
    if (i >= dim) return;
    const float added = y[t * dim + i];
    float* const mine = streams + t * n_streams * dim + i;
    float before[ops::kMostStreams];
#pragma unroll
    for (int s = 0; s < ops::kMostStreams; ++s) before[s] = s < n_streams && weights != nullptr ? mine[s * dim] : 0.0f;
#pragma unroll
    for (int s = 0; s < ops::kMostStreams; ++s) {
        if (s >= n_streams) break;
        float sum = added;
        if (weights != nullptr && mix == nullptr) {
            sum = fmaf(weights[t * stride + s], added, before[s]);
        } else if (weights != nullptr) {
            sum = weights[t * stride + s] * added;
#pragma unroll
            for (int r = 0; r < ops::kMostStreams; ++r) {
                if (r < n_streams) sum += mix[t * stride + r * n_streams + s] * before[r];
            }
        }
        mine[s * dim] = sum;
    }
}

dim3 blocks_of_rows(std::int64_t n, std::int64_t dim) {
    return dim3(blocks_for(n, 1), blocks_for(dim, kStreamThreads));
}

}  // namespace
}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const Activate& op) {
    worker.start(activate_values, blocks_for(op.n, kStreamThreads), kStreamThreads, 0, op.factor, op.scale,
                 op.by_itself, op.n, op.x);
}

void compute(Worker& worker, const ReadStreams& op) {
    worker.start(read_streams, blocks_of_rows(op.n, op.dim), kStreamThreads, 0, op.streams, op.n_streams, op.dim,
                 op.weights, op.stride, op.out);
}

void compute(Worker& worker, const ReadGatedStreams& op) {
    worker.start(read_gated_streams, blocks_of_rows(op.n, op.dim), kStreamThreads, 0, op.streams, op.gates,
                 op.n_streams, op.dim, op.out);
}

void compute(Worker& worker, const WriteStreams& op) {
    worker.start(write_streams, blocks_of_rows(op.n, op.dim), kStreamThreads, 0, op.y, op.n_streams, op.dim, op.weights,
                 op.mix, op.stride, op.streams);
}

}  // namespace offstage::kernels::ops
