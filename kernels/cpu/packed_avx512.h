#pragma once
// Blocks of packed rows (kernels/packed.h) by AVX-512. Included only by files compiled for it.
//
// A group's values are a table of 16 floats, made by one multiply-add; a permutation turns 16 codes into 16 weights. It
// looks at the lowest four bits of each lane alone, so that codes need a shift and no mask; tables for codes of fewer
// bits repeat themselves, whatever the bits above the code are.

#include "kernels/cpu/simd_avx512.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/packed_groups_simd.h"

namespace offstage::kernels {
namespace {

// A block in registers: vector<v>() holds the weights that meet inputs place<v>() .. place<v>() + kLanes - 1.
template <WeightType kType>
struct PackedBlock;

template <int kBits>
__attribute__((always_inline)) inline __m512i shifted(__m512i words) {
    if constexpr (kBits == 0) return words;
    return _mm512_srli_epi32(words, kBits);
}

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

template <>
struct PackedBlock<WeightType::kHqq4> {
    __m512i words;
    Vector table;

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<WeightType::kHqq4>& groups,
                                             int index) {
        words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block)));
        table = _mm512_fmadd_ps(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                broadcast(groups.scale[0][index]), broadcast(groups.bias[index]));
    }
    template <int kVector>
    static constexpr int place() {
        return 16 * kVector;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        return _mm512_permutexvar_ps(shifted<4 * kVector>(words), table);
    }
};

template <>
struct PackedBlock<WeightType::kHqq3> {
    __m512i words;
    Vector table;

    // Reads 32 bytes, 8 more than the block has: behind a row's last block come at least 8 bytes of scales and zeros.
    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<WeightType::kHqq3>& groups,
                                             int index) {
        // Lane l begins at bit 12 l: in half w = 12 l / 16 of the bytes, 12 l % 16 bits in, and ends in that half or
        // the next. A word of `halves` is w + 65536 (w + 1).
        const __m512i halves =
            _mm512_setr_epi32(0x10000, 0x10000, 0x20001, 0x30002, 0x40003, 0x40003, 0x50004, 0x60005, 0x70006, 0x70006,
                              0x80007, 0x90008, 0xa0009, 0xa0009, 0xb000a, 0xc000b);
        const __m512i starts = _mm512_setr_epi32(0, 12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4, 0, 12, 8, 4);
        const __m512i bytes = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block)));
        words = _mm512_srlv_epi32(_mm512_permutexvar_epi16(halves, bytes), starts);
        table = _mm512_fmadd_ps(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7),
                                broadcast(groups.scale[0][index]), broadcast(groups.bias[index]));
    }
    template <int kVector>
    static constexpr int place() {
        return 16 * kVector;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        return _mm512_permutexvar_ps(shifted<3 * kVector>(words), table);
    }
};

template <>
struct PackedBlock<WeightType::kHqq2> {
    __m512i words;
    const float* scales;
    const float* biases;

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<WeightType::kHqq2>& groups,
                                             int index) {
        words = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block)));
        scales = groups.scale[0] + 4 * index;
        biases = groups.bias + 4 * index;
    }
    template <int kVector>
    static constexpr int place() {
        return 16 * kVector;
    }
    // Four entries suffice, in every quarter of the register: that permutation needs two bits of each lane.
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        const Vector table = _mm512_fmadd_ps(_mm512_setr_ps(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3),
                                             broadcast(scales[kVector]), broadcast(biases[kVector]));
        return _mm512_permutevar_ps(table, shifted<2 * kVector>(words));
    }
};

}  // namespace
}  // namespace offstage::kernels
