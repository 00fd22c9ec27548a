#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace offstage::engine {

// The whole file, or nothing if it does not exist. Throws Error if it cannot be read or
// is larger than `max_bytes`.
std::optional<std::string> read_small_file(const std::filesystem::path& path, std::size_t max_bytes);

// A JSON object from a file of at most 64 MiB, or nothing if it does not exist. Throws
// Error naming the file.
std::optional<nlohmann::json> read_json_object(const std::filesystem::path& path);

// A path for display, in UTF-8.
std::string shown_path(const std::filesystem::path& path);

}  // namespace offstage::engine
