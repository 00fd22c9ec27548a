#pragma once

#include <cstdint>

namespace offstage::kernels {

// The format of cached keys and values. Attention computes in float32 for all of them.
enum class KvType : std::uint8_t {
    kF32,   // as computed
    kBf16,  // rounded to nearest even
    kInt8,  // codes -127 .. 127, a float32 scale for each kKvScaleGroup values of a row
};
inline constexpr int kKvTypes = 3;

}  // namespace offstage::kernels
