#pragma once
// The elementwise operations over Vector. Included after simd_avx2.h or simd_avx512.h.

#include <cmath>

namespace offstage::kernels {
namespace {

void silu_multiply(const float* gate, const float* up, std::int64_t n, float* out) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        store_some(out + i, n_lanes, multiply(silu(load_some(gate + i, n_lanes)), load_some(up + i, n_lanes)));
    }
}

void add_scaled(float a, const float* x, std::int64_t n, float* y) {
    const Vector factor = broadcast(a);
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        store_some(y + i, n_lanes, fma(factor, load_some(x + i, n_lanes), load_some(y + i, n_lanes)));
    }
}

template <typename Weight>
void widen_weights(const Weight* source, std::int64_t n, float* out) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(out + i, load(source + i));
    if (i < n) store_first(out + i, static_cast<int>(n - i), load_first(source + i, static_cast<int>(n - i)));
}

void widen_any(const void* source, WeightType type, std::int64_t n, float* out) {
    switch (type) {
        case WeightType::kF32:
            widen_weights(static_cast<const float*>(source), n, out);
            return;
        case WeightType::kF16:
            widen_weights(static_cast<const F16*>(source), n, out);
            return;
        case WeightType::kBf16:
            widen_weights(static_cast<const Bf16*>(source), n, out);
            return;
        default:
            return;
    }
}

void narrow(const float* source, std::int64_t n, Bf16* out) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store_bf16(out + i, load(source + i));
    if (i < n) store_first_bf16(out + i, static_cast<int>(n - i), load_first(source + i, static_cast<int>(n - i)));
}

// First the largest value, then where it is: the second pass stops early and both are plain streams.
std::int64_t first_largest(const float* x, std::int64_t n) {
    Vector largest_lanes = broadcast(-INFINITY);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) largest_lanes = maximum(load(x + i), largest_lanes);
    float largest = largest_lane(largest_lanes);
    for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    if (largest == -INFINITY) return 0;
    for (i = 0; x[i] != largest;) ++i;
    return i;
}

}  // namespace
}  // namespace offstage::kernels
