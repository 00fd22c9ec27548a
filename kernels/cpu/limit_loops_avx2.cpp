#include <immintrin.h>

#include "kernels/cpu/limit_loops.h"

namespace offstage::kernels::limit_loops {

std::uint64_t read_avx2(const std::byte* data, std::int64_t n_bytes, int n_streams) {
    __m256i sums[4] = {};
    for (std::int64_t i = 0; i < n_bytes; i += 256) {
        for (int stream = 0; stream < n_streams; ++stream) {
            const std::byte* const from = data + stream * n_bytes + i;
            for (int k = 0; k < 8; ++k) {
                const auto* block = reinterpret_cast<const __m256i*>(from + 32 * k);
                sums[k % 4] = _mm256_add_epi64(sums[k % 4], _mm256_loadu_si256(block));
            }
        }
    }
    alignas(32) std::uint64_t words[4];
    const __m256i sum = _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3]));
    _mm256_store_si256(reinterpret_cast<__m256i*>(words), sum);
    return words[0] + words[1] + words[2] + words[3];
}

double f32_avx2(std::int64_t n_rounds) {
    __m256 chains[kChains];
    for (int c = 0; c < kChains; ++c) chains[c] = _mm256_set1_ps(static_cast<float>(c));
    const __m256 factor = _mm256_set1_ps(0.999f);
    const __m256 addend = _mm256_set1_ps(0.001f);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = _mm256_fmadd_ps(chains[c], factor, addend);
    }
    __m256 sum = chains[0];
    for (int c = 1; c < kChains; ++c) sum = _mm256_add_ps(sum, chains[c]);
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, sum);
    double total = 0.0;
    for (const float lane : lanes) total += static_cast<double>(lane);
    return total;
}

// The cost of a bf16 product without the instruction: the weight is widened by a shift,
// then multiplied.
double bf16_avx2(std::int64_t n_rounds) {
    __m256 chains[kChains];
    for (int c = 0; c < kChains; ++c) chains[c] = _mm256_set1_ps(static_cast<float>(c));
    __m256i weights = _mm256_set1_epi32(0x3f80);
    const __m256 addend = _mm256_set1_ps(0.001f);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
        asm volatile("" : "+x"(weights));  // makes the compiler assume a new weight each round
        const __m256 factor = _mm256_castsi256_ps(_mm256_slli_epi32(weights, 16));
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = _mm256_fmadd_ps(chains[c], factor, addend);
    }
    __m256 sum = chains[0];
    for (int c = 1; c < kChains; ++c) sum = _mm256_add_ps(sum, chains[c]);
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, sum);
    double total = 0.0;
    for (const float lane : lanes) total += static_cast<double>(lane);
    return total;
}

namespace {

double sum_of(const __m256i* chains) {
    alignas(32) std::int32_t lanes[8];
    double sum = 0.0;
    for (int c = 0; c < kChains; ++c) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), chains[c]);
        for (const std::int32_t lane : lanes) sum += static_cast<double>(lane);
    }
    return sum;
}

}  // namespace

// Without dot products of bytes: pairs in 16 bits, their pairs in 32 bits, the sum.
double int8_avx2(std::int64_t n_rounds) {
    __m256i chains[kChains];  // different ones: equal ones would be computed once
    for (int c = 0; c < kChains; ++c) chains[c] = _mm256_set1_epi32(c);
    __m256i weights = _mm256_set1_epi8(3);
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) {
            asm volatile("" : "+x"(weights));  // makes the compiler assume new weights each round
            const __m256i pairs = _mm256_maddubs_epi16(weights, weights);
            chains[c] = _mm256_add_epi32(chains[c], _mm256_madd_epi16(pairs, ones));
        }
    }
    return sum_of(chains);
}

__attribute__((target("avxvnni"))) double int8_avx2_vnni(std::int64_t n_rounds) {
    __m256i chains[kChains];  // different ones: equal ones would be computed once
    for (int c = 0; c < kChains; ++c) chains[c] = _mm256_set1_epi32(c);
    const __m256i weights = _mm256_set1_epi8(3);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = _mm256_dpbusd_avx_epi32(chains[c], weights, weights);
    }
    return sum_of(chains);
}

}  // namespace offstage::kernels::limit_loops
