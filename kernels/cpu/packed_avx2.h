#pragma once
// Blocks of packed rows (kernels/packed.h) by AVX2. Included only by files compiled for
// it.
//
// Codes of 2 and 3 bits select their weights from a group's table of 4 or 8 floats: those
// permutations ignore higher bits, so that codes need a shift and no mask. Codes of 4
// bits would need two tables: they are masked in place and converted, and the scale
// corrects for their place.

#include "kernels/cpu/packed_groups_simd.h"

namespace offstage::kernels {
namespace {

template <int kBits>
__attribute__((always_inline)) inline __m256i shifted(__m256i words) {
    if constexpr (kBits == 0) return words;
    return _mm256_srli_epi32(words, kBits);
}

// The 16 lanes of a block's codes, one lane in each word, from its lowest bit on.
template <int kBits>
__attribute__((always_inline)) inline void load_codes(const std::byte* block, __m256i (&words)[2]) {
    // 3 bits: lane l begins at bit 12 l, which is byte 3 l / 2 plus 0 or 4 bits, and ends
    // in the next byte. Each half of a register has four lanes; the second register's
    // bytes begin at byte 8.
    const __m256i places[2] = {
        _mm256_setr_epi8(0, 1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1, 4, 5, -1, -1,  //
                         6, 7, -1, -1, 7, 8, -1, -1, 9, 10, -1, -1, 10, 11, -1, -1),
        _mm256_setr_epi8(4, 5, -1, -1, 5, 6, -1, -1, 7, 8, -1, -1, 8, 9, -1, -1,  //
                         10, 11, -1, -1, 11, 12, -1, -1, 13, 14, -1, -1, 14, 15, -1, -1),
    };
    const __m256i starts = _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4);
    for (int half = 0; half < 2; ++half) {
        if constexpr (kBits == 4) {
            words[half] = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * half)));
        } else if constexpr (kBits == 3) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 8 * half));
            const __m256i pairs = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), places[half]);
            words[half] = _mm256_srlv_epi32(pairs, starts);
        } else {
            static_assert(kBits == 2);
            words[half] = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 8 * half)));
        }
    }
}

// The values of a group's codes of 2 or 3 bits.
template <int kBits>
__attribute__((always_inline)) inline Vector table_of(float scale, float bias) {
    constexpr int kTop = (1 << kBits) - 1;
    return _mm256_fmadd_ps(_mm256_setr_ps(0, 1, 2, 3, 4 & kTop, 5 & kTop, 6 & kTop, 7 & kTop), broadcast(scale),
                           broadcast(bias));
}

// HQQ. A block in registers: vector<v>() holds the weights for inputs place<v>() ..
// place<v>() + kLanes - 1. Where the block is one group, vectors 0 .. 3 are the four
// codes of lanes 0 .. 7, vectors 4 .. 7 those of lanes 8 .. 15; otherwise the vectors
// follow the weights, group by group.
template <WeightType kType>
struct PackedBlock {
    using Format = PackedFormat<kType>;
    static constexpr int kBits = Format::kBits;
    static constexpr int kGroups = Format::kGroupsPerBlock;
    __m256i words[2];
    Vector table;         // the only group's, 2 or 3 bits
    Vector bias;          // the only group's, 4 bits
    const float* scales;  // the groups' scales
    const float* biases;

    template <int kVector>
    static constexpr int code() {
        return kGroups == 1 ? kVector % 4 : kVector / 2;
    }
    template <int kVector>
    static constexpr int half() {
        return kGroups == 1 ? kVector / 4 : kVector % 2;
    }

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<kType>& groups, int index) {
        load_codes<kBits>(block, words);
        scales = groups.scale[0] + kGroups * index;
        biases = groups.bias + kGroups * index;
        if constexpr (kGroups == 1 && kBits == 4) bias = broadcast(*biases);
        if constexpr (kGroups == 1 && kBits < 4) table = table_of<kBits>(*scales, *biases);
    }
    template <int kVector>
    static constexpr int place() {
        return 16 * code<kVector>() + 8 * half<kVector>();
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        constexpr int kCode = code<kVector>();
        constexpr int kGroup = kCode * kGroups / 4;  // 16 weights are one code of all lanes
        const __m256i its_words = words[half<kVector>()];
        if constexpr (kBits == 4) {
            const __m256i codes = _mm256_and_si256(its_words, _mm256_set1_epi32(15 << 4 * kCode));
            const Vector scale = broadcast(scales[kCode * GroupScales<kType>::kGroups + kGroup]);
            return _mm256_fmadd_ps(_mm256_cvtepi32_ps(codes), scale, kGroups == 1 ? bias : broadcast(biases[kGroup]));
        } else {
            const Vector values = kGroups == 1 ? table : table_of<kBits>(scales[kGroup], biases[kGroup]);
            const __m256i codes = shifted<kBits * kCode>(its_words);
            return kBits == 2 ? _mm256_permutevar_ps(values, codes) : _mm256_permutevar8x32_ps(values, codes);
        }
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
        return 8 * kVector;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 8 * kVector));
        return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), scale);
    }
};

}  // namespace
}  // namespace offstage::kernels
