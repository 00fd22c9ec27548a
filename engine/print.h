#pragma once

#include <string>

namespace offstage::engine {

// printf into a string of at most 1023 bytes.
[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...);

// To six decimals: what a share keeps in a file of results.
double rounded(double share);

}  // namespace offstage::engine
