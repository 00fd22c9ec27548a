#pragma once
// Rows of float32 weights into the packed rows of kernels/packed.h.
//
// HQQ (half-quadratic quantization; H. Badri, A. Shaji, "Half-Quadratic Quantization of Large Machine Learning Models",
// Mobius Labs 2023) looks for the zero point z that makes the error W - s (Q - z) sparse, the scale s being fixed by
// the group's smallest and largest weight. Half-quadratic splitting, at most 20 rounds, beta = 10 * 1.01^round:
//   Q = clamp(round(W / s + z))        E = shrink(W - s (Q - z)), shrink(x) = sign(x) max(0, |x| - |x|^(p-1) / beta)
//   z = mean over the group of Q - (W - E) / s                                                            p = 0.7
// Each group keeps the z of its smallest mean |W - s (Q - z)|; groups that are worked on together end when that falls
// in none of them. Then scales and zeros are quantized by super group - HQQ2's, in 16 steps, to those neighbours that
// leave the smallest error - and Q is rounded again with the scales and zeros that reading will find.

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

    // Packs one row; returns the sum of (w - q(w))^2, q(w) as unpack_row() reads it. format: packed; n_cols a multiple
    // of kPackedBlock; |weights| <= kLargestPackedWeight. fit_zeros: HQQ; else each group keeps the zero of its
    // smallest weight (round to nearest). No meaning for INT8. scratch: quantize_scratch_floats(). The bytes are the
    // same on every instruction set; the sum differs by rounding alone. One thread.
    double (*pack_row)(WeightType format, bool fit_zeros, const float* row, std::int64_t n_cols, float* scratch,
                       std::byte* out);
};

std::int64_t quantize_scratch_floats(WeightType format, std::int64_t n_cols);

const QuantizeKernels& quantize_kernels(InstructionSet set);  // precondition: available

}  // namespace offstage::kernels
