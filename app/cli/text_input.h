#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace offstage::cli {

// A text of at most 64 MiB. Throws Error (kNotFound, kInvalidModel).
std::string read_long_text(const std::string& path);
std::string read_standard_input();
// "a,b": a and b; an empty list is one empty name.
std::vector<std::string_view> split_list(std::string_view list);

}  // namespace offstage::cli
