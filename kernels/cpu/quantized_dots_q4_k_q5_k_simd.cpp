// Q4_K's and Q5_K's dot products with inputs of 8 bits (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_q4_k_q5_k(WeightType type) {
    return dots_of_file<DotsFile::kQ4KQ5K>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
