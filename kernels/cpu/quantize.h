#pragma once
// The functions that fill the tables of kernels/quantize.h, with the signatures given there. Internal to kernels/.

#include <type_traits>

#include "kernels/quantize.h"

namespace offstage::kernels {

namespace scalar {
std::remove_pointer_t<decltype(QuantizeKernels::largest)> largest_weight;
std::remove_pointer_t<decltype(QuantizeKernels::sum_of_squares)> sum_of_squares;
std::remove_pointer_t<decltype(QuantizeKernels::pack_row)> pack_row;
}  // namespace scalar
namespace avx2 {
std::remove_pointer_t<decltype(QuantizeKernels::largest)> largest_weight;
std::remove_pointer_t<decltype(QuantizeKernels::sum_of_squares)> sum_of_squares;
std::remove_pointer_t<decltype(QuantizeKernels::pack_row)> pack_row;
}  // namespace avx2
namespace avx512 {
std::remove_pointer_t<decltype(QuantizeKernels::largest)> largest_weight;
std::remove_pointer_t<decltype(QuantizeKernels::sum_of_squares)> sum_of_squares;
std::remove_pointer_t<decltype(QuantizeKernels::pack_row)> pack_row;
}  // namespace avx512

}  // namespace offstage::kernels
