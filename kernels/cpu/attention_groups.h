#pragma once
// Shared by attention and by what sizes its scratch.

namespace offstage::kernels {

inline constexpr int kGroupQueries = 6;  // queries that share a block of transposed keys
inline constexpr int kGroupHeads = 8;    // the same with keys as they lie: often all heads that share one of the cache
inline constexpr int kMostQueries = kGroupHeads > kGroupQueries ? kGroupHeads : kGroupQueries;

}  // namespace offstage::kernels
