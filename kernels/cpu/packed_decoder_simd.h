#pragma once
// Codes and scales of 256 weights of packed rows (kernels/packed.h), in the form that
// block_decoder_simd.h uses for a file's blocks.
//
// A block's 16 lanes have four codes each. For HQQ4 and HQQ3 the bytes of a vector hold
// codes 0 and 1 of a lane, or 2 and 3, and are sorted: then they are first halves of 32
// weights and second ones, as in a file's blocks of 4 bits.

#include <cstddef>
#include <cstring>

#include "kernels/cpu/block_decoder_simd.h"
#include "kernels/packed.h"

namespace offstage::kernels {
namespace {

// Four codes of 3 bits of each lane (12 bits): two in each byte, 8 bits apart.
__attribute__((always_inline)) inline Bytes pairs_of_threes(const std::uint8_t* blocks) {
    // Lane l begins at bit 12 l: in byte 3 l / 2, 0 or 4 bits in, and ends in the next
    // byte. Lanes 8 .. 15 are taken from byte 8 on.
    const __m256i places = _mm256_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11,  //
                                            4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14, 14, 15);
    constexpr int kBlock = 24;
#if OFFSTAGE_VECTOR_BITS == 512
    __m512i bytes = _mm512_castsi128_si512(load_16(blocks));
    bytes = _mm512_mask_broadcast_i32x4(bytes, 0x00f0, load_16(blocks + 8));
    bytes = _mm512_mask_broadcast_i32x4(bytes, 0x0f00, load_16(blocks + kBlock));
    bytes = _mm512_mask_broadcast_i32x4(bytes, 0xf000, load_16(blocks + kBlock + 8));
    __m512i lanes = _mm512_shuffle_epi8(bytes, _mm512_broadcast_i64x4(places));
    lanes = _mm512_mask_srli_epi16(lanes, 0xaaaaaaaau, lanes, 4);
    return _mm512_or_si512(_mm512_and_si512(lanes, _mm512_set1_epi16(0x003f)),
                           _mm512_and_si512(_mm512_slli_epi16(lanes, 2), _mm512_set1_epi16(0x3f00)));
#else
    static_cast<void>(kBlock);
    const __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(blocks)), load_16(blocks + 8), 1);
    __m256i lanes = _mm256_shuffle_epi8(bytes, places);
    lanes = _mm256_blend_epi16(lanes, _mm256_srli_epi16(lanes, 4), 0xaa);
    return _mm256_or_si256(_mm256_and_si256(lanes, _mm256_set1_epi16(0x003f)),
                           _mm256_and_si256(_mm256_slli_epi16(lanes, 2), _mm256_set1_epi16(0x3f00)));
#endif
}

// From each 32 bytes those at even places, then those at odd ones.
__attribute__((always_inline)) inline Bytes evens_first(Bytes bytes) {
    const __m128i apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_permutex_epi64(_mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(apart)), 0xd8);
#else
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(apart)), 0xd8);
#endif
}

// Each of four numbers twice.
__attribute__((always_inline)) inline __m256 each_twice(__m128 numbers) {
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(numbers), _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}

template <WeightType kType>
requires(traits_of(kType).is_packed()) struct CodeGroup<kType> {
    static constexpr int kBits = traits_of(kType).bits;
    static constexpr int kBytes = kGroup * kBits / 8;  // of codes
    static constexpr int kGroups = kGroup / traits_of(kType).group;
    static constexpr int kScaleBytes = kType == WeightType::kInt8 ? 2 : 1;
    static constexpr int kHalves = has_half_scales(kType) ? 2 : 1;
    static constexpr bool kHasZeros = kType == WeightType::kHqq4 || kType == WeightType::kHqq3;  // in separate bytes

    const std::uint8_t* codes;
    __m256 scales[kHalves];
    __m256 biases[kHalves];  // if has_biases(kType)

    __attribute__((always_inline)) void open(CodeRow row, std::int64_t group) {
        const PackedRow& layout = *row.layout;
        codes = row.bytes + layout.codes + group * kBytes;
        const std::uint8_t* const of_groups = row.bytes + layout.scales + group * (kGroups * kScaleBytes);
        if constexpr (kType == WeightType::kInt8) {
            const __m128i words = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(of_groups)));
            scales[0] = each_twice(_mm_castsi128_ps(_mm_slli_epi32(words, 16)));
        } else {
            const std::uint8_t* const super = row.bytes + group / (traits_of(kType).super_group / kGroups) * 16;
            // One by one, so that each is broadcast from memory.
            const auto of_super = [&](std::size_t place) __attribute__((always_inline)) {
                float number = 0.0f;
                std::memcpy(&number, super + place, sizeof number);
                return _mm256_set1_ps(number);
            };
            const __m256 scale_offset = of_super(offsetof(PackedSuper, scale_offset));
            const __m256 scale_step = of_super(offsetof(PackedSuper, scale_step));
            const __m256 zero_offset = of_super(offsetof(PackedSuper, zero_offset));
            const __m256 zero_step = of_super(offsetof(PackedSuper, zero_step));
            if constexpr (kType == WeightType::kHqq2) {
                const __m128i both = load_16(of_groups);
                const __m128i low = _mm_set1_epi8(15);
                __m256 s[2];
                __m256 z[2];
                factors_of_halves(_mm_and_si128(both, low), 1.0f, s);
                factors_of_halves(_mm_and_si128(_mm_srli_epi16(both, 4), low), 1.0f, z);
                for (int half = 0; half < 2; ++half) {
                    scales[half] = _mm256_fmadd_ps(s[half], scale_step, scale_offset);
                    biases[half] = negative_product(scales[half], _mm256_fmadd_ps(z[half], zero_step, zero_offset));
                }
            } else {
                const __m256 s = each_twice(numbers_of(of_groups));
                const __m256 z = each_twice(numbers_of(row.bytes + layout.zeros + group * kGroups));
                scales[0] = _mm256_fmadd_ps(s, scale_step, scale_offset);
                biases[0] = negative_product(scales[0], _mm256_fmadd_ps(z, zero_step, zero_offset));
            }
        }
    }

    static __attribute__((always_inline)) void fetch(CodeRow row, std::int64_t group, std::int64_t ahead) {
        const auto at = [&](std::int64_t place) __attribute__((always_inline)) {
            if constexpr (kType == WeightType::kHqq2) {
                prefetch_into_first(row.bytes + ahead + place);
            } else {
                prefetch(row.bytes + ahead + place);
            }
        };
        for (int line = 0; line < kBytes; line += 64) at(row.layout->codes + group * kBytes + line);
        if (group % 8 == 0) {  // a line of scales and zeros lasts for more
            at(row.layout->scales + group * (kGroups * kScaleBytes));
            at(row.layout->zeros + group * kGroups);
        }
    }

    // As a row of 256 weights.
    struct Rest {
        static constexpr PackedRow kLayout = packed_row(kType, kGroup);
        alignas(16) std::uint8_t bytes[kLayout.bytes];

        CodeRow take(CodeRow from, std::int64_t group, std::int64_t n_weights) {
            std::memset(bytes, 0, sizeof bytes);
            const PackedRow& layout = *from.layout;
            const auto copy = [&](std::int64_t to, std::int64_t place, std::int64_t n) {
                std::memcpy(bytes + to, from.bytes + place, static_cast<std::size_t>(n));
            };
            const std::int64_t n = n_weights / layout.group;
            const std::int64_t first = group * kGroups;
            if (layout.n_supers > 0) copy(0, first / layout.super_group * 16, 16);
            copy(kLayout.codes, layout.codes + group * kBytes, n_weights * kBits / 8);
            copy(kLayout.scales, layout.scales + first * kScaleBytes, n * kScaleBytes);
            if (kHasZeros) copy(kLayout.zeros, layout.zeros + first, n);
            return {bytes, &kLayout};
        }
    };

    template <int kIndex>
    __attribute__((always_inline)) Bytes unit() const {
        if constexpr (kType == WeightType::kInt8) {
            const Bytes signed_codes = load_unit(codes + kIndex * kUnit);
#if OFFSTAGE_VECTOR_BITS == 512
            return offset_of(kType) > 0 ? _mm512_xor_si512(signed_codes, all_bytes(-128)) : signed_codes;
#else
            return offset_of(kType) > 0 ? _mm256_xor_si256(signed_codes, all_bytes(-128)) : signed_codes;
#endif
        } else if constexpr (kType == WeightType::kHqq2) {
            return bits_of_bytes(load_unit(codes + kIndex / 4 * kUnit), kIndex % 4 * 2, 3);
        } else if constexpr (kType == WeightType::kHqq3) {
            return bits_of_bytes(evens_first(pairs_of_threes(codes + kIndex / 2 * (kUnit * 3 / 4))), kIndex % 2 * 3, 7);
        } else {
            static_assert(kType == WeightType::kHqq4, "all formats are here");
            return bits_of_bytes(evens_first(load_unit(codes + kIndex / 2 * kUnit)), kIndex % 2 * 4, 15);
        }
    }

  private:
    // Four, of bytes.
    static __attribute__((always_inline)) __m128 numbers_of(const std::uint8_t* bytes) {
        return _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(static_cast<int>(word32_at(bytes)))));
    }
    static __attribute__((always_inline)) __m256 negative_product(__m256 a, __m256 b) {
        return _mm256_xor_ps(_mm256_mul_ps(a, b), _mm256_set1_ps(-0.0f));
    }
};

}  // namespace
}  // namespace offstage::kernels
