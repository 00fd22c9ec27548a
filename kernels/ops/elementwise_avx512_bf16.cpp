#include "kernels/cpu/simd_avx512.h"
// The templates below use the names of the header above.
#include "kernels/cpu/operations.h"

namespace offstage::kernels::avx512_bf16 {

// The instruction rounds correctly, but treats subnormal numbers as zero: vectors with a
// subnormal number take the slow path.
void narrow_bf16(const float* source, std::int64_t n, Bf16* out) {
    constexpr int kSubnormal = 0x20;
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        const Vector v = load_some(source + i, n_lanes);
        const __m256i halves = _mm512_fpclass_ps_mask(v, kSubnormal) == 0
                                   ? reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v))
                                   : round_to_bf16(v);
        if (n_lanes == kLanes) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), halves);
        } else {
            _mm256_mask_storeu_epi16(out + i, first_lanes(n_lanes), halves);
        }
    }
}

}  // namespace offstage::kernels::avx512_bf16
