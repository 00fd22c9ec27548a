#pragma once
// Products with files' blocks from inputs that are rounded to 8 bits, 32 of them with one scale
// (CpuKernels::round_inputs says how), instead of float32: faster where whole numbers are multiplied faster. C++17,
// because device code includes this.

#include <cstdint>

#include "kernels/formats.h"

namespace offstage::kernels {

// With which types a device's products are formed so, for few rows and for many (CudaContext::kFewRows): bits by a
// type's number.
struct ByteInputTypes {
    std::uint64_t few = 0;
    std::uint64_t many = 0;

    static_assert(kWeightTypes <= 64, "a bit for each");
    static constexpr std::uint64_t bit(WeightType type) { return std::uint64_t{1} << static_cast<unsigned>(type); }
    static constexpr ByteInputTypes all() {
        ByteInputTypes types;
        for (const FormatTraits& format : kFormats) {
            if (format.is_blocks()) types.few |= bit(format.type);
        }
        types.many = types.few;
        return types;
    }
    constexpr bool rounds_few(WeightType type) const { return (few & bit(type)) != 0; }
    constexpr bool rounds_many(WeightType type) const { return (many & bit(type)) != 0; }
    constexpr bool operator==(const ByteInputTypes& other) const { return few == other.few && many == other.many; }
};

}  // namespace offstage::kernels
