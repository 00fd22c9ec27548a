#pragma once
// Products of files' blocks with inputs that are rounded to 8 bits, 32 of them with one
// scale (see CpuKernels::round_inputs), instead of float32. This is faster on processors
// that multiply integers faster. C++17, because device code includes this file.

#include <cstdint>

#include "kernels/formats.h"

namespace offstage::kernels {

// Classes of products that are chosen separately: few rows; many rows (more than
// CudaContext::kFewRows); many rows with small experts, where the fixed cost of each
// expert counts most.
enum class ProductRows : std::uint8_t { kFew, kMany, kManyOfSmallExperts };

// The types whose products a device forms with rounded inputs: one bit for each type's
// number.
struct ByteInputTypes {
    std::uint64_t few = 0;
    std::uint64_t many = 0;
    std::uint64_t small_experts = 0;  // many rows

    static_assert(kWeightTypes <= 64, "a bit for each");
    static constexpr std::uint64_t bit(WeightType type) { return std::uint64_t{1} << static_cast<unsigned>(type); }
    static constexpr ByteInputTypes all() {
        ByteInputTypes types;
        for (const FormatTraits& format : kFormats) {
            if (format.is_blocks()) types.few |= bit(format.type);
        }
        types.many = types.small_experts = types.few;
        return types;
    }
    constexpr std::uint64_t& of(ProductRows rows) {
        return rows == ProductRows::kFew ? few : rows == ProductRows::kMany ? many : small_experts;
    }
    constexpr std::uint64_t of(ProductRows rows) const {
        return rows == ProductRows::kFew ? few : rows == ProductRows::kMany ? many : small_experts;
    }
    constexpr bool rounds(WeightType type, ProductRows rows) const { return (of(rows) & bit(type)) != 0; }
    constexpr bool rounds_few(WeightType type) const { return rounds(type, ProductRows::kFew); }
    constexpr bool rounds_many(WeightType type) const { return rounds(type, ProductRows::kMany); }
    constexpr bool operator==(const ByteInputTypes& other) const {
        return few == other.few && many == other.many && small_experts == other.small_experts;
    }
};

}  // namespace offstage::kernels
