#pragma once
// Upper limits of a model's shape, as its files may name it: far above any model, and far
// below where a product of two of them would overflow.

#include <cstdint>

namespace offstage::engine {

inline constexpr std::int64_t kMostLayers = 4096;
inline constexpr std::int64_t kMostExperts = 65536;          // of one layer
inline constexpr std::int64_t kLongestContext = 2147483647;  // tokens

}  // namespace offstage::engine
