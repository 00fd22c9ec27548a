#pragma once
// What an expert computes between and beside its products. C++17: device code includes
// this.

#include <cstddef>
#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels {

// Of a neuron, from g = w1 . x and u = w3 . x (with their biases).
enum class Activation : std::uint8_t {
    kSilu,      // g sigmoid(g) u
    kGelu,      // g (1 + erf(g / sqrt 2)) / 2 u
    kGeluTanh,  // g (1 + tanh(sqrt(2 / pi) (g + 0.044715 g^3))) / 2 u
    kClamped,   // g sigmoid(alpha g) (u + 1), with g at most `limit` and u within -limit .. limit (gpt-oss)
};

struct ExpertSpec {
    Activation activation = Activation::kSilu;
    bool biases = false;
    float alpha = 1.702f;  // kClamped
    float limit = 7.0f;    // kClamped
    // Neurons whose |a| is at most this are left out, a being what g becomes before it is
    // multiplied by what u becomes: their value is 0 (CORM, section 3). 0: none is, and
    // every kernel computes as if there were no such thing. Of a computation, not of the
    // weights: no model's spec has it set.
    float theta = 0.0f;

    bool operator==(const ExpertSpec& other) const {
        return activation == other.activation && biases == other.biases && alpha == other.alpha &&
               limit == other.limit && theta == other.theta;
    }
};

// Whether theta leaves a neuron out whose gate became `activated`. One that is no number
// is not.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr bool
    is_left_out(float activated, float theta) {
    return theta > 0.0f && activated <= theta && activated >= -theta;
}

// tanh(z) = 2 sigmoid(2 z) - 1: the argument of that sigmoid is g times (kGeluLinear +
// kGeluCubic g^2).
constexpr float kGeluLinear = 1.59576912f;   // 2 sqrt(2 / pi)
constexpr float kGeluCubic = 0.0713548163f;  // that times 0.044715

}  // namespace offstage::kernels
