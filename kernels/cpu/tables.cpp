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

#define OFFSTAGE_ROW(name) .name = (name),
constinit const KernelTables kTables = {
    .cpu = {.instruction_set = kOwnSet, OFFSTAGE_CPU_KERNELS(OFFSTAGE_ROW)},
    .sparse_expert_ffn = sparse_expert_ffn,
    .chosen_neurons = chosen_neurons,
    .pack = {transpose_f32, transpose_bf16_pairs, copy_f32, interleave_bf16_pairs},
    .quantize = {largest_weight, sum_of_squares, pack_row},
};
#undef OFFSTAGE_ROW

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
