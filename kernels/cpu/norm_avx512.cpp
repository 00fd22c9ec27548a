#include "kernels/cpu/simd_avx512.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/norm_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::avx512 {

void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    rms_norm_row(x, weight, n, eps, out);
}

void layer_norm(const float* x, const float* weight, const float* bias, std::int64_t n, float eps, float* out) {
    layer_norm_row(x, weight, bias, n, eps, out);
}

}  // namespace offstage::kernels::avx512
