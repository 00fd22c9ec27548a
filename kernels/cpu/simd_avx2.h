#pragma once
// AVX2 with FMA and F16C under the names that the *_simd.h templates use. Included only
// by files compiled for AVX2. All names have internal linkage, so that the linker cannot
// use a function compiled for AVX2 in code for older processors.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "kernels/types.h"

namespace offstage::kernels {
namespace {

using Vector = __m256;
constexpr int kLanes = 8;
constexpr int kRegisters = 16;

__attribute__((always_inline)) inline __m256i first_lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

__attribute__((always_inline)) inline Vector zero() {
    return _mm256_setzero_ps();
}
__attribute__((always_inline)) inline Vector broadcast(float value) {
    return _mm256_set1_ps(value);
}
__attribute__((always_inline)) inline Vector add(Vector a, Vector b) {
    return _mm256_add_ps(a, b);
}
__attribute__((always_inline)) inline Vector subtract(Vector a, Vector b) {
    return _mm256_sub_ps(a, b);
}
__attribute__((always_inline)) inline Vector multiply(Vector a, Vector b) {
    return _mm256_mul_ps(a, b);
}
__attribute__((always_inline)) inline Vector divide(Vector a, Vector b) {
    return _mm256_div_ps(a, b);
}
__attribute__((always_inline)) inline Vector square_root(Vector a) {
    return _mm256_sqrt_ps(a);
}
// a * b + c
__attribute__((always_inline)) inline Vector fma(Vector a, Vector b, Vector c) {
    return _mm256_fmadd_ps(a, b, c);
}
// The second where either is NaN.
__attribute__((always_inline)) inline Vector maximum(Vector a, Vector b) {
    return _mm256_max_ps(a, b);
}
__attribute__((always_inline)) inline Vector minimum(Vector a, Vector b) {
    return _mm256_min_ps(a, b);
}

__attribute__((always_inline)) inline Vector widen_bf16(__m128i halves) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
__attribute__((always_inline)) inline Vector load(const float* p) {
    return _mm256_loadu_ps(p);
}
__attribute__((always_inline)) inline Vector load(const Bf16* p) {
    return widen_bf16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
__attribute__((always_inline)) inline Vector load(const F16* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

// Stops the compiler from replacing uses of the value by loads from memory.
__attribute__((always_inline)) inline void keep_in_register(Vector& v) {
    asm("" : "+x"(v));
}

// The first n (< kLanes) values; zero in the other lanes. Reads nothing beyond them.
__attribute__((always_inline)) inline Vector load_first(const float* p, int n) {
    return _mm256_maskload_ps(p, first_lanes(n));
}
__attribute__((always_inline)) inline __m128i load_first_halves(const void* p, int n) {
    alignas(16) std::uint16_t halves[kLanes] = {};
    std::memcpy(halves, p, static_cast<std::size_t>(n) * 2);
    return _mm_load_si128(reinterpret_cast<const __m128i*>(halves));
}
__attribute__((always_inline)) inline Vector load_first(const Bf16* p, int n) {
    return widen_bf16(load_first_halves(p, n));
}
__attribute__((always_inline)) inline Vector load_first(const F16* p, int n) {
    return _mm256_cvtph_ps(load_first_halves(p, n));
}

__attribute__((always_inline)) inline void store(float* p, Vector v) {
    _mm256_storeu_ps(p, v);
}
__attribute__((always_inline)) inline void store_first(float* p, int n, Vector v) {
    _mm256_maskstore_ps(p, first_lanes(n), v);
}

// Rounds to nearest even; NaN stays NaN (quiet). Each word's lower half holds the result,
// the upper half zero.
__attribute__((always_inline)) inline __m256i round_to_bf16_words(Vector v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    return _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
}
__attribute__((always_inline)) inline __m128i round_to_bf16(Vector v) {
    // All words are below 2^16: the pack's saturation changes nothing. It works within
    // 128-bit halves.
    const __m256i words = round_to_bf16_words(v);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0b1000);
    return _mm256_castsi256_si128(packed);
}
// Words that hold `low` in their lower and `high` in their upper half, as bf16.
__attribute__((always_inline)) inline Vector pair_as_bf16(Vector low, Vector high) {
    return _mm256_castsi256_ps(
        _mm256_or_si256(round_to_bf16_words(low), _mm256_slli_epi32(round_to_bf16_words(high), 16)));
}
// The same for values that are bf16 already.
__attribute__((always_inline)) inline Vector join_halves(Vector low, Vector high) {
    return _mm256_castsi256_ps(
        _mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(low), 16), _mm256_castps_si256(high)));
}
__attribute__((always_inline)) inline void store_bf16(Bf16* p, Vector v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), round_to_bf16(v));
}
__attribute__((always_inline)) inline void store_first_bf16(Bf16* p, int n, Vector v) {
    alignas(16) std::uint16_t halves[kLanes];
    _mm_store_si128(reinterpret_cast<__m128i*>(halves), round_to_bf16(v));
    std::memcpy(p, halves, static_cast<std::size_t>(n) * 2);
}

__attribute__((always_inline)) inline float sum_of_lanes(Vector v) {
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}
__attribute__((always_inline)) inline float largest_lane(Vector v) {
    __m128 largest = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    largest = _mm_max_ps(largest, _mm_movehl_ps(largest, largest));
    return _mm_cvtss_f32(_mm_max_ss(largest, _mm_movehdup_ps(largest)));
}

// 2^n for whole n in [-252, 254], times v. In two steps, because 2^n alone may leave the
// range of float.
__attribute__((always_inline)) inline Vector scale_by_power_of_two(Vector v, Vector n) {
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const __m256i rest = _mm256_sub_epi32(whole, half);
    const __m256i bias = _mm256_set1_epi32(127);
    const Vector first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const Vector second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(v, first), second);
}
__attribute__((always_inline)) inline Vector round_to_whole(Vector v) {
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// 32-bit words that are moved, not calculated with.
template <typename Weight>
__attribute__((always_inline)) inline Vector load_words(const Weight* p) {
    return _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
__attribute__((always_inline)) inline void store_words(Bf16* p, Vector words) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_castps_si256(words));
}

// Signed bytes kLanes * v .. of 16 as numbers.
__attribute__((always_inline)) inline Vector signed_bytes(__m128i bytes, int v) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v == 0 ? bytes : _mm_unpackhi_epi64(bytes, bytes)));
}

// Unsigned bytes as numbers, and the lower and upper four bits of each.
__attribute__((always_inline)) inline __m256i load_byte_words(const std::byte* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
__attribute__((always_inline)) inline Vector load_bytes(const std::byte* p) {
    return _mm256_cvtepi32_ps(load_byte_words(p));
}
__attribute__((always_inline)) inline void load_nibbles(const std::byte* p, Vector& low, Vector& high) {
    const __m256i words = load_byte_words(p);
    low = _mm256_cvtepi32_ps(_mm256_and_si256(words, _mm256_set1_epi32(15)));
    high = _mm256_cvtepi32_ps(_mm256_srli_epi32(words, 4));
}

// The lower and upper 16 bits of each word as weights.
__attribute__((always_inline)) inline Vector low_half(Vector words, Bf16) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(words), 16));
}
__attribute__((always_inline)) inline Vector high_half(Vector words, Bf16) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_castps_si256(words), _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}
__attribute__((always_inline)) inline Vector widen_low_f16(__m256i words) {
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0b1000);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
__attribute__((always_inline)) inline Vector low_half(Vector words, F16) {
    return widen_low_f16(_mm256_and_si256(_mm256_castps_si256(words), _mm256_set1_epi32(0xffff)));
}
__attribute__((always_inline)) inline Vector high_half(Vector words, F16) {
    return widen_low_f16(_mm256_srli_epi32(_mm256_castps_si256(words), 16));
}

// Lane i: the sum of v[i]'s lanes, in an order that is the same for all i.
__attribute__((always_inline)) inline Vector sums_of_lanes(const Vector (&v)[kLanes]) {
    Vector fours[2];
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
        const Vector* const of = v + 4 * g;
        const Vector ab = add(_mm256_unpacklo_ps(of[0], of[1]), _mm256_unpackhi_ps(of[0], of[1]));
        const Vector cd = add(_mm256_unpacklo_ps(of[2], of[3]), _mm256_unpackhi_ps(of[2], of[3]));
        const __m256d left = _mm256_castps_pd(ab);
        const __m256d right = _mm256_castps_pd(cd);
        fours[g] =
            add(_mm256_castpd_ps(_mm256_unpacklo_pd(left, right)), _mm256_castpd_ps(_mm256_unpackhi_pd(left, right)));
    }
    return add(_mm256_permute2f128_ps(fours[0], fours[1], 0x20), _mm256_permute2f128_ps(fours[0], fours[1], 0x31));
}

// Transposes 8 x 8 words: within groups of 4 words by unpacking, then the two halves.
__attribute__((always_inline)) inline void transpose_words(Vector (&v)[kLanes]) {
    Vector t[kLanes];
#pragma GCC unroll 2
    for (int g = 0; g < kLanes; g += 4) {
        const Vector a = _mm256_unpacklo_ps(v[g], v[g + 1]);
        const Vector b = _mm256_unpackhi_ps(v[g], v[g + 1]);
        const Vector c = _mm256_unpacklo_ps(v[g + 2], v[g + 3]);
        const Vector d = _mm256_unpackhi_ps(v[g + 2], v[g + 3]);
        t[g] = _mm256_shuffle_ps(a, c, 0x44);
        t[g + 1] = _mm256_shuffle_ps(a, c, 0xee);
        t[g + 2] = _mm256_shuffle_ps(b, d, 0x44);
        t[g + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        v[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}

}  // namespace
}  // namespace offstage::kernels

#include "kernels/cpu/simd_math.h"
