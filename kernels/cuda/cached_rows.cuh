#pragma once
// Rotating heads and storing rows in the cache, by threads that share the values:
// `thread` of n_threads.

#include <cstdint>

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/segments.cuh"

namespace offstage::kernels::cuda {

// Rotates the pairs (i, i + half) of `from` to `to`, which may be the same.
__device__ inline void rotate(const float* from, const float* cos, const float* sin, std::int64_t half, float* to,
                              int thread, int n_threads) {
    for (std::int64_t i = thread; i < half; i += n_threads) {
        const float c = cos[i];
        const float s = sin[i];
        const float first = from[i];
        const float second = from[i + half];
        to[i] = first * c - second * s;
        to[i + half] = second * c + first * s;
    }
}

// Pairs of neighbours (2 i, 2 i + 1), in place.
__device__ inline void rotate_pairs(float* x, const float* cos, const float* sin, std::int64_t half, bool back,
                                    int thread, int n_threads) {
    for (std::int64_t i = thread; i < half; i += n_threads) {
        const float c = cos[i];
        const float s = back ? -sin[i] : sin[i];
        const float first = x[2 * i];
        const float second = x[2 * i + 1];
        x[2 * i] = first * c - second * s;
        x[2 * i + 1] = second * c + first * s;
    }
}

// Writes value(i) for i < n as a cached row.
template <typename Value>
__device__ inline void store_row(const Value& value, std::int64_t n, KvType type, std::byte* row, int thread,
                                 int n_threads) {
    for (std::int64_t i = thread; i < n; i += n_threads) {
        if (type == KvType::kF32) {
            reinterpret_cast<float*>(row)[i] = value(i);
        } else if (type == KvType::kBf16) {
            reinterpret_cast<Bf16*>(row)[i] = narrow<Bf16>(value(i));
        } else {
            const std::int64_t begin = i / kKvScaleGroup * kKvScaleGroup;
            const std::int64_t end = begin + kKvScaleGroup < n ? begin + kKvScaleGroup : n;
            float largest = 0.0f;
            for (std::int64_t k = begin; k < end; ++k) largest = fmaxf(largest, fabsf(value(k)));
            const float factor = largest > 0.0f ? 127.0f / largest : 0.0f;
            reinterpret_cast<std::int8_t*>(row)[i] = static_cast<std::int8_t>(rintf(value(i) * factor));
            if (i == begin) {
                reinterpret_cast<float*>(row + device_scales_offset(n))[i / kKvScaleGroup] = largest / 127.0f;
            }
        }
    }
}

}  // namespace offstage::kernels::cuda
