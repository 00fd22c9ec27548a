#pragma once

#include <cstdint>

namespace offstage::engine {

// The alignment of an Arena's blocks.
inline constexpr std::uint64_t kBlockAlignment = 256;

// What an Arena counts for a block of so many bytes.
constexpr std::uint64_t counted_bytes(std::uint64_t bytes) {
    // The largest multiple of the alignment for what could not be rounded up.
    constexpr std::uint64_t kLargest = ~std::uint64_t{0} / kBlockAlignment * kBlockAlignment;
    return bytes > kLargest ? kLargest : (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

}  // namespace offstage::engine
