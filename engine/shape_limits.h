#pragma once
// Upper limits of a model's shape, as its files may name it: far above any model, and far
// below where a product of two of them would overflow.

#include <cstdint>

namespace offstage::engine {

inline constexpr std::int64_t kMostLayers = 512;
inline constexpr std::int64_t kMostExperts = 2048;         // one layer's
inline constexpr std::int64_t kMostExpertsInAll = 131072;  // over all layers: several times that of any known model
inline constexpr std::int64_t kMostHeadDim = 2048;
inline constexpr std::int64_t kLongestContext = 2147483647;  // tokens

}  // namespace offstage::engine
