#pragma once
// AVX-512 under the names that the *_simd.h templates use. Included only by files compiled for AVX-512; all names have
// internal linkage, so that no function compiled for it can be linked into code for smaller processors.

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

// Rounds to nearest even; NaN stays NaN (quiet).
__attribute__((always_inline)) inline __m256i round_to_bf16(Vector v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, is_nan, quiet));
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

}  // namespace
}  // namespace offstage::kernels

#include "kernels/cpu/simd_math.h"
