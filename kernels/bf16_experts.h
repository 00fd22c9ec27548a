#pragma once
// An expert in bf16 for any number of tokens, with the processor's dot product of pairs
// of bf16 (AVX512_BF16: vdpbf16ps), or with AVX2 in float32. A prompt's few rows for each
// expert need neither unpacked weights nor a separate product for each matrix.

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_kernels.h"
#include "kernels/sparse_experts.h"

namespace offstage::kernels {

// Whether expert_ffn_bf16() and expert_ffn_widened() can compute such experts.
constexpr bool takes_bf16_rows(const ExpertLayout& layout) {
    return layout.is_uniform() && layout.gate == WeightType::kBf16 && layout.hidden_dim % 32 == 0;
}

// Neurons of a group: all their activations are formed before their w2 is added.
inline constexpr std::int64_t kPairedNeurons = 16;

// Bytes of scratch memory for expert_ffn_bf16(): inputs and outputs side by side, sums
// and activations of kPairedNeurons neurons.
constexpr std::size_t bf16_expert_scratch(std::int64_t hidden_dim, std::int64_t n_tokens) {
    return static_cast<std::size_t>(n_tokens) *
           (static_cast<std::size_t>(hidden_dim) * (sizeof(float) + sizeof(Bf16)) +
            static_cast<std::size_t>(kPairedNeurons) * (2 * sizeof(float) + sizeof(Bf16)));
}

// out[t] = sum over neurons [neuron_begin, neuron_end) of activation(w1_j . x[t], w3_j .
// x[t]) * w2_j; the range that begins with neuron 0 adds w2's bias. inputs[t]:
// (hidden_dim) in bf16. Activations are rounded to bf16 before they are multiplied; sums
// are in float32, numbers too small for bf16's normal range count as 0. out: (n_tokens,
// hidden_dim), contiguous. A token's result depends neither on the others nor on their
// number, bit by bit. scratch: the caller's, bf16_expert_scratch() bytes at a multiple of
// 64. With a theta, neurons that are left out are computed too and count as 0; `counts`
// records them.
using ExpertFfnBf16 = void (*)(const ExpertView& expert, const Bf16* const* inputs, std::int64_t n_tokens,
                               std::int64_t neuron_begin, std::int64_t neuron_end, float* out, std::byte* scratch,
                               NeuronCounts& counts);
ExpertFfnBf16 expert_ffn_bf16(InstructionSet set);  // nullptr: the set has none

// Bytes of scratch memory for expert_ffn_widened(), as above.
constexpr std::size_t widened_expert_scratch(std::int64_t hidden_dim, std::int64_t n_tokens) {
    return static_cast<std::size_t>(n_tokens * (2 * hidden_dim + 2 * kPairedNeurons)) * sizeof(float);
}

// The same with weights widened to float32, inputs and activations in float32; without a
// theta.
using ExpertFfnWidened = void (*)(const ExpertView& expert, const float* const* inputs, std::int64_t n_tokens,
                                  std::int64_t neuron_begin, std::int64_t neuron_end, float* out, std::byte* scratch);
ExpertFfnWidened expert_ffn_widened(InstructionSet set);  // nullptr: the set has none

}  // namespace offstage::kernels
