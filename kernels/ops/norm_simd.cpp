// The norms over Vector.

#include "kernels/cpu/operations.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {
namespace {

// 1 / sqrt(mean + eps), in all lanes.
Vector norm_factor(float mean, float eps) {
    float factors[kLanes];
    store(factors, divide(broadcast(1.0f), square_root(broadcast(mean + eps))));
    return load(factors);
}

void rms_norm_row(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    const float* const rows[1] = {x};
    float squares[1][1];
    dot_products<1, 1>(rows, rows, x, 0, n, squares);
    const Vector factor = norm_factor(squares[0][0] / static_cast<float>(n), eps);
    if (weight == nullptr) {
        for (std::int64_t i = 0; i < n; i += kLanes) {
            const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
            store_some(out + i, n_lanes, multiply(load_some(x + i, n_lanes), factor));
        }
        return;
    }
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        store(out + i, multiply(multiply(load(x + i), factor), load(weight + i)));
    }
    if (i < n) {
        const int n_last = static_cast<int>(n - i);
        const Vector scaled = multiply(load_first(x + i, n_last), factor);
        store_first(out + i, n_last, multiply(scaled, load_first(weight + i, n_last)));
    }
}

void layer_norm_row(const float* x, const float* weight, const float* bias, std::int64_t n, float eps, float* out) {
    const std::int64_t n_whole = n / kLanes * kLanes;
    const int n_last = static_cast<int>(n - n_whole);
    Vector sum = zero();
    for (std::int64_t i = 0; i < n_whole; i += kLanes) sum = add(sum, load(x + i));
    if (n_last > 0) sum = add(sum, load_first(x + n_whole, n_last));
    const float mean = sum_of_lanes(sum) / static_cast<float>(n);

    const Vector means = broadcast(mean);
    Vector squares = zero();
    for (std::int64_t i = 0; i < n_whole; i += kLanes) {
        const Vector distance = subtract(load(x + i), means);
        squares = fma(distance, distance, squares);
    }
    if (n_last > 0) {  // the lanes beyond the end become 0
        static constexpr float kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        const Vector distance = multiply(subtract(load_first(x + n_whole, n_last), means), load_first(kOnes, n_last));
        squares = fma(distance, distance, squares);
    }
    const Vector factor = norm_factor(sum_of_lanes(squares) / static_cast<float>(n), eps);
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? n_last : kLanes;
        const Vector scaled = multiply(subtract(load_some(x + i, n_lanes), means), factor);
        const Vector offset = bias == nullptr ? zero() : load_some(bias + i, n_lanes);
        store_some(out + i, n_lanes, fma(scaled, load_some(weight + i, n_lanes), offset));
    }
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    rms_norm_row(x, weight, n, eps, out);
}

void layer_norm(const float* x, const float* weight, const float* bias, std::int64_t n, float eps, float* out) {
    layer_norm_row(x, weight, bias, n, eps, out);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
