#pragma once
// Scales and zeros of groups, over Vector. Included only by quantize_simd.h, after
// simd_avx2.h, simd_avx512.h or the scalar replacement of quantize_scalar.cpp.

#include <algorithm>
#include <cmath>

#include "kernels/packed.h"
#include "kernels/quantize_constants.h"

namespace offstage::kernels {
namespace {

using namespace hqq;

// To the nearest whole number, even on a tie, of |x| < 2^22.
__attribute__((always_inline)) inline float whole(float x) {
    return (x + kNoFraction) - kNoFraction;
}

__attribute__((always_inline)) inline Vector magnitude(Vector v) {
    return maximum(v, subtract(zero(), v));
}

__attribute__((always_inline)) inline Vector clamped_code(Vector v, Vector largest_code) {
    return round_to_whole(minimum(maximum(v, zero()), largest_code));
}

// x^-0.3 for normal x > 0, within 2e-6; large for 0. log2 by the series of the area
// hyperbolic tangent on [sqrt(1/2), sqrt(2)] (rest < 1e-9), 2^f by its series to f^6
// (rest < 2e-7).
inline float shrink_power(float x) {
    std::uint32_t bits = bits_of(x);
    const std::uint32_t shifted = bits - 0x3f3504f3u;  // the bits of sqrt(1/2): exponents change there
    const auto exponent = static_cast<std::int32_t>(shifted) >> 23;
    bits -= static_cast<std::uint32_t>(exponent) << 23;
    const float m = float_of_bits(bits);
    const float s = (m - 1.0f) / (m + 1.0f);
    const float s2 = s * s;
    const float log2 =
        2.88539008f * s * (1.0f + s2 * (1.0f / 3.0f + s2 * (1.0f / 5.0f + s2 * (1.0f / 7.0f + s2 * (1.0f / 9.0f)))));
    const float y = kShrinkExponent * (static_cast<float>(exponent) + log2);
    const float n = whole(y);
    const float f = (y - n) * 0.693147181f;
    const float power =
        1.0f +
        f * (1.0f + f * (0.5f + f * (1.0f / 6.0f + f * (1.0f / 24.0f + f * (1.0f / 120.0f + f * (1.0f / 720.0f))))));
    return power * float_of_bits(static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23);
}

// kLanes groups side by side: lane l of every vector belongs to group l, so no sum
// crosses lanes and the result does not depend on the number of lanes.
template <int kGroup>
struct GroupBatch {
    alignas(64) float t[kGroup][kLanes];  // weight / scale

    // Groups first .. first + n - 1 of the row; lanes without a group are zero.
    __attribute__((always_inline)) inline void load_groups(const float* row, std::int64_t first, int n) {
        for (int k = 0; k < kGroup; k += kLanes) {
            Vector v[kLanes];
            for (int l = 0; l < kLanes; ++l) v[l] = l < n ? load(row + (first + l) * kGroup + k) : zero();
            transpose_words(v);
            for (int l = 0; l < kLanes; ++l) store(t[k + l], v[l]);
        }
    }

    // Scale and zero of round to nearest; then t becomes weight / scale.
    __attribute__((always_inline)) inline void from_range(float largest_code, float* scale, float* zero_point) {
        Vector smallest = load(t[0]);
        Vector largest = smallest;
        for (int k = 1; k < kGroup; ++k) {
            smallest = minimum(load(t[k]), smallest);
            largest = maximum(load(t[k]), largest);
        }
        alignas(64) float low[kLanes];
        alignas(64) float high[kLanes];
        alignas(64) float inverse[kLanes];
        store(low, smallest);
        store(high, largest);
        for (int l = 0; l < kLanes; ++l) {
            const float farthest = std::max(std::fabs(low[l]), std::fabs(high[l]));
            const float range = std::max(high[l] - low[l], farthest * (1.0f / kFarthestZero));
            const bool is_zero = farthest < kSmallestWeight;
            scale[l] = is_zero ? 0.0f : range / largest_code;
            inverse[l] = is_zero ? 0.0f : largest_code / range;
            zero_point[l] = is_zero ? 0.0f : -low[l] * inverse[l];
        }
        const Vector factor = load(inverse);
        for (int k = 0; k < kGroup; ++k) store(t[k], multiply(load(t[k]), factor));
    }

    // HQQ's rounds, in units of the scale: the error is t + z - Q, and z = mean(Q - t + E
    // / s).
    __attribute__((always_inline)) inline void fit_zeros(float largest_code, const float* scale, float* zero_point) {
        const Vector top = broadcast(largest_code);
        alignas(64) float z[kLanes];
        alignas(64) float best[kLanes];
        alignas(64) float sum_t[kLanes];
        alignas(64) std::int32_t stalled[kLanes];
        Vector sum = zero();
        for (int k = 0; k < kGroup; ++k) sum = add(sum, load(t[k]));
        store(sum_t, sum);
        for (int l = 0; l < kLanes; ++l) {
            z[l] = zero_point[l];
            best[l] = INFINITY;
            stalled[l] = 0;
        }
        float beta = kFirstBeta;
        for (int round = 0; round < kRounds; ++round, beta *= kBetaGrowth) {
            const Vector zs = load(z);
            Vector error = zero();
            Vector worst = zero();
            Vector codes = zero();
            for (int k = 0; k < kGroup; ++k) {
                const Vector value = add(load(t[k]), zs);
                const Vector code = clamped_code(value, top);
                const Vector e = magnitude(subtract(value, code));
                error = add(error, e);
                worst = maximum(e, worst);
                codes = add(codes, code);
            }
            alignas(64) float errors[kLanes];
            alignas(64) float worsts[kLanes];
            alignas(64) float sums[kLanes];
            store(errors, error);
            store(worsts, worst);
            store(sums, codes);
            int going = 0;
            float largest_error = 0.0f;
            for (int l = 0; l < kLanes; ++l) {
                const bool better = errors[l] < best[l] && stalled[l] < kPatience;
                best[l] = better ? errors[l] : best[l];
                zero_point[l] = better ? z[l] : zero_point[l];
                stalled[l] = better ? 0 : stalled[l] + 1;
                going += stalled[l] < kPatience ? 1 : 0;
                largest_error = std::max(largest_error, worsts[l] * scale[l]);
            }
            if (going == 0) return;
            // |x| <= |x|^(p-1) / beta wherever |x| <= beta^(-1 / (2 - p)): then E is zero
            // everywhere.
            const bool shrinks_to_zero = largest_error * shrunk_below(beta) <= 1.0f;
            if (!shrinks_to_zero) add_errors(largest_code, scale, z, beta, sums);
            for (int l = 0; l < kLanes; ++l) z[l] = (sums[l] - sum_t[l]) * (1.0f / static_cast<float>(kGroup));
        }
    }

    static float shrunk_below(float beta) { return kShrunkBelow * (1.0f + (beta - kFirstBeta) * kShrunkBelowGrowth); }

    // sums[l] += sum of E / s.
    void add_errors(float largest_code, const float* scale, const float* z, float beta, float* sums) const {
        const float weight = 1.0f / beta;
        for (int k = 0; k < kGroup; ++k) {
            for (int l = 0; l < kLanes; ++l) {
                const float value = t[k][l] + z[l];
                const float code = whole(std::min(std::max(value, 0.0f), largest_code));
                const float x = std::fabs(value - code) * scale[l];
                const float shrunk = std::max(0.0f, x - weight * shrink_power(std::max(x, kSmallestWeight)));
                const float part = scale[l] > 0.0f ? shrunk / scale[l] : 0.0f;
                sums[l] += value < code ? -part : part;
            }
        }
    }
};

// A super group's scale and zero of one group in few bits, chosen together: the codes
// next to the fitted scale, with for each the zeros next to the one that leaves the group
// in place, are tried, and the pair of the smallest sum of squares wins. With 16 steps,
// rounding each alone loses several percent.
struct MetaChoice {
    int scale_code[kLanes];
    int zero_code[kLanes];
};

// batch: the groups' weights, not divided. reach: the number of steps that are tried in
// both directions. scale, zeros: in: as fitted; out: as they are read back.
template <int kGroup>
void choose_meta(const GroupBatch<kGroup>& batch, const PackedSuper& super, float top, float largest_code, int reach,
                 float* scale, float* zeros, MetaChoice& choice) {
    alignas(64) float best[kLanes];
    alignas(64) float chosen_scale[kLanes] = {};
    alignas(64) float chosen_zero[kLanes] = {};
    for (int l = 0; l < kLanes; ++l) best[l] = INFINITY;
    const float scale_unit = super.scale_step > 0.0f ? 1.0f / super.scale_step : 0.0f;
    const float zero_unit = super.zero_step > 0.0f ? 1.0f / super.zero_step : 0.0f;
    const auto nearest = [top](float code) { return whole(std::min(std::max(code, 0.0f), top)); };
    for (int ds = -reach; ds <= reach; ++ds) {
        alignas(64) float s_code[kLanes];
        alignas(64) float s[kLanes];
        alignas(64) float inverse[kLanes];
        alignas(64) float z_middle[kLanes];
        for (int l = 0; l < kLanes; ++l) {
            const float middle = nearest((scale[l] - super.scale_offset) * scale_unit);
            s_code[l] = std::min(std::max(middle + static_cast<float>(ds), 0.0f), top);
            s[l] = super.scale_offset + super.scale_step * s_code[l];
            inverse[l] = s[l] > kSmallestWeight ? 1.0f / s[l] : 0.0f;
            const float z = inverse[l] > 0.0f ? zeros[l] * (scale[l] * inverse[l]) : zeros[l];
            z_middle[l] = nearest((z - super.zero_offset) * zero_unit);
        }
        for (int dz = -reach; dz <= reach; ++dz) {
            alignas(64) float z_code[kLanes];
            alignas(64) float z[kLanes];
            for (int l = 0; l < kLanes; ++l) {
                z_code[l] = std::min(std::max(z_middle[l] + static_cast<float>(dz), 0.0f), top);
                z[l] = super.zero_offset + super.zero_step * z_code[l];
            }
            const Vector vs = load(s);
            const Vector vi = load(inverse);
            const Vector vz = load(z);
            const Vector vt = broadcast(largest_code);
            Vector sum = zero();
            for (int k = 0; k < kGroup; ++k) {
                const Vector weight = load(batch.t[k]);
                const Vector code = clamped_code(add(multiply(weight, vi), vz), vt);
                const Vector error = subtract(weight, multiply(vs, subtract(code, vz)));
                sum = add(sum, multiply(error, error));
            }
            alignas(64) float errors[kLanes];
            store(errors, sum);
            for (int l = 0; l < kLanes; ++l) {
                const bool better = errors[l] < best[l];
                best[l] = better ? errors[l] : best[l];
                choice.scale_code[l] = better ? static_cast<int>(s_code[l]) : choice.scale_code[l];
                choice.zero_code[l] = better ? static_cast<int>(z_code[l]) : choice.zero_code[l];
                chosen_scale[l] = better ? s[l] : chosen_scale[l];
                chosen_zero[l] = better ? z[l] : chosen_zero[l];
            }
        }
    }
    for (int l = 0; l < kLanes; ++l) {
        scale[l] = chosen_scale[l];
        zeros[l] = chosen_zero[l];
    }
}

}  // namespace
}  // namespace offstage::kernels
