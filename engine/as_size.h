#pragma once

#include <cstddef>
#include <cstdint>

namespace offstage::engine {

// Converts a count or index that cannot be negative to the type of the standard library's
// containers.
constexpr std::size_t as_size(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

}  // namespace offstage::engine
