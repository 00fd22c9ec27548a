#include "kernels/cpu_kernels.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "kernels/cpu/operations.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels {

namespace {

constexpr CpuKernels kScalarKernels = {
    .instruction_set = InstructionSet::kScalar,
    .matvec = scalar::matvec,
    .matvec_multi = scalar::matvec_multi,
    .expert_ffn = scalar::expert_ffn,
    .rms_norm = scalar::rms_norm,
    .layer_norm = scalar::layer_norm,
    .rope = scalar::rope,
    .attention = scalar::attention,
    .silu_mul = scalar::silu_mul,
    .axpy = scalar::axpy,
    .widen = scalar::widen,
    .narrow_bf16 = scalar::narrow_bf16,
    .argmax = scalar::argmax,
};

#if defined(__x86_64__)
constexpr CpuKernels kAvx2Kernels = {
    .instruction_set = InstructionSet::kAvx2,
    .matvec = avx2::matvec,
    .matvec_multi = avx2::matvec_multi,
    .expert_ffn = avx2::expert_ffn,
    .rms_norm = avx2::rms_norm,
    .layer_norm = avx2::layer_norm,
    .rope = avx2::rope,
    .attention = avx2::attention,
    .silu_mul = avx2::silu_mul,
    .axpy = avx2::axpy,
    .widen = avx2::widen,
    .narrow_bf16 = avx2::narrow_bf16,
    .argmax = avx2::argmax,
};

constexpr CpuKernels kAvx512Kernels = {
    .instruction_set = InstructionSet::kAvx512,
    .matvec = avx512::matvec,
    .matvec_multi = avx512::matvec_multi,
    .expert_ffn = avx512::expert_ffn,
    .rms_norm = avx512::rms_norm,
    .layer_norm = avx512::layer_norm,
    .rope = avx512::rope,
    .attention = avx512::attention,
    .silu_mul = avx512::silu_mul,
    .axpy = avx512::axpy,
    .widen = avx512::widen,
    .narrow_bf16 = avx512::narrow_bf16,
    .argmax = avx512::argmax,
};

// The dot-product instruction would round activations to bf16, so the products stay those of AVX-512.
constexpr CpuKernels kAvx512Bf16Kernels = {
    .instruction_set = InstructionSet::kAvx512Bf16,
    .matvec = avx512::matvec,
    .matvec_multi = avx512::matvec_multi,
    .expert_ffn = avx512::expert_ffn,
    .rms_norm = avx512::rms_norm,
    .layer_norm = avx512::layer_norm,
    .rope = avx512::rope,
    .attention = avx512::attention,
    .silu_mul = avx512::silu_mul,
    .axpy = avx512::axpy,
    .widen = avx512::widen,
    .narrow_bf16 = avx512_bf16::narrow_bf16,
    .argmax = avx512::argmax,
};
#endif

InstructionSet choose() {
    const std::vector<InstructionSet> available = available_instruction_sets();
    if (const char* wanted = std::getenv("OFFSTAGE_ISA")) {
        for (const InstructionSet set : available) {
            if (name_of(set) == wanted) return set;
        }
    }
    return available.back();
}

}  // namespace

std::vector<InstructionSet> available_instruction_sets() {
    std::vector<InstructionSet> sets = {InstructionSet::kScalar};
    if (cpu_features().avx2) sets.push_back(InstructionSet::kAvx2);
    if (cpu_features().avx512) sets.push_back(InstructionSet::kAvx512);
    if (cpu_features().avx512_bf16) sets.push_back(InstructionSet::kAvx512Bf16);
    return sets;
}

std::string_view name_of(InstructionSet set) {
    switch (set) {
        case InstructionSet::kScalar:
            return "scalar";
        case InstructionSet::kAvx2:
            return "avx2";
        case InstructionSet::kAvx512:
            return "avx512";
        case InstructionSet::kAvx512Bf16:
            return "avx512_bf16";
    }
    return "?";
}

const CpuKernels& cpu_kernels(InstructionSet set) {
#if defined(__x86_64__)
    switch (set) {
        case InstructionSet::kScalar:
            break;
        case InstructionSet::kAvx2:
            assert(cpu_features().avx2);
            return kAvx2Kernels;
        case InstructionSet::kAvx512:
            assert(cpu_features().avx512);
            return kAvx512Kernels;
        case InstructionSet::kAvx512Bf16:
            assert(cpu_features().avx512_bf16);
            return kAvx512Bf16Kernels;
    }
#else
    assert(set == InstructionSet::kScalar);
#endif
    return kScalarKernels;
}

const CpuKernels& cpu_kernels() {
    static const CpuKernels& chosen = cpu_kernels(choose());
    return chosen;
}

// The largest need is that of the vector versions: two floats per query (no more queries than keys), a group's scores
// and a transposed block of keys. The scalar version keeps one score per key.
std::int64_t attention_scratch_floats(std::int64_t n_keys, std::int64_t key_dim) {
    constexpr std::int64_t kGroupQueries = 6;
    constexpr std::int64_t kBlockKeys = 64;
    return 2 * n_keys + (kGroupQueries + key_dim) * kBlockKeys;
}

}  // namespace offstage::kernels
