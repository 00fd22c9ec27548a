#pragma once
// Helpers of the scalar references. Never included by a file that is compiled for an
// instruction set.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/blocks.h"
#include "kernels/cpu/operations.h"
#include "kernels/packed.h"
#include "kernels/types.h"

namespace offstage::kernels::scalar {

// The number of a row's weights that are widened at a time; the sums in 16 lanes continue
// across them.
inline constexpr std::int64_t kStretch = 64;

// out[i] = weight begin + i of a row of n_cols, for n weights. A plain row may be of any
// length.
inline void read_weights(const std::byte* row, WeightType type, std::int64_t n_cols, std::int64_t begin, std::int64_t n,
                         float* out) {
    const auto widen = [&](const auto* weights) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = to_float(weights[begin + i]);
    };
    switch (type) {
        case WeightType::kF32:
            return widen(reinterpret_cast<const float*>(row));
        case WeightType::kF16:
            return widen(reinterpret_cast<const F16*>(row));
        case WeightType::kBf16:
            return widen(reinterpret_cast<const Bf16*>(row));
        default:
            return is_blocks(type) ? unpack_blocks(type, row, begin, n, out)
                                   : unpack_row(type, row, n_cols, begin, n, out);
    }
}

// Calls body(weights, begin, n) for stretches of the row's n_cols weights, widened.
template <typename Body>
void for_each_stretch(const std::byte* row, WeightType type, std::int64_t n_cols, const Body& body) {
    float weights[kStretch];
    for (std::int64_t begin = 0; begin < n_cols; begin += kStretch) {
        const std::int64_t n = std::min(kStretch, n_cols - begin);
        read_weights(row, type, n_cols, begin, n, weights);
        body(static_cast<const float*>(weights), begin, n);
    }
}

// Sums in 16 lanes, added pairwise at the end. This is closer to the exact value than one
// running sum and has the shape of the vector versions, which therefore differ little
// from it.
class LaneSums {
  public:
    // Only the last piece of a row may have a length that is no multiple of kLanes.
    template <typename Weight>
    void add(const Weight* weights, const float* x, std::int64_t n) {
        std::int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes) {
            for (int lane = 0; lane < kLanes; ++lane) lanes_[lane] += to_float(weights[i + lane]) * x[i + lane];
        }
        for (int lane = 0; i < n; ++i, ++lane) lanes_[lane] += to_float(weights[i]) * x[i];
    }
    float sum() {
        for (int half = kLanes / 2; half > 0; half /= 2) {
            for (int lane = 0; lane < half; ++lane) lanes_[lane] += lanes_[lane + half];
        }
        return lanes_[0];
    }

  private:
    static constexpr int kLanes = 16;
    float lanes_[kLanes] = {};
};

template <typename Weight>
float dot(const Weight* weights, const float* x, std::int64_t n) {
    LaneSums sums;
    sums.add(weights, x, n);
    return sums.sum();
}

// The same for a row of any type.
inline float dot(const std::byte* row, WeightType type, const float* x, std::int64_t n_cols) {
    LaneSums sums;
    for_each_stretch(row, type, n_cols, [&](const float* weights, std::int64_t begin, std::int64_t n) {
        sums.add(weights, x + begin, n);
    });
    return sums.sum();
}

// Pairs of neighbours (2 i, 2 i + 1).
inline void rotate_pairs(float* x, const float* cos, const float* sin, std::int64_t dim, bool back = false) {
    for (std::int64_t i = 0; i < dim / 2; ++i) {
        const float first = x[2 * i], second = x[2 * i + 1], s = back ? -sin[i] : sin[i];
        x[2 * i] = first * cos[i] - second * s;
        x[2 * i + 1] = second * cos[i] + first * s;
    }
}

inline float silu(float x) {
    return x / (1.0f + std::exp(-x));
}

// The activation function of a neuron's gate, biases included.
inline float activated(const ExpertSpec& spec, float gate) {
    switch (spec.activation) {
        case Activation::kSilu:
            break;
        case Activation::kGelu:
            return gelu(gate);
        case Activation::kGeluTanh:
            return gate / (1.0f + std::exp(-gate * (kGeluLinear + kGeluCubic * gate * gate)));
        case Activation::kClamped:
            gate = std::min(gate, spec.limit);
            return gate / (1.0f + std::exp(-spec.alpha * gate));
        case Activation::kReluSquared:
            return std::max(gate, 0.0f);
        case Activation::kSiluCapped:
            return std::min(silu(gate), spec.limit);
        case Activation::kSiluClamped:
            gate = std::min(gate, spec.limit);
            break;
    }
    return silu(gate);
}

// The factor for the activated gate.
inline float up_factor(const ExpertSpec& spec, float up) {
    if (!spec.clamps_up()) return up;
    return std::clamp(up, -spec.limit, spec.limit) + (spec.activation == Activation::kClamped ? 1.0f : 0.0f);
}

// The activation of a neuron, biases included.
inline float activation(const ExpertSpec& spec, float gate, float up) {
    const float factor = activated(spec, gate);
    if (is_left_out(factor, spec.theta)) return 0.0f;
    return factor * up_factor(spec, up);
}

inline float bias_of(const float* biases, std::int64_t i) {
    return biases != nullptr ? biases[i] : 0.0f;
}

// The biases of outputs count once for each token: with the expert's first neuron.
inline void add_output_biases(const ExpertView& expert, const float* scale, int n_tokens, std::int64_t neuron_begin,
                              float* out) {
    const std::int64_t n = expert.layout.hidden_dim;
    const float* const biases = expert.biases().down;
    for (int t = 0; biases != nullptr && neuron_begin == 0 && t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; ++i) out[t * n + i] += scale[t] * biases[i];
    }
}

// ChosenNeuronsOf by gate(neuron, token), without biases.
template <typename Gate>
std::int64_t choose_neurons(const ExpertView& expert, int n_tokens, std::int64_t neuron_begin, std::int64_t neuron_end,
                            std::int32_t* chosen, std::uint64_t& active, const Gate& gate) {
    const ExpertSpec& spec = expert.layout.spec;
    const float* const biases = expert.biases().gate;
    std::int64_t n_chosen = 0;
    for (std::int64_t j = neuron_begin; j < neuron_end; ++j) {
        bool any = false;
        for (int t = 0; t < n_tokens; ++t) {
            if (is_left_out(activated(spec, gate(j, t) + bias_of(biases, j)), spec.theta)) continue;
            ++active;
            any = true;
        }
        if (any) chosen[n_chosen++] = static_cast<std::int32_t>(j);
    }
    return n_chosen;
}

}  // namespace offstage::kernels::scalar
