#pragma once
// Inputs rounded to 8 bits as products with a file's blocks read them, and products of
// bytes.

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/block_decoder_simd.h"
#include "kernels/cpu/packed_decoder_simd.h"
#include "kernels/cpu_kernels.h"

namespace offstage::kernels {
namespace {

// 256 inputs of a token. Codes are in parts of 16, in the order of the weights' codes
// (part_at()). A word belongs to 32 inputs, or to half of them: first eight for first
// halves, then eight for second halves. Zeros fill up to a multiple of 256 inputs.
struct ByteGroup {
    std::int8_t codes[kGroup];
    float scales[kScales];
    std::int32_t unused[kScales];
    std::int32_t words[2 * kScales];
};
static_assert(sizeof(ByteGroup) == 384 && sizeof(ByteGroup) == rounded_input_bytes(kGroup));

enum class InputWords : std::uint8_t {
    kNone,
    kCorrections,  // -offset_of(type) times the sum of the codes, which corrects for the offset
    kSums,         // float32: scale times the sum of the codes, which biases are multiplied by
};

constexpr InputWords input_words(WeightType type) {
    return has_biases(type) ? InputWords::kSums : offset_of(type) > 0 ? InputWords::kCorrections : InputWords::kNone;
}

inline __m256i load_words(const std::int32_t* words) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
}

// The range of the codes, which decides how many sums of two products add up within 16
// bits: one is at most 2 * 127 times the largest code.
enum class CodeRange : std::uint8_t {
    kNibbles,   // 0 .. 15
    kSmall,     // 0 .. 31
    kSixBits,   // 0 .. 63
    kUnsigned,  // 0 .. 255, where instructions add up in 32 bits
    kSigned,    // -128 .. 127
};

constexpr CodeRange code_range(WeightType type) {
    if (has_signed_codes(type)) return offset_of(type) > 0 ? CodeRange::kUnsigned : CodeRange::kSigned;
    switch (type) {
        case WeightType::kQ6K:
            return CodeRange::kSixBits;
        case WeightType::kQ5_0:
        case WeightType::kQ5_1:
        case WeightType::kQ5K:
        case WeightType::kMxfp4:
            return CodeRange::kSmall;
        default:
            return CodeRange::kNibbles;
    }
}

constexpr int pairs_in_16_bits(CodeRange range) {
    constexpr int kPairs[] = {8, 4, 2, 1, 1};
    return kPairs[static_cast<int>(range)];
}

#if OFFSTAGE_VECTOR_BITS == 512
__attribute__((always_inline)) inline Bytes no_sums() {
    return _mm512_setzero_si512();
}
__attribute__((always_inline)) inline Bytes add_sums(Bytes a, Bytes b) {
    return _mm512_add_epi32(a, b);
}
__attribute__((always_inline)) inline Vector as_numbers(Bytes sums) {
    return _mm512_cvtepi32_ps(sums);
}
__attribute__((always_inline)) inline Bytes all_words(std::int32_t word) {
    return _mm512_set1_epi32(word);
}
#else
__attribute__((always_inline)) inline Bytes no_sums() {
    return _mm256_setzero_si256();
}
__attribute__((always_inline)) inline Bytes add_sums(Bytes a, Bytes b) {
    return _mm256_add_epi32(a, b);
}
__attribute__((always_inline)) inline Vector as_numbers(Bytes sums) {
    return _mm256_cvtepi32_ps(sums);
}
__attribute__((always_inline)) inline Bytes all_words(std::int32_t word) {
    return _mm256_set1_epi32(word);
}
#endif

__attribute__((always_inline)) inline void keep_in_register(Bytes& v) {
#if OFFSTAGE_VECTOR_BITS == 512
    asm("" : "+v"(v));
#else
    asm("" : "+x"(v));
#endif
}

#if !defined(__AVX512VNNI__) && !defined(__AVXVNNI__)
// Sums of two products each, in 16 bits.
template <CodeRange kRange>
__attribute__((always_inline)) inline Bytes dots_of_two(Bytes codes, Bytes inputs) {
#if OFFSTAGE_VECTOR_BITS == 512
    if constexpr (kRange == CodeRange::kSigned) {  // they stay below 2^15: 2 * 128 * 127
        inputs = _mm512_mask_sub_epi8(inputs, _mm512_movepi8_mask(codes), _mm512_setzero_si512(), inputs);
        codes = _mm512_abs_epi8(codes);
    }
    return _mm512_maddubs_epi16(codes, inputs);
#else
    if constexpr (kRange == CodeRange::kSigned) {
        inputs = _mm256_sign_epi8(inputs, codes);
        codes = _mm256_abs_epi8(codes);
    }
    return _mm256_maddubs_epi16(codes, inputs);
#endif
}
__attribute__((always_inline)) inline Bytes add_pairs(Bytes pairs) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#else
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#endif
}
__attribute__((always_inline)) inline Bytes add_words16(Bytes a, Bytes b) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_add_epi16(a, b);
#else
    return _mm256_add_epi16(a, b);
#endif
}
#endif

// sums + sums of four products each, of kVectors vectors of codes with inputs(i).
template <CodeRange kRange, int kVectors, typename Inputs>
__attribute__((always_inline)) inline Bytes add_dots(Bytes sums, const Bytes (&codes)[kVectors], const Inputs& inputs) {
#if defined(__AVX512VNNI__)
    for (int i = 0; i < kVectors; ++i) sums = _mm512_dpbusd_epi32(sums, codes[i], inputs(i));
    return sums;
#elif defined(__AVXVNNI__)
    for (int i = 0; i < kVectors; ++i) sums = _mm256_dpbusd_avx_epi32(sums, codes[i], inputs(i));
    return sums;
#else
    constexpr int kTogether = std::min(kVectors, pairs_in_16_bits(kRange));
    for (int i = 0; i < kVectors; i += kTogether) {
        Bytes pairs = dots_of_two<kRange>(codes[i], inputs(i));
        for (int j = 1; j < kTogether; ++j)
            pairs = add_words16(pairs, dots_of_two<kRange>(codes[i + j], inputs(i + j)));
        sums = add_sums(sums, add_pairs(pairs));
    }
    return sums;
#endif
}

}  // namespace
}  // namespace offstage::kernels
