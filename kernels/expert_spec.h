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

    bool operator==(const ExpertSpec& other) const {
        return activation == other.activation && biases == other.biases && alpha == other.alpha && limit == other.limit;
    }
};

// tanh(z) = 2 sigmoid(2 z) - 1: the argument of that sigmoid is g times (kGeluLinear +
// kGeluCubic g^2).
constexpr float kGeluLinear = 1.59576912f;   // 2 sqrt(2 / pi)
constexpr float kGeluCubic = 0.0713548163f;  // that times 0.044715

}  // namespace offstage::kernels
