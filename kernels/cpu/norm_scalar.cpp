#include <cmath>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    const float mean_square = dot(x, x, n) / static_cast<float>(n);
    const float factor = 1.0f / std::sqrt(mean_square + eps);
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * factor * (weight == nullptr ? 1.0f : weight[i]);
}

void layer_norm(const float* x, const float* weight, const float* bias, std::int64_t n, float eps, float* out) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += double{x[i]};
    const auto mean = static_cast<float>(sum / static_cast<double>(n));
    double squares = 0.0;
    for (std::int64_t i = 0; i < n; ++i) squares += double{x[i] - mean} * double{x[i] - mean};
    const float factor = 1.0f / std::sqrt(static_cast<float>(squares / static_cast<double>(n)) + eps);
    for (std::int64_t i = 0; i < n; ++i) {
        out[i] = (x[i] - mean) * factor * weight[i] + (bias == nullptr ? 0.0f : bias[i]);
    }
}

}  // namespace offstage::kernels::scalar
