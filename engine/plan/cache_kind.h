#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace offstage::engine {

// Rules by which experts keep their place on the device (engine/experts/cache_policy.h).
enum class CacheKind : std::uint8_t {
    kStatic,    // nothing moves
    kLruLayer,  // least recently used of the same layer: every layer keeps its number of slots
                // (Mixtral-Offloading, 3.1)
    kLru,       // least recently used of all layers
    kLfu,       // least frequently used, counts that halve
    // Segmented LRU: the hottest residents are protected. Of the others the least
    // recently used is evicted, or else the coldest; and only for an expert that is
    // hotter by a margin, so that a scan of experts called once evicts none.
    kSlru,
};
inline constexpr std::array kCacheKinds = {CacheKind::kStatic, CacheKind::kLruLayer, CacheKind::kLru, CacheKind::kLfu,
                                           CacheKind::kSlru};
std::string_view name_of(CacheKind kind);           // "static", "lru-layer", "lru", "lfu", "slru"
CacheKind parse_cache_kind(std::string_view name);  // throws Error (kInvalidInput), listing the names

}  // namespace offstage::engine
