// IQ4_NL's, IQ4_XS's and MXFP4's dot products with inputs of 8 bits (quantized_dots.h).

#include "kernels/cpu/quantized_dots_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

const QuantizedDots* dots_of_iq4_mxfp4(WeightType type) {
    return dots_of_file<DotsFile::kIq4Mxfp4>(type);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
