#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void matvec(const WeightView& weight, const float* x, std::int64_t row_begin, std::int64_t row_end, float* y) {
    for (std::int64_t r = row_begin; r < row_end; ++r) y[r] = dot(weight.row(r), weight.type, x, weight.n_cols);
}

void matvec_multi(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    for (std::int64_t r = row_begin; r < row_end; ++r) {
        for (int t = 0; t < n_tokens; ++t) {
            y[t * y_stride + r] = dot(weight.row(r), weight.type, x + t * x_stride, weight.n_cols);
        }
    }
}

}  // namespace offstage::kernels::scalar
