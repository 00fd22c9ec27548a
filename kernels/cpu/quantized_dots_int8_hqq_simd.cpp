// Our own formats' (INT8, HQQ) dot products with inputs of 8 bits (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_int8_hqq(WeightType type) {
    using enum WeightType;
    return dots_among<kInt8, kHqq4, kHqq3, kHqq2>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
