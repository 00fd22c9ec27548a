#pragma once
// binary16 for the tests' host layer: see cuda_runtime.h.

#include <cmath>
#include <cstdint>

#include "kernels/types.h"

struct __half {
    std::uint16_t bits;
};

inline __half __ushort_as_half(unsigned short bits) {
    return {bits};
}
inline unsigned short __half_as_ushort(__half value) {
    return value.bits;
}
inline float __half2float(__half value) {
    return offstage::kernels::to_float(offstage::kernels::F16{value.bits});
}
// To nearest, ties to even.
inline __half __float2half_rn(float value) {
    const std::uint32_t all = offstage::kernels::bits_of(value);
    const auto sign = static_cast<std::uint16_t>((all >> 16) & 0x8000u);
    const float magnitude = std::fabs(value);
    const auto with_sign = [&](std::uint32_t bits) { return __half{static_cast<std::uint16_t>(bits | sign)}; };
    if (std::isnan(value)) return with_sign(0x7fffu);
    if (magnitude >= 65520.0f) return with_sign(0x7c00u);
    if (magnitude < 0x1p-14f) return with_sign(static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24f)));
    const std::uint32_t bits = all & 0x7fffffffu;
    const std::uint32_t rounded = bits + 0xfffu + ((bits >> 13) & 1u);
    return with_sign((rounded >> 13) - (112u << 10));
}
