#pragma once
// The tables that pair_products() returns (kernels/bf16_products.h), for the sets that
// have them. Internal to kernels/.

#include "kernels/bf16_products.h"

namespace offstage::kernels::avx512_bf16 {

extern const PairProducts kPairProducts;

}  // namespace offstage::kernels::avx512_bf16
