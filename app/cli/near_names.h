#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace offstage::cli {

// Those of `names` that `word` may have been meant for: begun alike, or a few letters
// apart. The nearest ones, at most three.
std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names);

}  // namespace offstage::cli
