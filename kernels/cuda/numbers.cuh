#pragma once
// Reading weights, and sums over a warp.

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/expert_spec.h"
#include "kernels/types.h"

namespace offstage::kernels::cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kEight = 8;  // weights that a lane takes at once: 16 bytes of bf16 or f16

__device__ inline float widen(Bf16 value) {
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
__device__ inline float widen(F16 value) {
    return __half2float(__ushort_as_half(value.bits));
}
__device__ inline float widen(float value) {
    return value;
}

template <typename T>
__device__ T narrow(float value);

template <>
__device__ inline float narrow<float>(float value) {
    return value;
}
// To nearest even; NaN stays NaN.
template <>
__device__ inline Bf16 narrow<Bf16>(float value) {
    const unsigned bits = __float_as_uint(value);
    Bf16 result;
    result.bits = static_cast<std::uint16_t>(
        (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    return result;
}
// Values beyond f16's range become its largest: an infinity would spoil the whole row.
template <>
__device__ inline F16 narrow<F16>(float value) {
    constexpr float kLargest = 65504.0f;
    const float kept = value > kLargest ? kLargest : value < -kLargest ? -kLargest : value;
    F16 result;
    result.bits = __half_as_ushort(__float2half_rn(kept));
    return result;
}

// To a multiple of four values' bytes.
__device__ inline void store_four(float* to, const float (&values)[4]) {
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
}
template <typename T>
__device__ inline void store_four(T* to, const float (&values)[4]) {
    uint2 words;
    words.x = narrow<T>(values[0]).bits | static_cast<unsigned>(narrow<T>(values[1]).bits) << 16;
    words.y = narrow<T>(values[2]).bits | static_cast<unsigned>(narrow<T>(values[3]).bits) << 16;
    *reinterpret_cast<uint2*>(to) = words;
}

__device__ inline float silu(float x) {
    return x / (1.0f + expf(-x));
}

// The activation of a neuron, biases included.
__device__ inline float activation(const ExpertSpec& spec, float gate, float up) {
    float factor;
    if (spec.activation == Activation::kSilu) {
        factor = silu(gate);
    } else if (spec.activation == Activation::kGelu) {
        factor = 0.5f * gate * (1.0f + erff(gate * 0.707106781f));
    } else if (spec.activation == Activation::kReluSquared) {
        factor = gate < 0.0f ? 0.0f : gate;
    } else if (spec.activation == Activation::kGeluTanh) {
        factor = gate / (1.0f + expf(-gate * (kGeluLinear + kGeluCubic * gate * gate)));
    } else {
        const bool adds_one = spec.activation == Activation::kClamped;
        const bool caps = spec.activation == Activation::kSiluCapped;
        if (!caps) gate = gate < spec.limit ? gate : spec.limit;
        factor = gate / (1.0f + expf(adds_one ? -spec.alpha * gate : -gate));
        if (caps) factor = factor < spec.limit ? factor : spec.limit;
        up = (up < -spec.limit ? -spec.limit : up < spec.limit ? up : spec.limit) + (adds_one ? 1.0f : 0.0f);
    }
    return is_left_out(factor, spec.theta) ? 0.0f : factor * up;
}

// Eight weights that follow each other. kVector: 16-byte aligned, and all eight exist.
// The whole GPU reads them once, so the loads ask the caches not to keep them.
template <typename T, bool kVector>
struct Eight {
    float values[kEight];
    __device__ void load(const T* row, std::int64_t column, std::int64_t n_columns) {
#pragma unroll
        for (int i = 0; i < kEight; ++i) values[i] = column + i < n_columns ? widen(row[column + i]) : 0.0f;
    }
    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < kEight; ++i) values[i] = 0.0f;
    }
    __device__ float operator[](int i) const {
        return values[i];
    }
};

template <>
struct Eight<float, true> {
    float4 low, high;
    __device__ void load(const float* row, std::int64_t column, std::int64_t) {
        low = __ldcs(reinterpret_cast<const float4*>(row + column));
        high = __ldcs(reinterpret_cast<const float4*>(row + column) + 1);
    }
    __device__ void clear() { low = high = make_float4(0.0f, 0.0f, 0.0f, 0.0f); }
    __device__ float operator[](int i) const {
        const float values[kEight] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        return values[i];
    }
};

template <typename T>
struct Eight<T, true> {
    uint4 words;
    __device__ void load(const T* row, std::int64_t column, std::int64_t) {
        words = __ldcs(reinterpret_cast<const uint4*>(row + column));
    }
    __device__ void clear() { words = make_uint4(0, 0, 0, 0); }
    __device__ float operator[](int i) const {
        const unsigned all[4] = {words.x, words.y, words.z, words.w};
        T value;
        value.bits = static_cast<std::uint16_t>(i % 2 == 0 ? all[i / 2] & 0xffffu : all[i / 2] >> 16);
        return widen(value);
    }
};

// The same for activations, which other warps read as well.
template <bool kVector>
__device__ inline void load_eight(const float* row, std::int64_t column, std::int64_t n_columns, float* values) {
    if (kVector) {
        const float4 low = *reinterpret_cast<const float4*>(row + column);
        const float4 high = *(reinterpret_cast<const float4*>(row + column) + 1);
        values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
        values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
    } else {
#pragma unroll
        for (int i = 0; i < kEight; ++i) values[i] = column + i < n_columns ? row[column + i] : 0.0f;
    }
}

// Every lane gets the sum, added in the same order in every warp.
__device__ inline float warp_sum(float value) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
    if (cuda_host::meets_once()) return cuda_host::sum_of_warp(kAllLanes, value);
#endif
#pragma unroll
    for (int distance = kWarp / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
    return value;
}

__device__ inline float warp_max(float value) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
    if (cuda_host::meets_once()) return cuda_host::largest_of_warp(kAllLanes, value);
#endif
#pragma unroll
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
}

// sums[r][t] += the lane's part of rows[r] . inputs[t], for kRows weight rows and kInputs
// inputs of n columns. A lane takes eight columns, the next 32 * 8 further on, in order:
// kRows and kInputs do not change a sum's bits.
template <typename T, int kRows, int kInputs, bool kVector>
__device__ inline void add_products(const T* const (&rows)[kRows], const float* const (&inputs)[kInputs],
                                    std::int64_t n, int lane, float (&sums)[kRows][kInputs]) {
    // Enough loads in flight to hide the memory's latency, few enough to stay in
    // registers.
    constexpr int kAhead = kRows * kInputs >= 16 ? 1 : kRows == 1 && kInputs <= 2 ? 4 : 2;
    constexpr std::int64_t kStep = kWarp * kEight;
    for (std::int64_t begin = static_cast<std::int64_t>(lane) * kEight; begin < n; begin += kAhead * kStep) {
        Eight<T, kVector> weights[kAhead][kRows];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t column = begin + a * kStep;
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                if (column < n) {
                    weights[a][r].load(rows[r], column, n);
                } else {
                    weights[a][r].clear();
                }
            }
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t column = begin + a * kStep;
            if (column >= n) break;
#pragma unroll
            for (int t = 0; t < kInputs; ++t) {
                float x[kEight];
                load_eight<kVector>(inputs[t], column, n, x);
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
#pragma unroll
                    for (int i = 0; i < kEight; ++i) sums[r][t] = fmaf(weights[a][r][i], x[i], sums[r][t]);
                }
            }
        }
    }
}

}  // namespace offstage::kernels::cuda
