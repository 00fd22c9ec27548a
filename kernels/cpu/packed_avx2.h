#pragma once
// Blocks of packed rows (kernels/packed.h) by AVX2. Included only by files compiled for it.
//
// Codes of 2 and 3 bits look their weights up in a group's table of 4 or 8 floats: those permutations heed no higher
// bits, so that codes need a shift and no mask. Codes of 4 bits would need two tables: they are masked where they lie
// and converted, and the scale makes up for the place.

#include "kernels/cpu/simd_avx2.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/packed_groups_simd.h"

namespace offstage::kernels {
namespace {

// A block in registers: vector<v>() holds the weights that meet inputs place<v>() .. place<v>() + kLanes - 1.
template <WeightType kType>
struct PackedBlock;

template <int kBits>
__attribute__((always_inline)) inline __m256i shifted(__m256i words) {
    if constexpr (kBits == 0) return words;
    return _mm256_srli_epi32(words, kBits);
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
        return 8 * kVector;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 8 * kVector));
        return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), scale);
    }
};

// Vectors 0 .. 3 are the four codes of lanes 0 .. 7, vectors 4 .. 7 those of lanes 8 .. 15.
template <>
struct PackedBlock<WeightType::kHqq4> {
    __m256i words[2];
    const float* scales;
    Vector bias;

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<WeightType::kHqq4>& groups,
                                             int index) {
        const auto* halves = reinterpret_cast<const __m128i*>(block);
        words[0] = _mm256_cvtepu16_epi32(_mm_loadu_si128(halves));
        words[1] = _mm256_cvtepu16_epi32(_mm_loadu_si128(halves + 1));
        scales = groups.scale[0] + index;
        bias = broadcast(groups.bias[index]);
    }
    template <int kVector>
    static constexpr int place() {
        return kVector % 4 * 16 + kVector / 4 * 8;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        constexpr int kCode = kVector % 4;
        const __m256i codes = _mm256_and_si256(words[kVector / 4], _mm256_set1_epi32(15 << 4 * kCode));
        const Vector scale = broadcast(scales[kCode * GroupScales<WeightType::kHqq4>::kGroups]);
        return _mm256_fmadd_ps(_mm256_cvtepi32_ps(codes), scale, bias);
    }
};

template <>
struct PackedBlock<WeightType::kHqq3> {
    __m256i words[2];
    Vector table;

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<WeightType::kHqq3>& groups,
                                             int index) {
        // Lane l begins at bit 12 l: in byte 3 l / 2, 0 or 4 bits in, and ends in the next byte. Four lanes are in each
        // half of a register; the second register's bytes are taken from byte 8 on.
        const __m256i places[2] = {
            _mm256_setr_epi8(0, 1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1, 4, 5, -1, -1,  //
                             6, 7, -1, -1, 7, 8, -1, -1, 9, 10, -1, -1, 10, 11, -1, -1),
            _mm256_setr_epi8(4, 5, -1, -1, 5, 6, -1, -1, 7, 8, -1, -1, 8, 9, -1, -1,  //
                             10, 11, -1, -1, 11, 12, -1, -1, 13, 14, -1, -1, 14, 15, -1, -1),
        };
        const __m256i starts = _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4);
        for (int half = 0; half < 2; ++half) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 8 * half));
            const __m256i pairs = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), places[half]);
            words[half] = _mm256_srlv_epi32(pairs, starts);
        }
        table = _mm256_fmadd_ps(_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7), broadcast(groups.scale[0][index]),
                                broadcast(groups.bias[index]));
    }
    template <int kVector>
    static constexpr int place() {
        return kVector % 4 * 16 + kVector / 4 * 8;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        return _mm256_permutevar8x32_ps(table, shifted<3 * (kVector % 4)>(words[kVector / 4]));
    }
};

template <>
struct PackedBlock<WeightType::kHqq2> {
    __m256i words[2];
    const float* scales;
    const float* biases;

    __attribute__((always_inline)) void read(const std::byte* block, const GroupScales<WeightType::kHqq2>& groups,
                                             int index) {
        words[0] = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block)));
        words[1] = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 8)));
        scales = groups.scale[0] + 4 * index;
        biases = groups.bias + 4 * index;
    }
    template <int kVector>
    static constexpr int place() {
        return 8 * kVector;
    }
    template <int kVector>
    __attribute__((always_inline)) Vector vector() const {
        constexpr int kCode = kVector / 2;  // and the group: its 16 weights are one code of all lanes
        const Vector table =
            _mm256_fmadd_ps(_mm256_setr_ps(0, 1, 2, 3, 0, 1, 2, 3), broadcast(scales[kCode]), broadcast(biases[kCode]));
        return _mm256_permutevar_ps(table, shifted<2 * kCode>(words[kVector % 2]));
    }
};

}  // namespace
}  // namespace offstage::kernels
