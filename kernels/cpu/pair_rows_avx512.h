#pragma once
// Rows of bf16 times tiles of inputs, for the files that are compiled for AVX512_BF16.
// Rows are read four or eight at a time, but prefetched into the second-level cache in
// address order, as many lines as are read meanwhile, so that memory delivers without a
// break.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/bf16_products.h"
#include "kernels/cpu/prefetch.h"
#include "kernels/cpu/simd_avx512.h"

namespace offstage::kernels {
namespace {

constexpr int kPairs = 2 * kLanes;            // bf16 values of a vector
constexpr std::int64_t kBlockColumns = 2048;  // a tile's inputs, which stay in the first-level cache while rows pass

__attribute__((always_inline)) inline __m512bh pairs(__m512i words) {
    return reinterpret_cast<__m512bh>(words);
}
__attribute__((always_inline)) inline __m512i load_pairs(const Bf16* p) {
    return _mm512_loadu_si512(p);
}

// The share of a loop's lines that it prefetches further on.
enum class Fetches { kNone, kEighth, kQuarter, kHalf, kAll };

// The share that the loops of a tile prefetch, so that each line is prefetched once and
// evenly over all tiles: in a burst they would wait for the other cores' share of memory.
inline Fetches fetches_of(std::int64_t tile, std::int64_t n_tiles) {
    if (n_tiles == 1) return Fetches::kAll;
    const auto [share, parts] = n_tiles < 4   ? std::pair{Fetches::kHalf, 2}
                                : n_tiles < 8 ? std::pair{Fetches::kQuarter, 4}
                                              : std::pair{Fetches::kEighth, 8};
    return tile < parts ? share : Fetches::kNone;
}

template <int kLines>
__attribute__((always_inline)) inline void fetch(const std::byte*& next) {
    constexpr int kLineBytes = 64;
#pragma GCC unroll 16
    for (int line = 0; line < kLines; ++line) prefetch(next + line * kLineBytes);
    next += kLines * kLineBytes;
}

// The number of rows at a time: their sums are one vector at the end.
constexpr int rows_beside(int n_tokens) {
    return n_tokens <= 2 ? 8 : 4;
}

// n columns: products[t * kRows + r] = rows[r] . x[t]. x: for each kPairs values those of
// all tokens.
template <int kRows, int kTokens, Fetches kFetches>
__attribute__((always_inline)) inline void multiply_rows(const Bf16* const (&rows)[kRows], std::int64_t n,
                                                         const Bf16* x, const std::byte*& next,
                                                         float (&products)[kLanes]) {
    constexpr int kLinesFetched = kFetches == Fetches::kAll       ? kRows
                                  : kFetches == Fetches::kHalf    ? kRows / 2
                                  : kFetches == Fetches::kQuarter ? kRows / 4
                                                                  : 0;
    static_assert(kRows * kTokens <= kLanes);
    Vector sums[kLanes];
#pragma GCC unroll 16
    for (Vector& sum : sums) sum = zero();
    for (std::int64_t i = 0; i < n; i += kPairs, x += kTokens * kPairs) {
        fetch<kLinesFetched>(next);
        if (kFetches == Fetches::kEighth && i % (2 * kPairs) == 0) fetch<kRows / 4>(next);
        __m512i weights[kRows];
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) weights[r] = load_pairs(rows[r] + i);
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
            const __m512bh inputs = pairs(load_pairs(x + t * kPairs));
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
                Vector& sum = sums[t * kRows + r];
                sum = _mm512_dpbf16_ps(sum, pairs(weights[r]), inputs);
            }
        }
    }
    store(products, sums_of_lanes(sums));
}

}  // namespace
}  // namespace offstage::kernels
