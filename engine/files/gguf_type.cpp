#include "engine/files/gguf_type.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "engine/files/files_messages.h"
#include "kernels/formats.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

struct NumberedType {
    std::uint32_t number;
    GgufType type;
};

GgufType ours(const kernels::FormatTraits& format) {
    const bool blocks = format.is_blocks();
    return {format.name, blocks ? static_cast<std::uint64_t>(format.group) : 1,
            static_cast<std::uint64_t>(blocks ? format.block_bytes : format.bits / 8), true, format.type};
}
constexpr NumberedType foreign(std::uint32_t number, const char* name, std::uint64_t weights, std::uint64_t bytes) {
    return {number, {name, weights, bytes, false, WeightType::kF32}};
}
// Read as BF16.
constexpr NumberedType widened(std::uint32_t number, const char* name, std::uint64_t weights, std::uint64_t bytes) {
    return {number, {name, weights, bytes, true, WeightType::kBf16}};
}
// A type of another program, or one removed from ggml: only its name is known.
constexpr NumberedType named(std::uint32_t number, const char* name) {
    return foreign(number, name, 0, 0);
}

// Those that kFormats does not have (ggml's enum ggml_type).
constexpr std::array kOtherTypes = {
    foreign(9, "Q8_1", 32, 36),
    foreign(15, "Q8_K", 256, 292),
    foreign(24, "I8", 1, 1),
    foreign(25, "I16", 1, 2),
    foreign(26, "I32", 1, 4),
    foreign(27, "I64", 1, 8),
    foreign(28, "F64", 1, 8),
    widened(34, "TQ1_0", 256, 54),
    widened(35, "TQ2_0", 256, 66),
    widened(40, "NVFP4", 64, 36),
    named(31, "Q4_0_4_4"),
    named(32, "Q4_0_4_8"),
    named(33, "Q4_0_8_8"),
    named(41, "Q1_0"),
    named(42, "Q2_0"),
    named(4, "MXFP4 of Ollama's first gpt-oss"),
};

// ik_llama.cpp's own types, by its ggml.h. If a number has had two names, both are here.
constexpr std::array kIkTypes = {
    named(97, "Q8_0_X4"),       named(98, "Q8_1_X4"),     named(99, "Q8_2_X4"),    named(133, "Q6_0"),
    named(134, "IQ1_BN"),       named(135, "IQ2_BN"),     named(136, "Q8_K64"),    named(137, "IQ2_K"),
    named(138, "IQ3_K"),        named(139, "IQ4_K"),      named(140, "IQ5_K"),     named(141, "IQ6_K"),
    named(142, "IQ2_TN"),       named(143, "IQ1_TN"),     named(144, "IQ4_KS"),    named(145, "IQ2_KS"),
    named(146, "IQ4_KSS"),      named(147, "Q8_K16"),     named(148, "Q8_K32"),    named(149, "Q8_KR8"),
    named(150, "Q8_K128"),      named(151, "Q8_KV"),      named(152, "IQ5_KS"),    named(153, "IQ2_KT"),
    named(154, "IQ3_KT"),       named(155, "IQ4_KT"),     named(156, "IQ3_KS"),    named(157, "IQ2_KL"),
    named(158, "IQ1_KT"),       named(202, "Q4_0_R4/R8"), named(206, "Q5_0_R4"),   named(208, "Q8_0_R4/R8"),
    named(210, "Q2_K_R4"),      named(211, "Q3_K_R4"),    named(212, "Q4_K_R4"),   named(213, "Q5_K_R4"),
    named(214, "Q6_K_R4"),      named(216, "IQ2_XXS_R4"), named(217, "IQ2_XS_R4"), named(218, "IQ3_XXS_R4"),
    named(219, "IQ1_S_R4"),     named(220, "IQ4_NL_R4"),  named(221, "IQ3_S_R4"),  named(222, "IQ2_S_R4"),
    named(223, "IQ4_XS_R4/R8"), named(229, "IQ1_M_R4"),   named(230, "BF16_R16"),  named(233, "Q6_0_R4"),
    named(335, "IQ2_BN_R4"),    named(337, "IQ2_K_R4"),   named(338, "IQ3_K_R4"),  named(339, "IQ4_K_R4"),
    named(340, "IQ5_K_R4"),     named(344, "IQ4_KS_R4"),  named(352, "IQ5_KS_R4"), named(353, "MXFP4_R8"),
    named(397, "Q8_K_R16"),     named(398, "Q8_KV_R8"),   named(399, "Q8_K_R8"),
};

const NumberedType* find_type(std::span<const NumberedType> rows, std::uint32_t number) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.number == number; });
    return found == rows.end() ? nullptr : &*found;
}

}  // namespace

GgufType gguf_type(std::uint32_t number) {
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (format.ggml_type >= 0 && static_cast<std::uint32_t>(format.ggml_type) == number) return ours(format);
    }
    const NumberedType* const row = find_type(kOtherTypes, number);
    return row == nullptr ? GgufType{"", 0, 0, false, WeightType::kF32} : row->type;
}

std::string gguf_type_name(std::uint32_t number) {
    const GgufType type = gguf_type(number);
    if (type.supported) return type.name;
    const std::string text = "type " + std::to_string(number);
    if (const NumberedType* const row = find_type(kIkTypes, number)) {
        return std::string(row->type.name) + " of ik_llama.cpp (" + text + ")";
    }
    return *type.name != '\0' ? std::string(type.name) + " (" + text + ")" : text;
}

Message readable_gguf_types() {
    std::map<int, std::string> by_number;
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (format.ggml_type >= 0) by_number[format.ggml_type] = format.name;
    }
    for (const NumberedType& row : kOtherTypes) {
        if (row.type.supported) by_number[static_cast<int>(row.number)] = row.type.name;
    }
    std::string names;
    for (const auto& [number, name] : by_number) names += (names.empty() ? "" : ", ") + name;
    return messages::a_readable_type(names);
}

}  // namespace offstage::engine
