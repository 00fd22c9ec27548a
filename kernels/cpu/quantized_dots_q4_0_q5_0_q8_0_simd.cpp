// Q4_0's, Q4_1's, Q5_0's, Q5_1's and Q8_0's dot products with inputs of 8 bits
// (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_q4_0_q5_0_q8_0(WeightType type) {
    return dots_of_file<DotsFile::kQ4_0Q5_0Q8_0>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
