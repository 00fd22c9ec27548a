#include "kernels/cpu/packed_avx2.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/elementwise_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::avx2 {

void activate(const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n, float* out) {
    activate_values(spec, gate, up, n, out);
}

void axpy(float a, const float* x, std::int64_t n, float* y) {
    add_scaled(a, x, n, y);
}

void widen(const void* source, WeightType type, std::int64_t n, float* out) {
    widen_any(source, type, n, out);
}

void narrow_bf16(const float* source, std::int64_t n, Bf16* out) {
    narrow(source, n, out);
}

std::int64_t argmax(const float* x, std::int64_t n) {
    return first_largest(x, n);
}

}  // namespace offstage::kernels::avx2
