#pragma once
// Products of our own packed formats with inputs of 8 bits, and an expert in these
// formats. The same for the blocks of files: CpuKernels::round_inputs, matvec_bytes.

#include "kernels/cpu_kernels.h"
#include "kernels/cpu_product_table.h"

namespace offstage::kernels {

// Weights are codes with scales, which round_inputs() and matvec_bytes() take.
constexpr bool is_coded(WeightType type) {
    return is_blocks(type) || (is_packed(type) && !traits_of(type).is_mixed());
}

// Calls body(std::integral_constant<WeightType, type>()) if is_coded(type); otherwise
// does nothing.
template <typename Body>
inline void with_coded_type(WeightType type, const Body& body) {
    with_packed_type(type, body);
    with_block_type(type, body);
}

// Neurons whose activations expert_ffn_bytes() rounds together.
inline constexpr std::int64_t kRoundedNeurons = 16;

// Whether expert_ffn_bytes() can compute such experts.
constexpr bool takes_byte_inputs(const ExpertLayout& layout) {
    return !layout.down_rows_are_outputs && layout.gate == layout.up && is_packed(layout.gate) &&
           is_packed(layout.down) && is_coded(layout.gate) && is_coded(layout.down);
}

// With more tokens: neurons whose activations are formed before their w2 is added.
inline constexpr std::int64_t kByteTileNeurons = 64;
inline constexpr std::int64_t kMostByteTileTokens = 64;

// Bytes of scratch memory for expert_ffn_bytes() with more than kFewByteExpertTokens:
// that of matvec_bytes(), gates and ups, sums, and activations rounded for 64 groups of
// columns.
constexpr std::int64_t byte_expert_scratch(std::int64_t hidden_dim, std::int64_t n_tokens) {
    constexpr std::int64_t kRounded = kByteTileNeurons / kRoundedNeurons * 64 * 32;
    constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
    return byte_product_scratch(hidden_dim) + n_tokens * ((2 * kByteTileNeurons + hidden_dim) * kFloat + kRounded) + 64;
}

// CpuKernels::expert_ffn for at most kMostByteTileTokens tokens. inputs[token]: from
// round_inputs() of the same set, for w1. The factors of w2 are rounded to 8 bits as
// well: activations times scales, in runs of kRoundedNeurons neurons from neuron_begin
// on, with one step for each group of columns. A token's result does not depend on the
// other tokens or their number, bit by bit. scratch: the caller's, byte_expert_scratch()
// bytes; nullptr is allowed for at most kFewByteExpertTokens. ExpertSpec::theta is 0; for
// others see kernels/sparse_experts.h.
using ExpertFfnBytes = void (*)(const ExpertView& expert, const std::byte* const* inputs, const float* scale,
                                int n_tokens, std::int64_t neuron_begin, std::int64_t neuron_end, float* out,
                                std::byte* scratch);
ExpertFfnBytes expert_ffn_bytes(InstructionSet set);  // precondition: available

}  // namespace offstage::kernels
