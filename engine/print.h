#pragma once

#include <string>

namespace offstage::engine {

// printf into a string of at most 1023 bytes.
[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...);

// To six decimals: the precision of shares in result files.
double rounded(double share);

}  // namespace offstage::engine
