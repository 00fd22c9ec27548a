#include "kernels/cpu/simd_avx512.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/operations.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels::avx512 {

void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    const float* const rows[1] = {x};
    float squares[1][1];
    dot_products<1, 1>(rows, rows, x, 0, n, squares);
    float factors[kLanes];
    store(factors, divide(broadcast(1.0f), square_root(broadcast(squares[0][0] / static_cast<float>(n) + eps))));
    const Vector factor = load(factors);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        store(out + i, multiply(multiply(load(x + i), factor), load(weight + i)));
    }
    if (i < n) {
        const int n_last = static_cast<int>(n - i);
        const Vector scaled = multiply(load_first(x + i, n_last), factor);
        store_first(out + i, n_last, multiply(scaled, load_first(weight + i, n_last)));
    }
}

}  // namespace offstage::kernels::avx512
