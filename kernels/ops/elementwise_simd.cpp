// The elementwise operations over Vector.

#include <cmath>

#include "kernels/cpu/activation_simd.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/packed_simd.h"

namespace offstage::kernels {
namespace {

// With a theta.
void activate_some(const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n, float* out) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        float gates[kLanes];
        float ups[kLanes];
        store(gates, activated(spec, load_some(gate + i, n_lanes)));
        store(ups, up_factor(spec, load_some(up + i, n_lanes)));
        for (int lane = 0; lane < n_lanes; ++lane) {
            out[i + lane] = is_left_out(gates[lane], spec.theta) ? 0.0f : gates[lane] * ups[lane];
        }
    }
}

void activate_values(const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n, float* out) {
    if (spec.theta > 0) return activate_some(spec, gate, up, n, out);
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        store_some(out + i, n_lanes, activation(spec, load_some(gate + i, n_lanes), load_some(up + i, n_lanes)));
    }
}

void add_scaled(float a, const float* x, std::int64_t n, float* y) {
    const Vector factor = broadcast(a);
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        store_some(y + i, n_lanes, fma(factor, load_some(x + i, n_lanes), load_some(y + i, n_lanes)));
    }
}

// tanh(z) = 1 - 2 / (1 + e^(2 z)).
void cap_values(float limit, std::int64_t n, float* x) {
    const Vector factor = broadcast(2.0f / limit);
    const Vector one = broadcast(1.0f);
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        const Vector power = exponential(multiply(load_some(x + i, n_lanes), factor));
        const Vector tangent = subtract(one, divide(broadcast(2.0f), add(one, power)));
        store_some(x + i, n_lanes, multiply(broadcast(limit), tangent));
    }
}

void widen_any(const void* source, WeightType type, std::int64_t n, float* out) {
    with_rows(source, type, n, row_bytes(type, n), [&](auto rows) {
        if constexpr (decltype(rows)::kPacked) {
            unpack(rows[0], 0, n, out);
        } else {
            widen_weights(rows[0], n, out);
        }
    });
}

void narrow(const float* source, std::int64_t n, Bf16* out) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store_bf16(out + i, load(source + i));
    if (i < n) store_first_bf16(out + i, static_cast<int>(n - i), load_first(source + i, static_cast<int>(n - i)));
}

// First the largest value, then where it is: the second pass stops early and both are
// plain streams.
std::int64_t first_largest(const float* x, std::int64_t n) {
    Vector largest_lanes = broadcast(-INFINITY);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) largest_lanes = maximum(load(x + i), largest_lanes);
    float largest = largest_lane(largest_lanes);
    for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    if (largest == -INFINITY) return 0;
    for (i = 0; x[i] != largest;) ++i;
    return i;
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void activate(const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n, float* out) {
    activate_values(spec, gate, up, n, out);
}

void axpy(float a, const float* x, std::int64_t n, float* y) {
    add_scaled(a, x, n, y);
}

void soft_cap(float limit, std::int64_t n, float* x) {
    cap_values(limit, n, x);
}

void widen(const void* source, WeightType type, std::int64_t n, float* out) {
    widen_any(source, type, n, out);
}

void narrow_bf16(const float* source, std::int64_t n, Bf16* out) {
    narrow(source, n, out);
}

std::int64_t argmax(const float* x, std::int64_t n) {
    return first_largest(x, n);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
