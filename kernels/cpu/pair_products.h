#pragma once
// What pair_products() returns (kernels/bf16_products.h), of the sets that have it. Internal to kernels/.

#include "kernels/bf16_products.h"

namespace offstage::kernels::avx512_bf16 {

extern const PairProducts kPairProducts;

}  // namespace offstage::kernels::avx512_bf16
