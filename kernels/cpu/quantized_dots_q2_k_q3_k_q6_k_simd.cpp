// Q2_K's, Q3_K's and Q6_K's dot products with inputs of 8 bits (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_q2_k_q3_k_q6_k(WeightType type) {
    return dots_of_file<DotsFile::kQ2KQ3KQ6K>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
