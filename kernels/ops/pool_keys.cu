// Pooled keys on the GPU: a block for each row stores its values and scores, then a block
// for each row that completes a key makes it.

#include <cmath>

#include "kernels/cuda/cached_rows.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/row_norm.cuh"
#include "kernels/cuda/segments.cuh"
#include "kernels/ops/pool_keys.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kPoolThreads = 256;

struct PoolJob {
    CudaSegment segment;
    std::byte* const* pooled_blocks;
    KvPlaces sources;
    KvPlaces pooled;
    const float* values;
    const float* scores;
    const float* position_bias;
    NormWeights norm;
    std::int64_t rotary_dim;
    const float* cos;
    const float* sin;

    __device__ float* source(std::int64_t token, bool is_score) const {
        return reinterpret_cast<float*>(is_score ? value_row(sources, segment.blocks, token, 0)
                                                 : key_row(sources, segment.blocks, token, 0));
    }
};

// grid: (rows).
__global__ void __launch_bounds__(kPoolThreads) store_sources(PoolJob job) {
    const std::int64_t width = job.sources.key_dim;
    const std::int64_t token = past_of(job.segment) + blockIdx.x;
    const std::int64_t row = (job.segment.first_row + blockIdx.x) * width;
    const float* const bias = job.position_bias + token % job.pooled.key_tokens * width;
    float* const values = job.source(token, false);
    float* const scores = job.source(token, true);
    for (std::int64_t i = threadIdx.x; i < width; i += kPoolThreads) {
        values[i] = job.values[row + i];
        scores[i] = job.scores[row + i] + bias[i];
    }
}

// grid: (rows).
__global__ void __launch_bounds__(kPoolThreads) pool_keys(PoolJob job) {
    const std::int64_t n = job.pooled.key_tokens, dim = job.pooled.key_dim;
    const std::int64_t end = past_of(job.segment) + blockIdx.x + 1;
    if (end % n != 0) return;                   // the whole block
    float* const key = shared_memory<float>();  // (dim)
    float* const sums = key + dim;              // (kRowWarps)
    const std::int64_t number = end / n - 1;
    const bool has_before = job.sources.key_dim > dim;
    const std::int64_t first = has_before && number > 0 ? end - 2 * n : end - n;
    for (std::int64_t c = threadIdx.x; c < dim; c += kPoolThreads) {
        const auto at = [&](std::int64_t token) { return has_before && token >= end - n ? dim + c : c; };
        float largest = -INFINITY;
        for (std::int64_t t = first; t < end; ++t) largest = fmaxf(largest, job.source(t, true)[at(t)]);
        float sum = 0.0f, value = 0.0f;
        for (std::int64_t t = first; t < end; ++t) {
            const float share = expf(job.source(t, true)[at(t)] - largest);
            sum += share;
            value = fmaf(share, job.source(t, false)[at(t)], value);
        }
        key[c] = value / sum;
    }
    __syncthreads();
    const float factor = rms_factor(key, dim, job.norm.eps, sums);
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < dim; c += kPoolThreads) key[c] = normed(key[c], factor, job.norm.weight, c);
    __syncthreads();
    const std::int64_t half = job.rotary_dim / 2, row = job.segment.first_row + blockIdx.x;
    const int thread = static_cast<int>(threadIdx.x);
    rotate_pairs(key + dim - job.rotary_dim, job.cos + row * half, job.sin + row * half, half, false, thread,
                 kPoolThreads);
    __syncthreads();
    store_row([&](std::int64_t i) { return key[i]; }, dim, job.pooled.type,
              pooled_row(job.pooled, job.pooled_blocks, number), thread, kPoolThreads);
}

}  // namespace
}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const PoolKeys& op) {
    const std::vector<CudaSegment>& segments = device_segments(worker, op.segments);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const PoolJob job{segment_for_kernel(segments[s]),
                          op.pooled_segments[s].device_blocks,
                          places_in(op.sources, op.layer),
                          places_in(op.pooled, op.pooled_layer),
                          op.values,
                          op.scores,
                          op.position_bias,
                          op.norm,
                          op.rotary_dim,
                          op.cos,
                          op.sin};
        const unsigned n_rows = blocks_for(segments[s].n_tokens, 1);
        worker.start(store_sources, n_rows, kPoolThreads, 0, job);
        worker.start(pool_keys, n_rows, kPoolThreads,
                     static_cast<std::size_t>(op.pooled.key_dim + kRowWarps) * sizeof(float), job);
    }
}

}  // namespace offstage::kernels::ops
