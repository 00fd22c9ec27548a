// Our own formats' (INT8, HQQ) dot products with inputs of 8 bits (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_int8_hqq(WeightType type) {
    return dots_of_file<DotsFile::kInt8Hqq>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
