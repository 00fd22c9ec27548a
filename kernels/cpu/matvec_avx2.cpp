#include "kernels/cpu/packed_avx2.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/matvec_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::avx2 {

void matvec(const WeightView& weight, const float* x, std::int64_t row_begin, std::int64_t row_end, float* y) {
    multiply_any(weight, x, 0, 1, row_begin, row_end, y, 0);
}

void matvec_multi(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    multiply_any(weight, x, x_stride, n_tokens, row_begin, row_end, y, y_stride);
}

}  // namespace offstage::kernels::avx2
