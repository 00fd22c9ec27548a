#pragma once
// An expert's activation over Vector.

#include "kernels/cpu/operations.h"
#include "kernels/cpu/simd.h"

namespace offstage::kernels {
namespace {

// gate / (1 + e^-x)
__attribute__((always_inline)) inline Vector times_sigmoid(Vector gate, Vector x) {
    return divide(gate, add(broadcast(1.0f), exponential(subtract(zero(), x))));
}

// Of kLanes neurons, biases included already.
__attribute__((always_inline)) inline Vector activation(const ExpertSpec& spec, Vector gate, Vector up) {
    if (spec.activation == Activation::kSilu) return multiply(silu(gate), up);
    if (spec.activation == Activation::kClamped) {
        const Vector limit = broadcast(spec.limit);
        gate = minimum(gate, limit);
        up = maximum(minimum(up, limit), subtract(zero(), limit));
        return multiply(times_sigmoid(gate, multiply(gate, broadcast(spec.alpha))), add(up, broadcast(1.0f)));
    }
    if (spec.activation == Activation::kGeluTanh) {
        const Vector slope = fma(multiply(gate, gate), broadcast(kGeluCubic), broadcast(kGeluLinear));
        return multiply(times_sigmoid(gate, multiply(gate, slope)), up);
    }
    float lanes[kLanes];
    store(lanes, gate);
    for (float& lane : lanes) lane = scalar::gelu(lane);
    return multiply(load(lanes), up);
}

}  // namespace
}  // namespace offstage::kernels
