#pragma once
// RMS norms and gates of one row (kernels/ops/norm.cu) inside of kernels that use the
// result, with the same bits.

#include <cstdint>

#include "kernels/cuda/numbers.cuh"

namespace offstage::kernels::cuda {

// Kernels of one block per row: threads of a block, at most, and what each takes at once.
constexpr int kRowThreads = 512;
constexpr int kRowWarps = kRowThreads / kWarp;
constexpr int kRowQuad = 4;

// Threads of a block for a row of n values: one for each quad, up to kRowThreads.
__host__ __device__ inline int row_threads(std::int64_t n) {
    const std::int64_t warps = (n + kWarp * kRowQuad - 1) / (kWarp * kRowQuad);
    return static_cast<int>(warps < 1 ? 1 : warps < kRowWarps ? warps : kRowWarps) * kWarp;
}

// The lane's share of the sum of products of two rows (dim) in warp `warp` of the kernels
// of one block per row.
__device__ inline float row_products(const float* a, const float* b, std::int64_t dim, int warp, int lane) {
    const std::int64_t step = static_cast<std::int64_t>(row_threads(dim)) * kRowQuad;
    float sum = 0.0f;
    for (std::int64_t column = (static_cast<std::int64_t>(warp) * kWarp + lane) * kRowQuad; column < dim;
         column += step) {
#pragma unroll
        for (int i = 0; i < kRowQuad; ++i) {
            const bool inside = column + i < dim;
            sum = fmaf(inside ? a[column + i] : 0.0f, inside ? b[column + i] : 0.0f, sum);
        }
    }
    return sum;
}

// The sum itself, for the whole block. sums: (kRowWarps) of shared memory, free again at
// the next barrier.
__device__ inline float row_sum(const float* a, const float* b, std::int64_t dim, float* sums) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int n_warps = row_threads(dim) / kWarp;
    for (int warp = static_cast<int>(threadIdx.x) / kWarp; warp < n_warps;
         warp += static_cast<int>(blockDim.x) / kWarp) {
        const float sum = warp_sum(row_products(a, b, dim, warp, lane));
        if (lane == 0) sums[warp] = sum;
    }
    __syncthreads();
    return warp_sum(lane < n_warps ? sums[lane] : 0.0f);
}

// The factor of every value of x (dim) but for its weight, for the whole block. sums: as
// in row_sum().
__device__ inline float rms_factor(const float* x, std::int64_t dim, float eps, float* sums) {
    return 1.0f / sqrtf(row_sum(x, x, dim, sums) / static_cast<float>(dim) + eps);
}

// The same for a single warp.
__device__ inline float rms_factor_of_warp(const float* x, std::int64_t dim, float eps, int lane) {
    const int n_warps = row_threads(dim) / kWarp;
    float mine = 0.0f;
    for (int warp = 0; warp < n_warps; ++warp) {
        const float sum = warp_sum(row_products(x, x, dim, warp, lane));
        if (lane == warp) mine = sum;
    }
    return 1.0f / sqrtf(warp_sum(mine) / static_cast<float>(dim) + eps);
}

__device__ inline float normed(float value, float factor, const float* weight, std::int64_t column) {
    return value * factor * (weight == nullptr ? 1.0f : weight[column]);
}

}  // namespace offstage::kernels::cuda
