#pragma once
// Blocks of packed rows (kernels/packed.h) by AVX-512. Included only by files compiled
// for it.
//
// A group's values are a table of 16 floats, made by one multiply-add; a permutation
// turns 16 codes into 16 weights. The permutation uses only the lowest four bits of each
// lane, so that codes need a shift and no mask. Tables for codes of fewer bits repeat, so
// that higher bits do not matter.

#include "kernels/cpu/packed_groups_simd.h"

namespace offstage::kernels {
namespace {

template <int kBits>
__attribute__((always_inline)) inline __m512i shifted(__m512i words) {
    if constexpr (kBits == 0) return words;
    return _mm512_srli_epi32(words, kBits);
}

// The 16 lanes of a block's codes, one lane in each word, from its lowest bit on.
template <int kBits>
__attribute__((always_inline)) inline __m512i load_codes(const std::byte* block) {
    if constexpr (kBits == 4) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block)));
    } else if constexpr (kBits == 3) {
        // Reads 32 bytes, 8 more than the block has: behind a row's last block come at
        // least 8 bytes of scales and zeros. Lane l begins at bit 12 l: in half w = 12 l
        // / 16 of the bytes, 12 l % 16 bits in, and ends in that half or the next. A word
        // of `halves` is w + 65536 (w + 1).
        const __m512i halves =
            _mm512_setr_epi32(0x10000, 0x10000, 0x20001, 0x30002, 0x40003, 0x40003, 0x50004, 0x60005, 0x70006, 0x70006,
                              0x80007, 0x90008, 0xa0009, 0xa0009, 0xb000a, 0xc000b);
        const __m512i starts = _mm512_setr_epi32(0, 12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4);
        const __m512i bytes = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block)));
        return _mm512_srlv_epi32(_mm512_permutexvar_epi16(halves, bytes), starts);
    } else {
        static_assert(kBits == 2);
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block)));
    }
}

// The values of a group's codes. Tables of fewer than four bits repeat.
template <int kBits>
__attribute__((always_inline)) inline Vector table_of(float scale, float bias) {
    constexpr int kTop = (1 << kBits) - 1;
    const Vector codes = _mm512_setr_ps(0, 1, 2, 3, 4 & kTop, 5 & kTop, 6 & kTop, 7 & kTop, 8 & kTop, 9 & kTop,
                                        10 & kTop, 11 & kTop, 12 & kTop, 13 & kTop, 14 & kTop, 15 & kTop);
    return _mm512_fmadd_ps(codes, broadcast(scale), broadcast(bias));
}

// HQQ. A block in registers: vector<v>() holds the weights for inputs place<v>() ..
// place<v>() + kLanes - 1.
template <WeightType kType>
struct PackedBlock {
    using Format = PackedFormat<kType>;
    static constexpr int kBits = Format::kBits;
    static constexpr int kGroups = Format::kGroupsPerBlock;
    __m512i words;
    Vector table;         // the only group's, or
    const float* scales;  // the groups' scales
    const float* biases;

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<kType>& groups, int index) {
        words = load_codes<kBits>(block);
        scales = groups.scale[0] + kGroups * index;
        biases = groups.bias + kGroups * index;
        if constexpr (kGroups == 1) table = table_of<kBits>(*scales, *biases);
    }
    template <int kVector>
    static constexpr int place() {
        return 16 * kVector;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        constexpr int kGroup = kVector * kGroups / 4;  // 16 weights are one code of all lanes
        const Vector values = kGroups == 1 ? table : table_of<kBits>(scales[kGroup], biases[kGroup]);
        const __m512i codes = shifted<kBits * kVector>(words);
        // Four entries suffice for two bits, in every quarter of the register: that
        // permutation needs two bits of each lane.
        return kBits == 2 ? _mm512_permutevar_ps(values, codes) : _mm512_permutexvar_ps(codes, values);
    }
};

template <>
struct PackedBlock<WeightType::kInt8> {
    const std::byte* codes;
    Vector scale;

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<WeightType::kInt8>& groups,
                                             int index) {
        codes = block;
        scale = broadcast(groups.scale[0][index]);
    }
    template <int kVector>
    static constexpr int place() {
        return 16 * kVector;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 16 * kVector));
        return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), scale);
    }
};

}  // namespace
}  // namespace offstage::kernels
