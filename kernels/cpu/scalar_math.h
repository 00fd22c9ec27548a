#pragma once
// Helpers of the scalar references. Never included by a file that is compiled for an instruction set.

#include <cmath>
#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels::scalar {

// Sums in 16 lanes, added pairwise at the end: closer to the true value than one running sum, and of the same shape as
// the vector versions, so that these differ from it by little.
template <typename Weight>
float dot(const Weight* weights, const float* x, std::int64_t n) {
    constexpr int kLanes = 16;
    float lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += to_float(weights[i + lane]) * x[i + lane];
    }
    for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += to_float(weights[i]) * x[i];
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

inline float silu(float x) {
    return x / (1.0f + std::exp(-x));
}

// Calls body with `data` as a pointer to what it holds.
template <typename Body>
void with_weights(const void* data, WeightType type, const Body& body) {
    switch (type) {
        case WeightType::kF32:
            body(static_cast<const float*>(data));
            return;
        case WeightType::kF16:
            body(static_cast<const F16*>(data));
            return;
        case WeightType::kBf16:
            body(static_cast<const Bf16*>(data));
            return;
        default:
            return;
    }
}

}  // namespace offstage::kernels::scalar
