#pragma once
// Weights times a number, in the format that they have.

#include <cstddef>
#include <cstdint>

#include "kernels/formats.h"

namespace offstage::kernels {

// Multiplies the n weights of a row, of a plain type or in whole blocks. Plain weights
// are rounded to their type; of blocks only the binary16 scales (and minima) change,
// rounded to nearest. Precondition: not kMxfp4, whose scales are powers of two.
void multiply_weights(WeightType type, std::byte* row, std::int64_t n, float factor);

}  // namespace offstage::kernels
