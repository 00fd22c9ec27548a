#include "engine/statistics.h"

#include <algorithm>
#include <cmath>

namespace offstage::engine {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double percentile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    // So that 0.95 * 20 is 19 in spite of rounding.
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()) - 1e-9));
    return values[std::min(values.size(), std::max<std::size_t>(rank, 1)) - 1];
}

}  // namespace offstage::engine
