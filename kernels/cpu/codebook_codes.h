#pragma once
// Codes of blocks whose weights are points of a codebook (IQ1, IQ2, IQ3), unpacked for
// products with inputs of 8 bits.

#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels {

// Codes of n_blocks blocks of a type with a codebook that follow each other, as
// read_points() has them: (n_blocks, 256).
using CodebookCodes = void (*)(WeightType type, const std::uint8_t* blocks, std::int64_t n_blocks, std::int8_t* codes);

namespace scalar {
void codebook_codes(WeightType type, const std::uint8_t* blocks, std::int64_t n_blocks, std::int8_t* codes);
}
namespace avx512_vbmi {
void codebook_codes(WeightType type, const std::uint8_t* blocks, std::int64_t n_blocks, std::int8_t* codes);
}

// The fastest of these that this processor can run; any thread.
CodebookCodes fastest_codebook_codes();

}  // namespace offstage::kernels
