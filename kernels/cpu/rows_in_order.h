#pragma once
// Plain rows times one token, one row after the other in address order. Each line is
// prefetched into the second-level cache twice, far ahead and once more nearer: a Zen 4
// core drops requests while its request slots are full, and a product would wait for a
// missing line. With this, two of its cores read 47 to 48 GB/s, where several rows side
// by side get 41, of the 50 of reading alone (tests/bench/results/kernels.md).

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/prefetch.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {
namespace {

constexpr std::int64_t kFetchedFar = 24 * 1024;  // bytes; both found by measuring
constexpr std::int64_t kFetchedNear = 8 * 1024;
constexpr std::int64_t kLineBytes = 64;

template <typename Weight>
constexpr int kVectorsOfLine = static_cast<int>(kLineBytes) / (kLanes * static_cast<int>(sizeof(Weight)));

// The weights of a line of 64 bytes.
template <typename Weight>
__attribute__((always_inline)) inline void load_line(const Weight* p, Vector (&to)[kVectorsOfLine<Weight>]) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectorsOfLine<Weight>; ++v) to[v] = load(p + v * kLanes);
}
#if OFFSTAGE_VECTOR_BITS == 512
// Permutations put 16 values each into the upper halves of words: one instruction for a
// vector instead of two.
__attribute__((always_inline)) inline void load_line(const Bf16* p, Vector (&to)[2]) {
    constexpr __mmask32 kUpperHalves = 0xaaaaaaaa;
    const __m512i first = _mm512_set_epi16(15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7, 6, 6, 5, 5,
                                           4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
    const __m512i line = _mm512_loadu_si512(p);
    to[0] = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(kUpperHalves, first, line));
    to[1] = _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(kUpperHalves, second, line));
}
#endif

__attribute__((always_inline)) inline void fetch_line_behind(const void* place) {
    prefetch(static_cast<const std::byte*>(place) + kFetchedFar);
    prefetch(static_cast<const std::byte*>(place) + kFetchedNear);
}

// The product of `row` and x, of which `sums` have the columns before i.
template <int kSums, typename Weight>
__attribute__((always_inline)) inline float end_dot(const Weight* row, const float* x, std::int64_t i, std::int64_t n,
                                                    Vector (&sums)[kSums]) {
    while (i < n) {
        const int n_lanes = static_cast<int>(std::min<std::int64_t>(kLanes, n - i));
        const Vector weights = n_lanes == kLanes ? load(row + i) : load_first(row + i, n_lanes);
        sums[0] = fma(weights, load_some(x + i, n_lanes), sums[0]);
        i += n_lanes;
    }
    for (int half = kSums / 2; half > 0; half /= 2) {
        for (int a = 0; a < half; ++a) sums[a] = add(sums[a], sums[a + half]);
    }
    return sum_of_lanes(sums[0]);
}

// row . x, each n long. The order of the sum is that of dot_products() with kSums
// accumulators.
template <int kSums, typename Weight>
float dot_in_order(const Weight* row, const float* x, std::int64_t n) {
    constexpr int kVectors = kVectorsOfLine<Weight>;
    constexpr int kStepVectors = std::max(kVectors, kSums);
    Vector sums[kSums];
    for (Vector& sum : sums) sum = zero();
    std::int64_t i = 0;
    for (; i + kStepVectors * kLanes <= n; i += kStepVectors * kLanes) {
#pragma GCC unroll 8
        for (int first = 0; first < kStepVectors; first += kVectors) {
            const Weight* const line = row + i + first * kLanes;
            fetch_line_behind(line);
            Vector weights[kVectors];
            load_line(line, weights);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) {
                Vector& sum = sums[(first + v) % kSums];
                sum = fma(weights[v], load(x + i + (first + v) * kLanes), sum);
            }
        }
    }
    return end_dot(row, x, i, n, sums);
}

// out += factors * column from column i on.
template <typename Weight>
__attribute__((always_inline)) inline void end_add(const Weight* column, Vector factors, std::int64_t i, std::int64_t n,
                                                   float* out) {
    while (i < n) {
        const int n_lanes = static_cast<int>(std::min<std::int64_t>(kLanes, n - i));
        if (n_lanes == kLanes) {
            store(out + i, fma(factors, load(column + i), load(out + i)));
        } else {
            const Vector sum = fma(factors, load_first(column + i, n_lanes), load_some(out + i, n_lanes));
            store_first(out + i, n_lanes, sum);
        }
        i += n_lanes;
    }
}

// out += factor * column, each n long.
template <typename Weight>
void add_in_order(const Weight* column, float factor, std::int64_t n, float* out) {
    constexpr int kVectors = kVectorsOfLine<Weight>;
    const Vector factors = broadcast(factor);
    std::int64_t i = 0;
    for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
        fetch_line_behind(column + i);
        Vector weights[kVectors];
        load_line(column + i, weights);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            float* const place = out + i + v * kLanes;
            store(place, fma(factors, weights[v], load(place)));
        }
    }
    end_add(column, factors, i, n, out);
}

// A Zen 3 core takes 26 GB/s of 32 from one row after the other, and most of the rest from
// rows side by side: fewer sums end, and loops with them. Such rows are the next ones, and
// prefetched, or lie so far apart that each is a stream to the hardware prefetcher.
constexpr std::int64_t kFetchedBeside = 12 * 1024;  // bytes; found by measuring

// products[r] = rows[r] . x with the bits of dot_in_order(), and out += factors[c] *
// columns[c], column after column, each n long.
template <int kSums, int kRows, int kColumns, bool kFetches, typename Weight>
__attribute__((always_inline)) inline void multiply_side_by_side(const Weight* const* rows, const float* x,
                                                                 std::int64_t n, float* products,
                                                                 const Weight* const* columns = nullptr,
                                                                 const float* factors = nullptr, float* out = nullptr) {
    constexpr int kVectors = kVectorsOfLine<Weight>;
    constexpr int kStepVectors = std::max(kVectors, kSums);
    const auto fetch = [](const Weight* place) __attribute__((always_inline)) {
        if constexpr (kFetches) prefetch(reinterpret_cast<const std::byte*>(place) + kFetchedBeside);
    };
    Vector sums[kRows][kSums];
    Vector weights_of[kColumns + 1];  // the columns' factors
#pragma GCC unroll 8
    for (auto& of_row : sums) {
#pragma GCC unroll 8
        for (Vector& sum : of_row) sum = zero();
    }
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) weights_of[c] = broadcast(factors[c]);
    std::int64_t i = 0;
    for (; i + kStepVectors * kLanes <= n; i += kStepVectors * kLanes) {
#pragma GCC unroll 8
        for (int v = 0; v < kStepVectors; ++v) {
            const std::int64_t place = i + v * kLanes;
            if (v % kVectors == 0) {
#pragma GCC unroll 8
                for (int r = 0; r < kRows; ++r) fetch(rows[r] + place);
#pragma GCC unroll 8
                for (int c = 0; c < kColumns; ++c) fetch(columns[c] + place);
            }
            Vector inputs = load(x + place);
            keep_in_register(inputs);
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
                sums[r][v % kSums] = fma(load(rows[r] + place), inputs, sums[r][v % kSums]);
            }
            if constexpr (kColumns > 0) {
                Vector sum = load(out + place);
#pragma GCC unroll 8
                for (int c = 0; c < kColumns; ++c) sum = fma(weights_of[c], load(columns[c] + place), sum);
                store(out + place, sum);
            }
        }
    }
    for (int r = 0; r < kRows; ++r) products[r] = end_dot(rows[r], x, i, n, sums[r]);
    for (int c = 0; c < kColumns; ++c) end_add(columns[c], weights_of[c], i, n, out);
}

}  // namespace
}  // namespace offstage::kernels
