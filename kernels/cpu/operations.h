#pragma once
// The functions that fill the tables of cpu_kernels.h, pack.h and quantize.h, of the one
// instruction set that a file is compiled for (the *_simd.cpp once for each:
// kernels/CMakeLists.txt). Internal to kernels/.

#include <type_traits>

#include "kernels/bf16_attention.h"
#include "kernels/bf16_experts.h"
#include "kernels/byte_experts.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu_kernels.h"
#include "kernels/quantize.h"
#include "kernels/sparse_experts.h"

#ifndef OFFSTAGE_INSTRUCTION_SET
#define OFFSTAGE_INSTRUCTION_SET scalar
#endif

namespace offstage::kernels {

template <typename Pointer>
using Signature = std::remove_pointer_t<Pointer>;

// Products with inputs rounded to bytes: exact, so that a set may have two, with an
// instruction for dot products of bytes and without one.
struct IntegerKernels {
    decltype(CpuKernels::round_inputs) round_inputs;
    decltype(CpuKernels::matvec_bytes) matvec_bytes;
    ExpertFfnBytes expert_ffn_bytes;
    SparseExpertFfnBytes sparse_expert_ffn_bytes;
    ChosenNeuronsOfBytes chosen_neurons_bytes;
};

// All else that one set computes with; `cpu` is completed by IntegerKernels.
struct KernelTables {
    CpuKernels cpu;
    ExpertFfnBf16 expert_ffn_bf16 = nullptr;
    ExpertFfnWidened expert_ffn_widened = nullptr;
    Bf16Attention bf16_attention = nullptr;
    SparseExpertFfn sparse_expert_ffn;
    ChosenNeuronsOf chosen_neurons;
    PackKernels pack;
    QuantizeKernels quantize;
};

namespace OFFSTAGE_INSTRUCTION_SET {
#define OFFSTAGE_DECLARE(name) Signature<decltype(CpuKernels::name)> name;
OFFSTAGE_CPU_KERNELS(OFFSTAGE_DECLARE)
#undef OFFSTAGE_DECLARE
Signature<decltype(CpuKernels::round_inputs)> round_inputs;
Signature<decltype(CpuKernels::matvec_bytes)> matvec_bytes;
Signature<ExpertFfnBytes> expert_ffn_bytes;
Signature<SparseExpertFfnBytes> sparse_expert_ffn_bytes;
Signature<ChosenNeuronsOfBytes> chosen_neurons_bytes;
Signature<SparseExpertFfn> sparse_expert_ffn;
Signature<ChosenNeuronsOf> chosen_neurons;
Signature<decltype(PackKernels::transpose_f32)> transpose_f32;
Signature<decltype(PackKernels::transpose_bf16_pairs)> transpose_bf16_pairs;
Signature<decltype(PackKernels::copy_f32)> copy_f32;
Signature<decltype(PackKernels::interleave_bf16_pairs)> interleave_bf16_pairs;
Signature<decltype(QuantizeKernels::largest)> largest_weight;
Signature<decltype(QuantizeKernels::sum_of_squares)> sum_of_squares;
Signature<decltype(QuantizeKernels::pack_row)> pack_row;
}  // namespace OFFSTAGE_INSTRUCTION_SET

namespace scalar {
extern const KernelTables kTables;
extern const IntegerKernels kIntegerKernels;
float gelu(float x);  // by erf
}  // namespace scalar
namespace avx2 {
extern const KernelTables kTables;
extern const IntegerKernels kIntegerKernels;
Signature<ExpertFfnWidened> expert_ffn_widened;
}  // namespace avx2
namespace avx512 {
extern const KernelTables kTables;
extern const IntegerKernels kIntegerKernels;
}  // namespace avx512
namespace avx2_vnni {
extern const IntegerKernels kIntegerKernels;
}
namespace avx512_vnni {
extern const IntegerKernels kIntegerKernels;
}
namespace avx512_bf16 {
Signature<decltype(CpuKernels::narrow_bf16)> narrow_bf16;
Signature<ExpertFfnBf16> expert_ffn_bf16;
Signature<Bf16Attention> attention_of_pairs;
}  // namespace avx512_bf16

}  // namespace offstage::kernels
