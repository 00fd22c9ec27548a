#include "kernels/cpu_kernels.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>

#include "kernels/cpu/attention_groups.h"
#include "kernels/cpu/compiled_sets.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/pair_products.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels {

namespace {

// A build does not name the tables of sets that it does not compile.
consteval bool compiled(std::string_view name) {
    return contains_set(OFFSTAGE_COMPILED_SETS, name);
}

// All tables of an instruction set.
struct SetTables : KernelTables {
    IntegerKernels integer;

    SetTables(const KernelTables& tables, const IntegerKernels& products) : KernelTables(tables), integer(products) {
        cpu.round_inputs = integer.round_inputs;
        cpu.matvec_bytes = integer.matvec_bytes;
    }
};

// Dot products of bytes are exact with and without an instruction for them. The bf16
// instruction would round activations, so those products stay AVX-512's.
[[maybe_unused]] const IntegerKernels& avx2_integer() {
    if constexpr (compiled("avx2_vnni_integer")) {
        if (cpu_features().avx_vnni || !compiled("avx2_integer")) return avx2_vnni::kIntegerKernels;
    }
    if constexpr (compiled("avx2_integer")) return avx2::kIntegerKernels;
    return scalar::kIntegerKernels;
}

[[maybe_unused]] const IntegerKernels& avx512_integer() {
    if constexpr (compiled("avx512_vnni_integer")) {
        if (cpu_features().avx512_vnni || !compiled("avx512_integer")) return avx512_vnni::kIntegerKernels;
    }
    if constexpr (compiled("avx512_integer")) return avx512::kIntegerKernels;
    return scalar::kIntegerKernels;
}

const SetTables& tables_of(InstructionSet set) {
    assert(std::ranges::count(available_instruction_sets(), set) == 1);
    switch (set) {
        case InstructionSet::kScalar:
            break;
        case InstructionSet::kAvx2:
            if constexpr (compiled("avx2")) {
                static const SetTables kAvx2 = [] {
                    SetTables tables{avx2::kTables, avx2_integer()};
                    tables.expert_ffn_widened = avx2::expert_ffn_widened;
                    return tables;
                }();
                return kAvx2;
            }
            break;
        case InstructionSet::kAvx512:
            if constexpr (compiled("avx512")) {
                static const SetTables kAvx512{avx512::kTables, avx512_integer()};
                return kAvx512;
            }
            break;
        case InstructionSet::kAvx512Bf16:
            if constexpr (compiled("avx512_bf16")) {
                static const SetTables kAvx512Bf16 = [] {
                    SetTables tables{avx512::kTables, avx512_integer()};
                    tables.cpu.instruction_set = InstructionSet::kAvx512Bf16;
                    tables.cpu.narrow_bf16 = avx512_bf16::narrow_bf16;
                    tables.expert_ffn_bf16 = avx512_bf16::expert_ffn_bf16;
                    tables.bf16_attention = avx512_bf16::attention_of_pairs;
                    return tables;
                }();
                return kAvx512Bf16;
            }
            break;
    }
    static const SetTables kScalar{scalar::kTables, scalar::kIntegerKernels};
    return kScalar;
}

InstructionSet choose() {
    const std::vector<InstructionSet> available = available_instruction_sets();
    if (const char* const wanted = std::getenv("OFFSTAGE_ISA")) {  // "" is none of them
        for (const InstructionSet set : available) {
            if (name_of(set) == wanted) return set;
        }
    }
    return available.back();
}

}  // namespace

std::vector<InstructionSet> usable_sets(const CpuFeatures& features, std::string_view compiled) {
    const auto has = [&](std::string_view name) { return contains_set(compiled, name); };
    const bool avx2_integer = has("avx2_integer") || (has("avx2_vnni_integer") && features.avx_vnni);
    const bool avx512_integer = has("avx512_integer") || (has("avx512_vnni_integer") && features.avx512_vnni);
    std::vector<InstructionSet> sets = {InstructionSet::kScalar};
    if (features.avx2 && has("avx2") && avx2_integer) sets.push_back(InstructionSet::kAvx2);
    if (!features.avx512 || !has("avx512") || !avx512_integer) return sets;
    sets.push_back(InstructionSet::kAvx512);
    if (features.avx512_bf16 && has("avx512_bf16")) sets.push_back(InstructionSet::kAvx512Bf16);
    return sets;
}

std::vector<InstructionSet> available_instruction_sets() {
    return usable_sets(cpu_features(), OFFSTAGE_COMPILED_SETS);
}

InstructionSet best_of_processor() {
    return usable_sets(cpu_features(), "avx2 avx2_integer avx512 avx512_integer avx512_bf16").back();
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
    return tables_of(set).cpu;
}

ExpertFfnBytes expert_ffn_bytes(InstructionSet set) {
    return tables_of(set).integer.expert_ffn_bytes;
}

ExpertFfnBf16 expert_ffn_bf16(InstructionSet set) {
    return tables_of(set).expert_ffn_bf16;
}

ExpertFfnWidened expert_ffn_widened(InstructionSet set) {
    return tables_of(set).expert_ffn_widened;
}

Bf16Attention bf16_attention(InstructionSet set) {
    return tables_of(set).bf16_attention;
}

const PairProducts& pair_products([[maybe_unused]] InstructionSet set) {
    if constexpr (compiled("avx512_bf16")) {
        if (set == InstructionSet::kAvx512Bf16) return avx512_bf16::kPairProducts;
    }
    static const PairProducts kNone;
    return kNone;
}

const WidenedProducts& widened_products([[maybe_unused]] InstructionSet set) {
    if constexpr (compiled("avx2")) {
        if (set == InstructionSet::kAvx2) return avx2::kWidenedProducts;
    }
    static const WidenedProducts kNone;
    return kNone;
}

SparseExpertFfn sparse_expert_ffn(InstructionSet set) {
    return tables_of(set).sparse_expert_ffn;
}

SparseExpertFfnBytes sparse_expert_ffn_bytes(InstructionSet set) {
    return tables_of(set).integer.sparse_expert_ffn_bytes;
}

ChosenNeuronsOf chosen_neurons(InstructionSet set) {
    return tables_of(set).chosen_neurons;
}

ChosenNeuronsOfBytes chosen_neurons_bytes(InstructionSet set) {
    return tables_of(set).integer.chosen_neurons_bytes;
}

const PackKernels& pack_kernels(InstructionSet set) {
    return tables_of(set).pack;
}

const QuantizeKernels& quantize_kernels(InstructionSet set) {
    return tables_of(set).quantize;
}

const CpuKernels& cpu_kernels() {
    static const CpuKernels& chosen = cpu_kernels(choose());
    return chosen;
}

// The vector versions need the most: two floats per query, a group's scores, a block of
// keys and one of values as float32, and one of transposed keys. The scalar version needs
// one score per key, and a row.
std::int64_t attention_scratch_floats(std::int64_t n, std::int64_t dim) {
    return 2 * n + (kMostQueries + 3 * dim) * kKvBlockTokens;
}

KvHead kv_head_of(const KvShape& shape, const std::byte* const* blocks, std::int64_t layer, std::int64_t kv_head) {
    KvHead head;
    head.blocks = blocks;
    head.type = shape.type;
    head.key_dim = shape.key_dim;
    head.value_dim = shape.value_dim;
    head.keys = shape.keys_offset(layer, kv_head);
    head.values = shape.values_offset(layer, kv_head);
    head.key_stride = shape.key_stride();
    head.value_stride = shape.value_stride();
    return head;
}

void store_kv_row(const float* from, std::int64_t n, KvType type, std::byte* to) {
    if (type == KvType::kF32) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
        return;
    }
    if (type == KvType::kBf16) {
        auto* const values = reinterpret_cast<Bf16*>(to);
        for (std::int64_t i = 0; i < n; ++i) values[i] = to_bf16(from[i]);
        return;
    }
    auto* const codes = reinterpret_cast<std::int8_t*>(to);
    auto* const scales = reinterpret_cast<float*>(to + kv_scales_offset(n));
    for (std::int64_t begin = 0; begin < n; begin += kKvScaleGroup) {
        const std::int64_t end = begin + kKvScaleGroup < n ? begin + kKvScaleGroup : n;
        float largest = 0.0f;
        for (std::int64_t i = begin; i < end; ++i) largest = std::fmax(largest, std::fabs(from[i]));
        const float factor = largest > 0.0f ? 127.0f / largest : 0.0f;
        scales[begin / kKvScaleGroup] = largest / 127.0f;
        for (std::int64_t i = begin; i < end; ++i) {
            codes[i] = static_cast<std::int8_t>(std::lrint(from[i] * factor));
        }
    }
}

void load_kv_row(const std::byte* from, std::int64_t n, KvType type, float* to) {
    if (type == KvType::kF32) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
        return;
    }
    if (type == KvType::kBf16) {
        const auto* const values = reinterpret_cast<const Bf16*>(from);
        for (std::int64_t i = 0; i < n; ++i) to[i] = to_float(values[i]);
        return;
    }
    const auto* const codes = reinterpret_cast<const std::int8_t*>(from);
    const auto* const scales = reinterpret_cast<const float*>(from + kv_scales_offset(n));
    for (std::int64_t i = 0; i < n; ++i) to[i] = scales[i / kKvScaleGroup] * static_cast<float>(codes[i]);
}

}  // namespace offstage::kernels
