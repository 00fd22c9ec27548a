// Compiled for each instruction set, as the *_simd.cpp are, and for none.

#include "kernels/cpu/operations.h"

namespace offstage::kernels {

namespace scalar {
[[maybe_unused]] constexpr InstructionSet kOwnSet = InstructionSet::kScalar;
}
namespace avx2 {
[[maybe_unused]] constexpr InstructionSet kOwnSet = InstructionSet::kAvx2;
}
namespace avx512 {
[[maybe_unused]] constexpr InstructionSet kOwnSet = InstructionSet::kAvx512;
}

namespace OFFSTAGE_INSTRUCTION_SET {

constinit const KernelTables kTables = {
    .cpu =
        {
            .instruction_set = kOwnSet,
            .matvec = matvec,
            .matvec_multi = matvec_multi,
            .round_inputs = nullptr,
            .matvec_bytes = nullptr,
            .expert_ffn = expert_ffn,
            .rms_norm = rms_norm,
            .layer_norm = layer_norm,
            .rope = rope,
            .attention = attention,
            .delta_rule = delta_rule,
            .activate = activate,
            .axpy = axpy,
            .soft_cap = soft_cap,
            .widen = widen,
            .narrow_bf16 = narrow_bf16,
            .argmax = argmax,
        },
    .sparse_expert_ffn = sparse_expert_ffn,
    .chosen_neurons = chosen_neurons,
    .pack = {transpose_f32, transpose_bf16_pairs, copy_f32, interleave_bf16_pairs},
    .quantize = {largest_weight, sum_of_squares, pack_row},
};

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
