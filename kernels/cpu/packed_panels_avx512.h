#pragma once
// Groups of 256 weights of 16 packed rows side by side, in the layout of
// quantized_panel_dots_simd.h, by AVX-512. The codes are interleaved before they are
// unpacked: this takes half the moves of interleaving them afterwards.

#include <cstring>

#include "kernels/cpu/quantized_row_dots_simd.h"

namespace offstage::kernels {
namespace {

__attribute__((always_inline)) inline void load_side_by_side(const CodeRow (&rows)[kLanes], std::int64_t at,
                                                             Vector (&words)[kLanes]) {
    for (int lane = 0; lane < kLanes; ++lane) {
        words[lane] = _mm512_castsi512_ps(_mm512_loadu_si512(rows[lane].bytes + at));
    }
}

// Four bytes of each row.
__attribute__((always_inline)) inline __m512i word_of_rows(const CodeRow (&rows)[kLanes], std::int64_t at) {
    alignas(64) std::int32_t words[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) std::memcpy(words + lane, rows[lane].bytes + at, sizeof words[lane]);
    return _mm512_load_si512(words);
}

// The scales and zeros of all rows' super groups.
struct SupersOfRows {
    Vector scale_offset, scale_step, zero_offset, zero_step;

    __attribute__((always_inline)) void read(const CodeRow (&rows)[kLanes], std::int64_t index) {
        alignas(64) float numbers[4][kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            PackedSuper super;
            std::memcpy(&super, rows[lane].bytes + index * static_cast<std::int64_t>(sizeof super), sizeof super);
            numbers[0][lane] = super.scale_offset;
            numbers[1][lane] = super.scale_step;
            numbers[2][lane] = super.zero_offset;
            numbers[3][lane] = super.zero_step;
        }
        scale_offset = load(numbers[0]);
        scale_step = load(numbers[1]);
        zero_offset = load(numbers[2]);
        zero_step = load(numbers[3]);
    }
};

// Unpacks group g: codes in the order of part_at(), and numbers (kScales vectors: scales
// and biases). Call it for the groups in order, from the first: supers are those of the
// last call.
template <WeightType kType>
__attribute__((always_inline)) inline void unpack_packed_panel(const CodeRow (&rows)[kLanes], std::int64_t g,
                                                               SupersOfRows& supers, std::uint8_t* codes,
                                                               float* numbers) {
    using Group = CodeGroup<kType>;
    const PackedRow& layout = *rows[0].layout;
    const std::int64_t first_code = layout.codes + g * Group::kBytes;
    const std::int64_t first_scale = layout.scales + g * (Group::kGroups * Group::kScaleBytes);
    const auto store_codes = [&](auto part, auto i, __m512i vector) __attribute__((always_inline)) {
        constexpr int kPlace = places_of_parts(kType)[static_cast<std::size_t>(decltype(part)::value)];
        constexpr int kVector = kPlace * (kPartWeights / 4) + decltype(i)::value;
        _mm512_storeu_si512(codes + kVector * static_cast<int>(sizeof vector), vector);
    };
    if constexpr (kType == WeightType::kInt8) {
        unrolled<kUnits>([&](auto unit) __attribute__((always_inline)) {
            Vector words[kLanes];
            load_side_by_side(rows, first_code + unit * kUnit, words);
            transpose_words(words);
            unrolled<kLanes>([&](auto word) __attribute__((always_inline)) {
                constexpr int kWord = decltype(word)::value;
                const __m512i bytes = _mm512_castps_si512(words[kWord]);
                store_codes(std::integral_constant<int, decltype(unit)::value * kUnitParts + kWord / 4>{},
                            std::integral_constant<int, kWord % 4>{},
                            offset_of(kType) > 0 ? _mm512_xor_si512(bytes, all_bytes(-128)) : bytes);
            });
        });
        for (int pair = 0; pair < Group::kGroups / 2; ++pair) {  // groups of 64, a bf16 each
            const __m512i both = word_of_rows(rows, first_scale + pair * 4);
            const Vector scales[2] = {
                _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)),
                _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(static_cast<int>(0xffff0000u))))};
            for (int k = 0; k < 4; ++k) store(numbers + (4 * pair + k) * kLanes, scales[k / 2]);
        }
    } else {
        static_assert(kType == WeightType::kHqq4, "all formats are here");
        // The lower bytes of four lanes, which have two bytes each, first: codes 0 and 1
        // of each, then codes 2 and 3.
        const __m512i apart =
            _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
        const __m512i low = all_bytes(15);
        unrolled<2>([&](auto blocks) __attribute__((always_inline)) {  // 64 weights each
            Vector words[kLanes];
            load_side_by_side(rows, first_code + blocks * 64, words);
            for (Vector& word : words) {
                word = _mm512_castsi512_ps(_mm512_shuffle_epi8(_mm512_castps_si512(word), apart));
            }
            transpose_words(words);
            unrolled<kLanes>([&](auto word) __attribute__((always_inline)) {
                constexpr int kWord = decltype(word)::value;
                constexpr int kPart = 4 * (2 * decltype(blocks)::value + kWord / 8) + kWord % 2 * 2;
                const std::integral_constant<int, kWord % 8 / 2> vector;
                const __m512i pairs = _mm512_castps_si512(words[kWord]);
                store_codes(std::integral_constant<int, kPart>{}, vector, _mm512_and_si512(pairs, low));
                store_codes(std::integral_constant<int, kPart + 1>{}, vector,
                            _mm512_and_si512(_mm512_srli_epi16(pairs, 4), low));
            });
        });
        constexpr std::int64_t kGroupsOfSuper = traits_of(kType).super_group / Group::kGroups;
        if (g % kGroupsOfSuper == 0) supers.read(rows, g / kGroupsOfSuper);
        const __m512i scale_codes = word_of_rows(rows, first_scale);
        const __m512i zero_codes = word_of_rows(rows, layout.zeros + g * Group::kGroups);
        for (int group = 0; group < Group::kGroups; ++group) {
            const auto numbers_at = [&](__m512i of_groups) __attribute__((always_inline)) {
                const __m512i shifted = _mm512_srl_epi32(of_groups, _mm_cvtsi32_si128(8 * group));
                return _mm512_cvtepi32_ps(_mm512_and_si512(shifted, _mm512_set1_epi32(255)));
            };
            const Vector scale = fma(numbers_at(scale_codes), supers.scale_step, supers.scale_offset);
            const Vector zeros = fma(numbers_at(zero_codes), supers.zero_step, supers.zero_offset);
            const Vector bias = _mm512_xor_ps(multiply(scale, zeros), broadcast(-0.0f));
            for (int k = 2 * group; k < 2 * group + 2; ++k) {
                store(numbers + 2 * k * kLanes, scale);
                store(numbers + (2 * k + 1) * kLanes, bias);
            }
        }
    }
}

}  // namespace
}  // namespace offstage::kernels
