#include "kernels/cpu/operations.h"

namespace offstage::kernels::scalar {

void rope(float* head, const float* cos, const float* sin, std::int64_t dim) {
    const std::int64_t half = dim / 2;
    for (std::int64_t i = 0; i < half; ++i) {
        const float first = head[i];
        const float second = head[i + half];
        head[i] = first * cos[i] - second * sin[i];
        head[i + half] = second * cos[i] + first * sin[i];
    }
}

}  // namespace offstage::kernels::scalar
