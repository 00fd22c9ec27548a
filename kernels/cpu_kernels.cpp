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
    .rope = scalar::rope,
    .attention = scalar::attention,
    .silu_mul = scalar::silu_mul,
    .axpy = scalar::axpy,
    .widen = scalar::widen,
    .narrow_bf16 = scalar::narrow_bf16,
    .argmax = scalar::argmax,
};

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
    return {InstructionSet::kScalar};
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

const CpuKernels& cpu_kernels(InstructionSet) {
    return kScalarKernels;
}

const CpuKernels& cpu_kernels() {
    static const CpuKernels& chosen = cpu_kernels(choose());
    return chosen;
}

std::int64_t attention_scratch_floats(std::int64_t n_keys, std::int64_t head_dim) {
    return std::max<std::int64_t>(n_keys, 0) + 32 * head_dim + 16384;
}

}  // namespace offstage::kernels
