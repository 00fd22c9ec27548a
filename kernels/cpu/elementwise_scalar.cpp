#include <limits>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

float gelu(float x) {
    return 0.5f * x * (1.0f + std::erf(x * 0.707106781f));
}

void activate(const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n, float* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = activation(spec, gate[i], up[i]);
}

void axpy(float a, const float* x, std::int64_t n, float* y) {
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

void soft_cap(float limit, std::int64_t n, float* x) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = limit * std::tanh(x[i] / limit);
}

void widen(const void* source, WeightType type, std::int64_t n, float* out) {
    read_weights(static_cast<const std::byte*>(source), type, n, 0, n, out);
}

void narrow_bf16(const float* source, std::int64_t n, Bf16* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = to_bf16(source[i]);
}

std::int64_t argmax(const float* x, std::int64_t n) {
    float largest = -std::numeric_limits<float>::infinity();
    std::int64_t index = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (x[i] > largest) {
            largest = x[i];
            index = i;
        }
    }
    return index;
}

}  // namespace offstage::kernels::scalar
