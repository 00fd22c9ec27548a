#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/formats.h"

namespace offstage::engine {

enum class QuantMethod : std::uint8_t {
    kHqq,      // half-quadratic: zero points updated by a proximal method on the error, scales fixed; needs no data
    kNearest,  // round to nearest with each group's smallest and largest weight: the reference for HQQ
};

// FormatRow::option. Throws Error (kInvalidInput), listing them.
FormatId parse_format(std::string_view option);

// A user's choice with --quant. Nothing set: the checkpoint's own formats.
struct QuantSettings {
    std::optional<FormatId> experts;  // all of them
    std::optional<FormatId> dense;    // attention's matrices: FormatRow::for_dense
    // Not a user option: quantize-report compares HQQ with kNearest.
    QuantMethod method = QuantMethod::kHqq;
};

// "experts=hqq3,dense=8": each part optional, in any order, once; experts: a
// FormatRow::option; dense: the bits of a row that is for_dense. Throws Error
// (kInvalidInput) with the part and the expected values.
QuantSettings parse_quant(std::string_view text);

}  // namespace offstage::engine
