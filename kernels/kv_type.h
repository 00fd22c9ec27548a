#pragma once

#include <cstdint>

namespace offstage::kernels {

// What cached keys and values are kept in. Attention computes in float32 whatever it is.
enum class KvType : std::uint8_t {
    kF32,   // as computed
    kBf16,  // rounded to nearest even
    kInt8,  // codes -127 .. 127, a float32 scale for each kKvScaleGroup values of a row
};
inline constexpr int kKvTypes = 3;

}  // namespace offstage::kernels
