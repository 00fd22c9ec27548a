#include <immintrin.h>

#include "kernels/cpu/limit_loops.h"

namespace offstage::kernels::limit_loops {

double bf16_avx512_bf16(std::int64_t n_rounds) {
    __m512 chains[kChains];
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_set1_ps(static_cast<float>(c));
    const __m512bh left = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3c00));
    const __m512bh right = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3c00));
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = _mm512_dpbf16_ps(chains[c], left, right);
    }
    __m512 sum = chains[0];
    for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, chains[c]);
    return static_cast<double>(_mm512_reduce_add_ps(sum));
}

}  // namespace offstage::kernels::limit_loops
