#pragma once
// The functions that fill the tables of cpu_kernels.h, declared once per instruction set with the signatures given
// there. Internal to kernels/.

#include <type_traits>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

namespace signatures {
using Matvec = std::remove_pointer_t<decltype(CpuKernels::matvec)>;
using MatvecMulti = std::remove_pointer_t<decltype(CpuKernels::matvec_multi)>;
using ExpertFfn = std::remove_pointer_t<decltype(CpuKernels::expert_ffn)>;
using RmsNorm = std::remove_pointer_t<decltype(CpuKernels::rms_norm)>;
using LayerNorm = std::remove_pointer_t<decltype(CpuKernels::layer_norm)>;
using Rope = std::remove_pointer_t<decltype(CpuKernels::rope)>;
using Attention = std::remove_pointer_t<decltype(CpuKernels::attention)>;
using Activate = std::remove_pointer_t<decltype(CpuKernels::activate)>;
using Axpy = std::remove_pointer_t<decltype(CpuKernels::axpy)>;
using Widen = std::remove_pointer_t<decltype(CpuKernels::widen)>;
using NarrowBf16 = std::remove_pointer_t<decltype(CpuKernels::narrow_bf16)>;
using Argmax = std::remove_pointer_t<decltype(CpuKernels::argmax)>;
}  // namespace signatures

namespace scalar {
signatures::Matvec matvec;
signatures::MatvecMulti matvec_multi;
signatures::ExpertFfn expert_ffn;
signatures::RmsNorm rms_norm;
signatures::LayerNorm layer_norm;
signatures::Rope rope;
signatures::Attention attention;
signatures::Activate activate;
signatures::Axpy axpy;
signatures::Widen widen;
signatures::NarrowBf16 narrow_bf16;
signatures::Argmax argmax;
float gelu(float x);  // by erf
}  // namespace scalar

namespace avx2 {
signatures::Matvec matvec;
signatures::MatvecMulti matvec_multi;
signatures::ExpertFfn expert_ffn;
signatures::RmsNorm rms_norm;
signatures::LayerNorm layer_norm;
signatures::Rope rope;
signatures::Attention attention;
signatures::Activate activate;
signatures::Axpy axpy;
signatures::Widen widen;
signatures::NarrowBf16 narrow_bf16;
signatures::Argmax argmax;
}  // namespace avx2

namespace avx512 {
signatures::Matvec matvec;
signatures::MatvecMulti matvec_multi;
signatures::ExpertFfn expert_ffn;
signatures::RmsNorm rms_norm;
signatures::LayerNorm layer_norm;
signatures::Rope rope;
signatures::Attention attention;
signatures::Activate activate;
signatures::Axpy axpy;
signatures::Widen widen;
signatures::NarrowBf16 narrow_bf16;
signatures::Argmax argmax;
}  // namespace avx512

namespace avx512_bf16 {
signatures::NarrowBf16 narrow_bf16;
}  // namespace avx512_bf16

}  // namespace offstage::kernels
