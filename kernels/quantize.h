#pragma once
// Packs rows of float32 weights into the rows of kernels/packed.h.
//
// HQQ (half-quadratic quantization; H. Badri, A. Shaji, "Half-Quadratic Quantization of
// Large Machine Learning Models", Mobius Labs 2023) searches for the zero point z that
// makes the error W - s (Q - z) sparse. The group's smallest and largest weight fix the
// scale s. Half-quadratic splitting, at most 20 rounds, beta = 10 * 1.01^round, p = 0.7:
//   Q = clamp(round(W / s + z))
//   E = shrink(W - s (Q - z)), shrink(x) = sign(x) max(0, |x| - |x|^(p-1) / beta)
//   z = mean over the group of Q - (W - E) / s
// Each group keeps the z with its smallest mean |W - s (Q - z)|. Groups that are
// processed together end when that mean falls in none of them. Then scales and zeros are
// quantized by super group; those of HQQ2 have 16 steps and take the neighbours with the
// smallest error. Q is rounded again with the scales and zeros that are read back.

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_kernels.h"
#include "kernels/quantize_constants.h"
#include "kernels/types.h"

namespace offstage::kernels {

// Larger weights make no packed row: sums of their squares would leave float32.
inline constexpr float kLargestPackedWeight = 1e15f;

struct QuantizeKernels {
    // The largest |row[i]|; NaN where any is NaN. One pass.
    float (*largest)(const float* row, std::int64_t n);

    // Summed in double.
    double (*sum_of_squares)(const float* row, std::int64_t n);

    // Packs one row; returns the sum of (w - q(w))^2, q(w) as unpack_row() reads it.
    // format: packed; n_cols a multiple of kPackedBlock; |weights| <=
    // kLargestPackedWeight. fit_zeros: HQQ; without it each group keeps the zero of its
    // smallest weight (round to nearest). INT8 ignores it. scratch:
    // quantize_scratch_floats(). The bytes are the same on every instruction set; the sum
    // differs only by rounding. One thread.
    double (*pack_row)(WeightType format, bool fit_zeros, const float* row, std::int64_t n_cols, float* scratch,
                       std::byte* out);
};

std::int64_t quantize_scratch_floats(WeightType format, std::int64_t n_cols);

const QuantizeKernels& quantize_kernels(InstructionSet set);  // precondition: available

}  // namespace offstage::kernels
