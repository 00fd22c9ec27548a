#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace offstage::engine {

// Speculative loading: copying experts that the next layer is likely to want.
enum class PrefetchMode : std::uint8_t {
    kOff,
    kAuto,    // where copy engine and memory have slack, as long as live tokens show a gain
    kAlways,  // whatever it costs: for measuring
};
std::string_view name_of(PrefetchMode mode);         // "off", "auto", "always"
PrefetchMode parse_prefetch(std::string_view name);  // throws Error (kInvalidInput), listing the names

}  // namespace offstage::engine
