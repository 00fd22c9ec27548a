#include <cmath>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    const float mean_square = dot(x, x, n) / static_cast<float>(n);
    const float factor = 1.0f / std::sqrt(mean_square + eps);
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * factor * weight[i];
}

}  // namespace offstage::kernels::scalar
