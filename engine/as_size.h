#pragma once

#include <cstddef>
#include <cstdint>

namespace offstage::engine {

// A count or index that is known not to be negative, as the standard library's containers want it.
constexpr std::size_t as_size(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

}  // namespace offstage::engine
