#pragma once
// Rows of weights as GGUF's block formats have them: blocks of 32 or 256 weights, one
// after the other without gaps, at any address. Per block (little-endian; f16 d, m):
//
//   Q8_0    d | 32 signed bytes                             weight = d * code
//   Q4_0    d | 16 bytes: codes of weights i and i + 16     d * (code - 8)
//   Q4_1    d | m | as Q4_0                                 d * code + m
//   Q5_0/1  as Q4_0/1, with 32 fifth bits before the codes  d * (code - 16), d * code + m
//   IQ4_NL  as Q4_0, codes are places in a table            d * value
//   MXFP4   2^e in a byte | as Q4_0, of E2M1                2^e * value
//   Q2_K .. Q6_K, IQ4_XS
//           256 weights in groups of 16 or 32, whose scales (and minima) are whole
//           numbers of 4, 6 or 8 bits, times d (and dmin)
//   IQ1, IQ2, IQ3
//           256 weights; a code is the place of 8 or 4 of them in a codebook
//           (block_codebooks.h), with signs (IQ1: an eighth more or less) beside
// (GGUF's tensor types; kernels/block_parts.h says where each bit lies)

#include <cstddef>
#include <cstdint>

#include "kernels/formats.h"

namespace offstage::kernels {

// out[i] = weight begin + i of a row, for n weights of it: the reference for the tests of
// all products. Exactly d * code (+ m) in float32.
void unpack_blocks(WeightType type, const std::byte* row, std::int64_t begin, std::int64_t n, float* out);

}  // namespace offstage::kernels
