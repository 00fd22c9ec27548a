#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace offstage::engine {

// Writes a whole small file or leaves what was there: a temporary file beside it, synced, then renamed. Folders that
// are missing are made. Returns the reason when it could not, for the log; empty: done. Throws nothing but
// std::bad_alloc.
std::string write_file_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace offstage::engine
