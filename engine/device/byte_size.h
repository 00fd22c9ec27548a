#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace offstage::engine {

// The number of bytes of a unit of memory, in upper or lower case: "", "B" -> 1; "K",
// "KiB" -> 1024, "M", "MiB", ... "T", "TiB"; "KB" -> 1000, "MB", "GB", "TB". Nothing for
// other words.
std::optional<std::uint64_t> unit_bytes(std::string_view unit);

// "6GiB", "512 mib", "1.5G", "8 GB", "1000000", "1000000B" -> bytes. Throws Error
// (kInvalidInput) naming `what` and the text.
std::uint64_t parse_bytes(const std::string& text, const std::string& what);

}  // namespace offstage::engine
