#pragma once
// The computations of an expert between and beside its products. C++17: device code
// includes this.

#include <cstddef>
#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels {

// A neuron's activation, from g = w1 . x and u = w3 . x (with their biases).
enum class Activation : std::uint8_t {
    kSilu,      // g sigmoid(g) u
    kGelu,      // g (1 + erf(g / sqrt 2)) / 2 u
    kGeluTanh,  // g (1 + tanh(sqrt(2 / pi) (g + 0.044715 g^3))) / 2 u
    kClamped,   // g sigmoid(alpha g) (u + 1), with g at most `limit` and u within -limit .. limit (gpt-oss)
    // relu(g) u of an expert of two matrices, whose w1 is its w3: relu(u)^2 (Nemotron-H).
    kReluSquared,
    kSiluCapped,   // g sigmoid(g), at most `limit`, times u within -limit .. limit (Step 3.5)
    kSiluClamped,  // g sigmoid(g) u, with g at most `limit` and u within -limit .. limit (DeepSeek-V4)
};

struct ExpertSpec {
    Activation activation = Activation::kSilu;
    bool biases = false;   // of experts with three matrices
    float alpha = 1.702f;  // kClamped
    float limit = 7.0f;    // clamps_up()
    // Neurons whose |a| is at most this are left out, a being the activated gate before
    // its product with the up factor: their value is 0 (CORM, section 3). 0: no neuron is
    // left out, and every kernel computes as without this field. A setting of a
    // computation, not of the weights: no model's spec sets it.
    float theta = 0.0f;

    // Otherwise w1 and w3 are one matrix, which lies and counts once.
    constexpr bool has_gate() const { return activation != Activation::kReluSquared; }
    constexpr bool clamps_up() const {
        return activation == Activation::kClamped || activation == Activation::kSiluCapped ||
               activation == Activation::kSiluClamped;
    }
    constexpr int n_matrices() const { return has_gate() ? 3 : 2; }
    // Of gate, up and down (0, 1, 2) those that there are begin here.
    constexpr int first_matrix() const { return 3 - n_matrices(); }
    // The share of a whole expert's bytes that is read where w1 chooses this share of its
    // neurons.
    constexpr double read_share(double active_share) const {
        return (1 + (n_matrices() - 1) * active_share) / n_matrices();
    }

    bool operator==(const ExpertSpec& other) const {
        return activation == other.activation && biases == other.biases && alpha == other.alpha &&
               limit == other.limit && theta == other.theta;
    }
};

// Whether theta leaves out a neuron whose gate became `activated`. NaN is not left out.
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
constexpr float kGeluCubic = 0.0713548163f;  // kGeluLinear * 0.044715

}  // namespace offstage::kernels
