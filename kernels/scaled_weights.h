#pragma once
// Weights times a number, in the format that they have, and the rounding to binary16 that
// it takes.

#include <cstddef>
#include <cstdint>

#include "kernels/formats.h"

namespace offstage::kernels {

// The nearest binary16 number, the even one of two; infinity from 65520 on.
unsigned half_bits(float value);

// Multiplies the n weights of a row, of a plain type or in whole blocks. Plain weights
// are rounded to their type; of blocks only the binary16 scales (and minima) change,
// rounded to nearest. Precondition: not kMxfp4, whose scales are powers of two.
void multiply_weights(WeightType type, std::byte* row, std::int64_t n, float factor);

}  // namespace offstage::kernels
