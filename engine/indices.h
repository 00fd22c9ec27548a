#pragma once
// Strong types, so that a layer is never taken for an expert.

#include <compare>
#include <cstdint>

namespace offstage::engine {

template <typename Tag>
struct Index {
    std::int32_t value = 0;
    constexpr Index() = default;
    constexpr explicit Index(std::int32_t v) : value(v) {}
    constexpr auto operator<=>(const Index&) const = default;
};

using LayerIndex = Index<struct LayerTag>;
using ExpertIndex = Index<struct ExpertTag>;
using SlotIndex = Index<struct SlotTag>;

using TokenId = std::int32_t;

}  // namespace offstage::engine
