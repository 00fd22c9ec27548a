// The truth for the other instruction sets: the same templates with vectors of one float.

#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

using Vector = float;
constexpr int kLanes = 1;

inline Vector zero() {
    return 0.0f;
}
inline Vector broadcast(float value) {
    return value;
}
inline Vector add(Vector a, Vector b) {
    return a + b;
}
inline Vector subtract(Vector a, Vector b) {
    return a - b;
}
inline Vector multiply(Vector a, Vector b) {
    return a * b;
}
inline Vector maximum(Vector a, Vector b) {
    return a > b ? a : b;
}
inline Vector minimum(Vector a, Vector b) {
    return a < b ? a : b;
}
inline Vector load(const float* p) {
    return *p;
}
inline void store(float* p, Vector v) {
    *p = v;
}
// |v| < 2^22: there adding 1.5 * 2^23 leaves no room for a fraction.
inline Vector round_to_whole(Vector v) {
    return (v + hqq::kNoFraction) - hqq::kNoFraction;
}
inline float sum_of_lanes(Vector v) {
    return v;
}
inline float largest_lane(Vector v) {
    return v;
}
inline void transpose_words(Vector (&)[kLanes]) {}

}  // namespace
}  // namespace offstage::kernels

#include "kernels/cpu/quantize_simd.h"

namespace offstage::kernels {

namespace scalar {

float largest_weight(const float* row, std::int64_t n) {
    return largest_any(row, n);
}

double sum_of_squares(const float* row, std::int64_t n) {
    return sum_of_squares_any(row, n);
}

double pack_row(WeightType format, bool fit_zeros, const float* row, std::int64_t n_cols, float* scratch,
                std::byte* out) {
    return pack_row_any(format, fit_zeros, row, n_cols, scratch, out);
}

}  // namespace scalar

std::int64_t quantize_scratch_floats(WeightType format, std::int64_t n_cols) {
    return 2 * packed_row(format, n_cols).n_groups;
}

}  // namespace offstage::kernels
