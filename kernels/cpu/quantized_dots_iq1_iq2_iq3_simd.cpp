// The codebook formats', IQ1_S to IQ3_S, dot products with inputs of 8 bits
// (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_iq1_iq2_iq3(WeightType type) {
    return dots_of_file<DotsFile::kIq1Iq2Iq3>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
