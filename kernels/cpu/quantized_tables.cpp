// Compiled for each set of integer products, as quantized_*_simd.cpp are, and for none.

#include "kernels/cpu/operations.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

constinit const IntegerKernels kIntegerKernels = {
    .round_inputs = round_inputs,
    .matvec_bytes = matvec_bytes,
    .expert_ffn_bytes = expert_ffn_bytes,
    .sparse_expert_ffn_bytes = sparse_expert_ffn_bytes,
    .chosen_neurons_bytes = chosen_neurons_bytes,
};

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
