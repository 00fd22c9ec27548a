// The codebook formats', IQ1_S to IQ3_S, dot products with inputs of 8 bits
// (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_iq1_iq2_iq3(WeightType type) {
    using enum WeightType;
    return dots_among<kIq1S, kIq1M, kIq2Xxs, kIq2Xs, kIq2S, kIq3Xxs, kIq3S>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
