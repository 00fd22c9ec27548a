#pragma once
// The tables that pair_products() and widened_products() return
// (kernels/bf16_products.h), for the sets that have them. Internal to kernels/.

#include "kernels/bf16_products.h"

namespace offstage::kernels {

namespace avx512_bf16 {
extern const PairProducts kPairProducts;
}
namespace avx2 {
extern const WidenedProducts kWidenedProducts;
}

}  // namespace offstage::kernels
