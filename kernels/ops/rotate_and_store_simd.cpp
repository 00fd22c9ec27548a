#include "kernels/cpu/simd.h"
// The rest uses the names of the header above.
#include "kernels/cpu/operations.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void rope(float* head, const float* cos, const float* sin, std::int64_t dim) {
    const std::int64_t half = dim / 2;
    for (std::int64_t i = 0; i < half; i += kLanes) {
        const int n_lanes = half - i < kLanes ? static_cast<int>(half - i) : kLanes;
        const Vector first = load_some(head + i, n_lanes);
        const Vector second = load_some(head + i + half, n_lanes);
        const Vector c = load_some(cos + i, n_lanes);
        const Vector s = load_some(sin + i, n_lanes);
        store_some(head + i, n_lanes, subtract(multiply(first, c), multiply(second, s)));
        store_some(head + i + half, n_lanes, fma(first, s, multiply(second, c)));
    }
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
