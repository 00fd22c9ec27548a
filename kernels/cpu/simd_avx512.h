#pragma once
// AVX-512 under the names that the *_simd.h templates use. Included only by files
// compiled for AVX-512. All names have internal linkage, so that the linker cannot use a
// function compiled for AVX-512 in code for older processors.

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "kernels/types.h"

namespace offstage::kernels {
namespace {

using Vector = __m512;
constexpr int kLanes = 16;
constexpr int kRegisters = 32;

__attribute__((always_inline)) inline __mmask16 first_lanes(int n) {
    return static_cast<__mmask16>((1u << static_cast<unsigned>(n)) - 1u);
}

__attribute__((always_inline)) inline Vector zero() {
    return _mm512_setzero_ps();
}
__attribute__((always_inline)) inline Vector broadcast(float value) {
    return _mm512_set1_ps(value);
}
__attribute__((always_inline)) inline Vector add(Vector a, Vector b) {
    return _mm512_add_ps(a, b);
}
__attribute__((always_inline)) inline Vector subtract(Vector a, Vector b) {
    return _mm512_sub_ps(a, b);
}
__attribute__((always_inline)) inline Vector multiply(Vector a, Vector b) {
    return _mm512_mul_ps(a, b);
}
__attribute__((always_inline)) inline Vector divide(Vector a, Vector b) {
    return _mm512_div_ps(a, b);
}
__attribute__((always_inline)) inline Vector square_root(Vector a) {
    return _mm512_sqrt_ps(a);
}
// a * b + c
__attribute__((always_inline)) inline Vector fma(Vector a, Vector b, Vector c) {
    return _mm512_fmadd_ps(a, b, c);
}
// The second where either is NaN.
__attribute__((always_inline)) inline Vector maximum(Vector a, Vector b) {
    return _mm512_max_ps(a, b);
}
__attribute__((always_inline)) inline Vector minimum(Vector a, Vector b) {
    return _mm512_min_ps(a, b);
}

__attribute__((always_inline)) inline Vector load(const float* p) {
    return _mm512_loadu_ps(p);
}
__attribute__((always_inline)) inline Vector load(const Bf16* p) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
__attribute__((always_inline)) inline Vector load(const F16* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// Stops the compiler from replacing uses of the value by loads from memory.
__attribute__((always_inline)) inline void keep_in_register(Vector& v) {
    asm("" : "+v"(v));
}

// The first n (< kLanes) values; zero in the other lanes. Reads nothing beyond them.
__attribute__((always_inline)) inline Vector load_first(const float* p, int n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
__attribute__((always_inline)) inline Vector load_first(const Bf16* p, int n) {
    const __m256i halves = _mm256_maskz_loadu_epi16(first_lanes(n), p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
__attribute__((always_inline)) inline Vector load_first(const F16* p, int n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}

__attribute__((always_inline)) inline void store(float* p, Vector v) {
    _mm512_storeu_ps(p, v);
}
__attribute__((always_inline)) inline void store_first(float* p, int n, Vector v) {
    _mm512_mask_storeu_ps(p, first_lanes(n), v);
}

// Rounds to nearest even; NaN stays NaN (quiet). Each word's lower half holds the result,
// the upper half zero.
__attribute__((always_inline)) inline __m512i round_to_bf16_words(Vector v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
    return _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), quiet);
}
__attribute__((always_inline)) inline __m256i round_to_bf16(Vector v) {
    return _mm512_cvtepi32_epi16(round_to_bf16_words(v));
}
// Words that hold `low` in their lower and `high` in their upper half, as bf16.
__attribute__((always_inline)) inline Vector pair_as_bf16(Vector low, Vector high) {
    return _mm512_castsi512_ps(
        _mm512_or_si512(round_to_bf16_words(low), _mm512_slli_epi32(round_to_bf16_words(high), 16)));
}
// The same for values that are bf16 already.
__attribute__((always_inline)) inline Vector join_halves(Vector low, Vector high) {
    return _mm512_castsi512_ps(
        _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(low), 16), _mm512_castps_si512(high)));
}
__attribute__((always_inline)) inline void store_bf16(Bf16* p, Vector v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), round_to_bf16(v));
}
__attribute__((always_inline)) inline void store_first_bf16(Bf16* p, int n, Vector v) {
    _mm256_mask_storeu_epi16(p, first_lanes(n), round_to_bf16(v));
}

__attribute__((always_inline)) inline float sum_of_lanes(Vector v) {
    return _mm512_reduce_add_ps(v);
}
__attribute__((always_inline)) inline float largest_lane(Vector v) {
    return _mm512_reduce_max_ps(v);
}

// 2^n for whole n, times v.
__attribute__((always_inline)) inline Vector scale_by_power_of_two(Vector v, Vector n) {
    return _mm512_scalef_ps(v, n);
}
__attribute__((always_inline)) inline Vector round_to_whole(Vector v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// 32-bit words that are moved, not calculated with.
template <typename Weight>
__attribute__((always_inline)) inline Vector load_words(const Weight* p) {
    return _mm512_loadu_ps(p);
}
__attribute__((always_inline)) inline void store_words(Bf16* p, Vector words) {
    _mm512_storeu_ps(p, words);
}

// 16 signed bytes as numbers; v is 0.
__attribute__((always_inline)) inline Vector signed_bytes(__m128i bytes, int /*v*/) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

// Unsigned bytes as numbers, and the lower and upper four bits of each.
__attribute__((always_inline)) inline __m512i load_byte_words(const std::byte* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
__attribute__((always_inline)) inline Vector load_bytes(const std::byte* p) {
    return _mm512_cvtepi32_ps(load_byte_words(p));
}
__attribute__((always_inline)) inline void load_nibbles(const std::byte* p, Vector& low, Vector& high) {
    const __m512i words = load_byte_words(p);
    low = _mm512_cvtepi32_ps(_mm512_and_si512(words, _mm512_set1_epi32(15)));
    high = _mm512_cvtepi32_ps(_mm512_srli_epi32(words, 4));
}

// The lower and upper 16 bits of each word as weights.
__attribute__((always_inline)) inline Vector low_half(Vector words, Bf16) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(words), 16));
}
__attribute__((always_inline)) inline Vector high_half(Vector words, Bf16) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(words), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}
__attribute__((always_inline)) inline Vector low_half(Vector words, F16) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_castps_si512(words)));
}
__attribute__((always_inline)) inline Vector high_half(Vector words, F16) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(words), 16)));
}

// Lane i: the sum of v[i]'s lanes, in an order that is the same for all i.
__attribute__((always_inline)) inline Vector sums_of_lanes(const Vector (&v)[kLanes]) {
    Vector fours[4];
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
        const Vector* const of = v + 4 * g;
        const Vector ab = add(_mm512_unpacklo_ps(of[0], of[1]), _mm512_unpackhi_ps(of[0], of[1]));
        const Vector cd = add(_mm512_unpacklo_ps(of[2], of[3]), _mm512_unpackhi_ps(of[2], of[3]));
        const __m512d left = _mm512_castps_pd(ab);
        const __m512d right = _mm512_castps_pd(cd);
        fours[g] =
            add(_mm512_castpd_ps(_mm512_unpacklo_pd(left, right)), _mm512_castpd_ps(_mm512_unpackhi_pd(left, right)));
    }
    const Vector low =
        add(_mm512_shuffle_f32x4(fours[0], fours[1], 0x88), _mm512_shuffle_f32x4(fours[0], fours[1], 0xdd));
    const Vector high =
        add(_mm512_shuffle_f32x4(fours[2], fours[3], 0x88), _mm512_shuffle_f32x4(fours[2], fours[3], 0xdd));
    return add(_mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xdd));
}

// Transposes 16 x 16 words: within groups of 4 words by unpacking, then whole groups.
__attribute__((always_inline)) inline void transpose_words(Vector (&v)[kLanes]) {
    Vector t[kLanes];
#pragma GCC unroll 4
    for (int g = 0; g < kLanes; g += 4) {
        const Vector a = _mm512_unpacklo_ps(v[g], v[g + 1]);
        const Vector b = _mm512_unpackhi_ps(v[g], v[g + 1]);
        const Vector c = _mm512_unpacklo_ps(v[g + 2], v[g + 3]);
        const Vector d = _mm512_unpackhi_ps(v[g + 2], v[g + 3]);
        t[g] = _mm512_shuffle_ps(a, c, 0x44);
        t[g + 1] = _mm512_shuffle_ps(a, c, 0xee);
        t[g + 2] = _mm512_shuffle_ps(b, d, 0x44);
        t[g + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
    // t[4 g + i]: 128-bit group j holds rows 4g .. 4g+3 of column 4j + i.
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const Vector a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88);
        const Vector b = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
        const Vector c = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
        const Vector d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
        v[i] = _mm512_shuffle_f32x4(a, b, 0x88);
        v[i + 8] = _mm512_shuffle_f32x4(a, b, 0xdd);
        v[i + 4] = _mm512_shuffle_f32x4(c, d, 0x88);
        v[i + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
    }
}

}  // namespace
}  // namespace offstage::kernels

#include "kernels/cpu/simd_math.h"
