#pragma once

#include <vector>

namespace offstage::engine {

double median(std::vector<double> values);  // 0 for none
// The smallest value such that at least this share (0 .. 1) of the values is not above
// it: nearest rank. 0 for no values.
double percentile(std::vector<double> values, double share);

}  // namespace offstage::engine
