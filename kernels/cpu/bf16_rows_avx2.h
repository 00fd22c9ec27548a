#pragma once
// Rows of bf16 times tiles of inputs in float32, for the files that are compiled for AVX2
// alone. Of 16 weights those at even places become float32 by a shift, those at odd ones
// by a mask; inputs lie in this order.

#include <cstddef>
#include <cstdint>

#include "kernels/bf16_products.h"
#include "kernels/cpu/prefetch.h"
#include "kernels/cpu/simd_avx2.h"

namespace offstage::kernels {
namespace {

constexpr int kPairs = 2 * kLanes;            // values that lie evens first
constexpr std::int64_t kBlockColumns = 1024;  // a tile's inputs, which stay in the first-level cache while rows pass

// Addresses to prefetch into the second-level cache, `step` bytes further on at a time: so
// that memory delivers without a break while rows in cache are multiplied.
struct Ahead {
    const std::byte* next = nullptr;
    std::int64_t step = 0;  // at most two lines

    __attribute__((always_inline)) void fetch() {
        prefetch(next);
        prefetch(next + 64);
        next += step;
    }
};

__attribute__((always_inline)) inline void store_evens_first(Vector low, Vector high, float* to) {
    const auto in_order = [](Vector v) __attribute__((always_inline)) {
        return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0b11011000));
    };
    store(to, in_order(_mm256_shuffle_ps(low, high, 0b10001000)));
    store(to + kLanes, in_order(_mm256_shuffle_ps(low, high, 0b11011101)));
}

// What store_evens_first() has moved, in its normal order.
__attribute__((always_inline)) inline void load_in_order(const float* from, Vector& low, Vector& high) {
    const Vector even = load(from);
    const Vector odd = load(from + kLanes);
    const Vector first = _mm256_unpacklo_ps(even, odd);
    const Vector second = _mm256_unpackhi_ps(even, odd);
    low = _mm256_permute2f128_ps(first, second, 0x20);
    high = _mm256_permute2f128_ps(first, second, 0x31);
}

// One tile: of each kPairs values those of all tokens. row(t): of n values.
template <typename Row>
void lay_out_tile(std::int64_t n_tokens, std::int64_t n, const Row& row, float* to) {
    for (std::int64_t i = 0; i < n; i += kPairs) {
        for (std::int64_t t = 0; t < n_tokens; ++t, to += kPairs) {
            store_evens_first(load(row(t) + i), load(row(t) + i + kLanes), to);
        }
    }
}

// sums[t] of both rows, n columns, as lay_out_tile() has the inputs.
template <int kTokens>
__attribute__((always_inline)) inline void multiply_two_rows(const Bf16* first, const Bf16* second, std::int64_t n,
                                                             const float* x, Ahead& ahead, float (&sums)[2][kTokens]) {
    const Bf16* const rows[2] = {first, second};
    Vector accumulators[2][kTokens];
#pragma GCC unroll 2
    for (auto& of_row : accumulators) {
#pragma GCC unroll 8
        for (Vector& sum : of_row) sum = zero();
    }
    for (std::int64_t i = 0; i < n; i += kPairs, x += kTokens * kPairs) {
        ahead.fetch();
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
            Vector weights[2];
#pragma GCC unroll 2
            for (int r = 0; r < 2; ++r) {
                const Vector words = load_words(rows[r] + i);
                weights[r] = half == 0 ? low_half(words, Bf16()) : high_half(words, Bf16());
            }
#pragma GCC unroll 8
            for (int t = 0; t < kTokens; ++t) {
                Vector inputs = load(x + t * kPairs + half * kLanes);
                keep_in_register(inputs);
#pragma GCC unroll 2
                for (int r = 0; r < 2; ++r) accumulators[r][t] = fma(weights[r], inputs, accumulators[r][t]);
            }
        }
    }
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r) {
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) sums[r][t] = sum_of_lanes(accumulators[r][t]);
    }
}

}  // namespace
}  // namespace offstage::kernels
