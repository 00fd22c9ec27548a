#include <immintrin.h>

#include "kernels/cpu/limit_loops.h"

namespace offstage::kernels::limit_loops {

std::uint64_t read_avx512(const std::byte* data, std::int64_t n_bytes, int n_streams) {
    __m512i sums[4] = {};
    for (std::int64_t i = 0; i < n_bytes; i += 256) {
        for (int stream = 0; stream < n_streams; ++stream) {
            const std::byte* const from = data + stream * n_bytes + i;
            for (int k = 0; k < 4; ++k) sums[k] = _mm512_add_epi64(sums[k], _mm512_loadu_si512(from + 64 * k));
        }
    }
    const __m512i sum = _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]), _mm512_add_epi64(sums[2], sums[3]));
    // _mm512_reduce_add_epi64 is not used: its sum is signed and overflows.
    alignas(64) std::uint64_t words[8];
    _mm512_store_si512(words, sum);
    std::uint64_t total = 0;
    for (const std::uint64_t word : words) total += word;
    return total;
}

double f32_avx512(std::int64_t n_rounds) {
    __m512 chains[kChains];
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_set1_ps(static_cast<float>(c));
    const __m512 factor = _mm512_set1_ps(0.999f);
    const __m512 addend = _mm512_set1_ps(0.001f);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = _mm512_fmadd_ps(chains[c], factor, addend);
    }
    __m512 sum = chains[0];
    for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, chains[c]);
    return static_cast<double>(_mm512_reduce_add_ps(sum));
}

// The cost of a bf16 product without the instruction: the weight is widened by a shift,
// then multiplied.
double bf16_avx512(std::int64_t n_rounds) {
    __m512 chains[kChains];
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_set1_ps(static_cast<float>(c));
    __m512i weights = _mm512_set1_epi32(0x3f80);
    const __m512 addend = _mm512_set1_ps(0.001f);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
        asm volatile("" : "+v"(weights));  // makes the compiler assume a new weight each round
        const __m512 factor = _mm512_castsi512_ps(_mm512_slli_epi32(weights, 16));
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = _mm512_fmadd_ps(chains[c], factor, addend);
    }
    __m512 sum = chains[0];
    for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, chains[c]);
    return static_cast<double>(_mm512_reduce_add_ps(sum));
}

namespace {

double sum_of(const __m512i* chains) {
    alignas(64) std::int32_t lanes[16];
    double sum = 0.0;
    for (int c = 0; c < kChains; ++c) {
        _mm512_store_si512(reinterpret_cast<__m512i*>(lanes), chains[c]);
        for (const std::int32_t lane : lanes) sum += static_cast<double>(lane);
    }
    return sum;
}

}  // namespace

// Without dot products of bytes: pairs in 16 bits, their pairs in 32 bits, the sum.
double int8_avx512(std::int64_t n_rounds) {
    __m512i chains[kChains];  // different ones: equal ones would be computed once
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_set1_epi32(c);
    __m512i weights = _mm512_set1_epi8(3);
    const __m512i ones = _mm512_set1_epi16(1);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) {
            asm volatile("" : "+v"(weights));  // makes the compiler assume new weights each round
            const __m512i pairs = _mm512_maddubs_epi16(weights, weights);
            chains[c] = _mm512_add_epi32(chains[c], _mm512_madd_epi16(pairs, ones));
        }
    }
    return sum_of(chains);
}

__attribute__((target("avx512vnni"))) double int8_avx512_vnni(std::int64_t n_rounds) {
    __m512i chains[kChains];  // different ones: equal ones would be computed once
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_set1_epi32(c);
    const __m512i weights = _mm512_set1_epi8(3);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = _mm512_dpbusd_epi32(chains[c], weights, weights);
    }
    return sum_of(chains);
}

}  // namespace offstage::kernels::limit_loops
