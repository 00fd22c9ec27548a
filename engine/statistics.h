#pragma once

#include <vector>

namespace offstage::engine {

double median(std::vector<double> values);  // 0 for none
// The smallest value that at least this share (0 .. 1) of the values does not pass: nearest rank. 0 for none.
double percentile(std::vector<double> values, double share);

}  // namespace offstage::engine
