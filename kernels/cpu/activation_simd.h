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

// The activation function of kLanes neurons' gates, biases included.
__attribute__((always_inline)) inline Vector activated(const ExpertSpec& spec, Vector gate) {
    if (spec.activation == Activation::kSilu) return silu(gate);
    if (spec.activation == Activation::kClamped) {
        gate = minimum(gate, broadcast(spec.limit));
        return times_sigmoid(gate, multiply(gate, broadcast(spec.alpha)));
    }
    if (spec.activation == Activation::kReluSquared) return maximum(zero(), gate);
    if (spec.activation == Activation::kSiluCapped) return minimum(silu(gate), broadcast(spec.limit));
    if (spec.activation == Activation::kSiluClamped) return silu(minimum(gate, broadcast(spec.limit)));
    if (spec.activation == Activation::kGeluTanh) {
        const Vector slope = fma(multiply(gate, gate), broadcast(kGeluCubic), broadcast(kGeluLinear));
        return times_sigmoid(gate, multiply(gate, slope));
    }
    float lanes[kLanes];
    store(lanes, gate);
    for (float& lane : lanes) lane = scalar::gelu(lane);
    return load(lanes);
}

// The factor for the activated gate.
__attribute__((always_inline)) inline Vector up_factor(const ExpertSpec& spec, Vector up) {
    if (!spec.clamps_up()) return up;
    const Vector limit = broadcast(spec.limit);
    const Vector within = maximum(minimum(up, limit), subtract(zero(), limit));
    return spec.activation == Activation::kClamped ? add(within, broadcast(1.0f)) : within;
}

// The activations of kLanes neurons, biases included. Ignores ExpertSpec::theta.
__attribute__((always_inline)) inline Vector activation(const ExpertSpec& spec, Vector gate, Vector up) {
    return multiply(activated(spec, gate), up_factor(spec, up));
}

}  // namespace
}  // namespace offstage::kernels
