#pragma once
// Constants that the CPU's and the GPU's quantizers share, to make the same bytes (see
// kernels/quantize.h for the algorithm). C++17: device code includes it.

namespace offstage::kernels::hqq {

inline constexpr int kRounds = 20;
inline constexpr int kPatience = 3;  // rounds without a smaller error after which a group is done
inline constexpr float kFirstBeta = 10.0f;
inline constexpr float kBetaGrowth = 1.01f;
inline constexpr float kShrinkExponent = -0.3f;  // p - 1

// beta^(1 / (2 - p)) from above, linear over the rounds' 10 <= beta < 12.1: errors below
// its inverse shrink to zero.
inline constexpr float kShrunkBelow = 5.8781f;
inline constexpr float kShrunkBelowGrowth = 0.0771f;

// Groups far from zero are widened until |zero| <= kFarthestZero * (codes - 1). Otherwise
// one such group would stretch the range of the zeros of its whole super group.
inline constexpr float kFarthestZero = 4.0f;
inline constexpr float kSmallestWeight = 1e-30f;  // groups below it are zero: 1 / scale must stay finite

// 1.5 * 2^23: adding and subtracting it rounds |x| < 2^22 to whole numbers, to even on a
// tie.
inline constexpr float kNoFraction = 12582912.0f;

}  // namespace offstage::kernels::hqq
