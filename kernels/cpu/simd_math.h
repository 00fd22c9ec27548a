// Functions on Vector that are the same for every instruction set. Included by
// simd_avx2.h and simd_avx512.h only; internal linkage, as there. Deliberately without an
// include guard: those headers have one.

namespace offstage::kernels {
namespace {

__attribute__((always_inline)) inline Vector load_some(const float* p, int n) {
    return n == kLanes ? load(p) : load_first(p, n);
}

__attribute__((always_inline)) inline void store_some(float* p, int n, Vector v) {
    if (n == kLanes) {
        store(p, v);
    } else {
        store_first(p, n, v);
    }
}

// e^x, within two units in the last place; 0 below -104, infinity above 88.8, NaN for
// NaN. x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts so that r is exact; e^r by
// its series to r^7 (rest < 6e-9).
__attribute__((always_inline)) inline Vector exponential(Vector x) {
    x = minimum(broadcast(89.0f), maximum(broadcast(-104.0f), x));
    const Vector n = round_to_whole(multiply(x, broadcast(1.44269504f)));
    Vector r = fma(n, broadcast(-0.693359375f), x);
    r = fma(n, broadcast(2.12194440e-4f), r);
    Vector series = broadcast(1.0f / 5040.0f);
    series = fma(series, r, broadcast(1.0f / 720.0f));
    series = fma(series, r, broadcast(1.0f / 120.0f));
    series = fma(series, r, broadcast(1.0f / 24.0f));
    series = fma(series, r, broadcast(1.0f / 6.0f));
    series = fma(series, r, broadcast(0.5f));
    series = fma(series, r, broadcast(1.0f));
    series = fma(series, r, broadcast(1.0f));
    return scale_by_power_of_two(series, n);
}

__attribute__((always_inline)) inline Vector silu(Vector x) {
    return divide(x, add(broadcast(1.0f), exponential(subtract(zero(), x))));
}

}  // namespace
}  // namespace offstage::kernels
