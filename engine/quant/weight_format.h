#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/quant/quantizer.h"
#include "kernels/types.h"

namespace offstage::engine {

// "bf16", "int8", "hqq4", "hqq3", "hqq2" (and "f32", "f16" for what checkpoints hold). Throws Error (kInvalidInput),
// listing the names.
kernels::WeightType parse_format(std::string_view name);
std::string_view format_name(kernels::WeightType format);  // the same names

// What a person asks for with --quant. Nothing set: the checkpoint's own.
struct QuantSettings {
    std::optional<kernels::WeightType> experts;  // all of them
    std::optional<kernels::WeightType> dense;    // attention's matrices: kBf16, kInt8 or kHqq4
    // Not for the person: kNearest is what quantize-report compares HQQ with.
    QuantMethod method = QuantMethod::kHqq;
};

// "experts=hqq3,dense=8": each part optional, in any order, once; experts: a format's name; dense: 16, 8 or 4.
// Throws Error (kInvalidInput) naming the part and what was expected.
QuantSettings parse_quant(std::string_view text);
std::string describe(const QuantSettings& settings);  // "experts hqq3, dense 8 bit"; "as in the checkpoint"

}  // namespace offstage::engine
