#include "engine/files/gguf_type.h"

#include <algorithm>
#include <array>

#include "engine/files/files_messages.h"
#include "kernels/formats.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

struct NumberedType {
    std::uint32_t number;
    GgufType type;
};

constexpr NumberedType ours(std::uint32_t number, WeightType type) {
    const kernels::FormatTraits& format = kernels::traits_of(type);
    const bool blocks = format.is_blocks();
    return {number,
            {format.name, blocks ? static_cast<std::uint64_t>(format.group) : 1,
             static_cast<std::uint64_t>(blocks ? format.block_bytes : format.bits / 8), true, type}};
}
constexpr NumberedType foreign(std::uint32_t number, const char* name, std::uint64_t weights, std::uint64_t bytes) {
    return {number, {name, weights, bytes, false, WeightType::kF32}};
}

// (ggml's enum ggml_type)
constexpr std::array kGgmlTypes = {
    ours(0, WeightType::kF32),     ours(1, WeightType::kF16),     ours(2, WeightType::kQ4_0),
    ours(3, WeightType::kQ4_1),    ours(6, WeightType::kQ5_0),    ours(7, WeightType::kQ5_1),
    ours(8, WeightType::kQ8_0),    ours(10, WeightType::kQ2K),    ours(11, WeightType::kQ3K),
    ours(12, WeightType::kQ4K),    ours(13, WeightType::kQ5K),    ours(14, WeightType::kQ6K),
    ours(16, WeightType::kIq2Xxs), ours(17, WeightType::kIq2Xs),  ours(18, WeightType::kIq3Xxs),
    ours(19, WeightType::kIq1S),   ours(20, WeightType::kIq4Nl),  ours(21, WeightType::kIq3S),
    ours(22, WeightType::kIq2S),   ours(23, WeightType::kIq4Xs),  ours(29, WeightType::kIq1M),
    ours(30, WeightType::kBf16),   ours(39, WeightType::kMxfp4),  foreign(9, "Q8_1", 32, 36),
    foreign(15, "Q8_K", 256, 292), foreign(24, "I8", 1, 1),       foreign(25, "I16", 1, 2),
    foreign(26, "I32", 1, 4),      foreign(27, "I64", 1, 8),      foreign(28, "F64", 1, 8),
    foreign(34, "TQ1_0", 256, 54), foreign(35, "TQ2_0", 256, 66), foreign(40, "NVFP4", 64, 36),
};

}  // namespace

GgufType gguf_type(std::uint32_t number) {
    const auto* const found = std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(),
                                           [&](const NumberedType& row) { return row.number == number; });
    return found == kGgmlTypes.end() ? GgufType{"", 0, 0, false, WeightType::kF32} : found->type;
}

std::string gguf_type_name(std::uint32_t number) {
    const GgufType type = gguf_type(number);
    if (type.supported) return type.name;
    const std::string text = "type " + std::to_string(number);
    return type.weights > 0 ? std::string(type.name) + " (" + text + ")" : text;
}

Message readable_gguf_types() {
    std::string names;
    for (const NumberedType& row : kGgmlTypes) {
        if (row.type.supported) names += (names.empty() ? "" : ", ") + std::string(row.type.name);
    }
    return messages::a_readable_type(names);
}

}  // namespace offstage::engine
