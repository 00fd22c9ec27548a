#pragma once
// Rows of a file's blocks, in their stored order, times a few tokens' inputs of 8 bits.
//
// The order of a product's sums, which quantized_panel_dots_simd.h shares: codes times
// inputs are added up exactly, as whole numbers, over the weights of one scale. For 32
// weights of scale s and inputs of scale t the term is (s * sum) * t, for halves with
// their own scales (s0 * sum0 + s1 * sum1) * t. It is added to the sum of its eighth: the
// first 32 weights of each group of 256 make the first eighth, and so on. After that the
// bias times the inputs' sum is added. sum_of_eighths() adds the eighths at the end.

#include <cstring>
#include <type_traits>

#include "kernels/cpu/byte_inputs_simd.h"
#include "kernels/cpu/packed_groups_simd.h"
#include "kernels/cpu/products_simd.h"
#include "kernels/cpu_product_table.h"

namespace offstage::kernels {
namespace {

// Whether rows of the type are put side by side before they are unpacked.
constexpr bool has_fast_panels(WeightType type) {
    return kLanes == 16 && (type == WeightType::kHqq4 || type == WeightType::kInt8);
}
// Of this instruction set, for kernels/cpu_product_table.h.
constexpr std::uint32_t kProductFacts = kLanes == 16 ? product_needs::kLanes16
                                        : kHasVnni   ? product_needs::kLanes8
                                                     : product_needs::kLanes8 | product_needs::kNoVnni;
// Whether matvec_bytes() multiplies so many tokens by panels.
constexpr bool takes_panels(WeightType type, int n_tokens) {
    return find_cpu_product({ProductOf::kMatrix, weights_of(type), ProductInputs::kBytes, n_tokens, kProductFacts}) ==
           CpuProduct::kQuantizedPanels;
}

__attribute__((always_inline)) inline float sum_of_eighths(__m256 v) {
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

// Lane 4 j + u: the sum of the four lanes 4 j .. of vector u.
__attribute__((always_inline)) inline Bytes sums_of_four(Bytes a, Bytes b, Bytes c, Bytes d) {
#if OFFSTAGE_VECTOR_BITS == 512
    const Bytes ab = add_sums(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const Bytes cd = add_sums(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    return add_sums(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
#else
    const Bytes ab = add_sums(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const Bytes cd = add_sums(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    return add_sums(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
#endif
}

// Units that follow each other and have the same scales in the same lanes.
constexpr int units_together(WeightType type) {
    if (kLanes == 16 && (type == WeightType::kQ4K || type == WeightType::kQ5K)) return 2;
    return has_halves_apart(type) ? 2 : 1;
}

#if OFFSTAGE_VECTOR_BITS == 512
// The lane in which sums_of_four() of all units puts part i.
template <WeightType kType>
constexpr int lane_of_part(int part) {
    const int place = places_of_parts(kType)[static_cast<std::size_t>(part)];
    return place % 4 * 4 + place / 4;
}
#endif

// The sums of the eighths from those of each four weights, `dots` of units as they follow
// each other.
template <WeightType kType, int kVectors, int kHalves>
__attribute__((always_inline)) inline void sums_of_scales(const Bytes (&dots)[kVectors], __m256i (&sums)[kHalves]) {
#if OFFSTAGE_VECTOR_BITS == 512
    if constexpr (kVectors == 2) {  // four eighths each, four lanes to an eighth
        const Bytes halves = add_sums(_mm512_unpacklo_epi32(dots[0], dots[1]), _mm512_unpackhi_epi32(dots[0], dots[1]));
        const Bytes all = add_sums(halves, _mm512_shuffle_epi32(halves, _MM_PERM_BADC));
        // Lane 4 j + i has sum j of vector i.
        constexpr auto at = [](int eighth) {
            const int place = places_of_parts(kType)[static_cast<std::size_t>(2 * eighth)];
            return place % 4 * 4 + place / 8;
        };
        sums[0] = _mm512_castsi512_si256(_mm512_permutexvar_epi32(
            _mm512_setr_epi32(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), 0, 0, 0, 0, 0, 0, 0, 0), all));
    } else {
        static_assert(kVectors == 4);
        constexpr auto at = [](int part) { return lane_of_part<kType>(part); };
        const __m512i order = _mm512_setr_epi32(at(0), at(2), at(4), at(6), at(8), at(10), at(12), at(14), at(1), at(3),
                                                at(5), at(7), at(9), at(11), at(13), at(15));
        const Bytes parts = _mm512_permutexvar_epi32(order, sums_of_four(dots[0], dots[1], dots[2], dots[3]));
        const __m256i first = _mm512_castsi512_si256(parts);
        const __m256i second = _mm512_extracti64x4_epi64(parts, 1);
        if constexpr (kHalves == 2) {
            sums[0] = first;
            sums[1] = second;
        } else {
            sums[0] = _mm256_add_epi32(first, second);
        }
    }
#else
    Bytes lower = sums_of_four(dots[0], dots[1], dots[2], dots[3]);
    if constexpr (kVectors == 4) {  // vector i: eighths 2 i and 2 i + 1
        sums[0] = _mm256_permutevar8x32_epi32(lower, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    } else {
        static_assert(kVectors == 8);
        Bytes upper = sums_of_four(dots[4], dots[5], dots[6], dots[7]);
        if constexpr (kType == WeightType::kHqq2) {  // parts 0 .. 7, and 8 .. 15
            const __m256i apart = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
            lower = _mm256_permutevar8x32_epi32(lower, apart);
            upper = _mm256_permutevar8x32_epi32(upper, apart);
        }
        const __m256i first = _mm256_permute2x128_si256(lower, upper, 0x20);
        const __m256i second = _mm256_permute2x128_si256(lower, upper, 0x31);
        if constexpr (kHalves == 2) {
            sums[0] = first;
            sums[1] = second;
        } else {
            sums[0] = _mm256_add_epi32(first, second);
        }
    }
#endif
}

// eighths[r][t] += a group of 256 weights of row r times the tokens' inputs.
template <WeightType kType, int kRows, int kTokens>
__attribute__((always_inline)) inline void add_groups(const CodeRow (&rows)[kRows], std::int64_t index,
                                                      const ByteGroup* const (&x)[kTokens], std::int64_t at,
                                                      __m256 (&eighths)[kRows][kTokens]) {
    using Group = CodeGroup<kType>;
    constexpr int kTogether = units_together(kType);
    constexpr int kVectors = kUnits / kTogether;
    Group groups[kRows];
    for (int r = 0; r < kRows; ++r) groups[r].open(rows[r], index);
    Bytes dots[kRows][kTokens][kVectors];
    unrolled<kVectors>([&](auto vector) __attribute__((always_inline)) {
        constexpr int kVector = decltype(vector)::value;
        Bytes codes[kRows][kTogether];
        for (int r = 0; r < kRows; ++r) {
            codes[r][0] = groups[r].template unit<kTogether * kVector>();
            if constexpr (kTogether == 2) codes[r][1] = groups[r].template unit<kTogether * kVector + 1>();
        }
        for (int t = 0; t < kTokens; ++t) {
            Bytes inputs[kTogether];
            for (int i = 0; i < kTogether; ++i) {
                const std::int8_t* const place = x[t][at].codes + (kTogether * kVector + i) * kUnit;
                inputs[i] = load_unit(reinterpret_cast<const std::uint8_t*>(place));
            }
            for (int r = 0; r < kRows; ++r) {
                dots[r][t][kVector] = add_dots<code_range(kType)>(
                    no_sums(), codes[r], [&](int i) __attribute__((always_inline)) { return inputs[i]; });
            }
        }
    });
    for (int t = 0; t < kTokens; ++t) {
        const ByteGroup& in = x[t][at];
        for (int r = 0; r < kRows; ++r) {
            const Group& group = groups[r];
            __m256i sums[Group::kHalves];
            sums_of_scales<kType>(dots[r][t], sums);
            __m256 numbers[Group::kHalves];
            for (int half = 0; half < Group::kHalves; ++half) {
                if constexpr (input_words(kType) == InputWords::kCorrections) {
                    sums[half] = _mm256_add_epi32(sums[half], load_words(in.words + kScales * half));
                }
                numbers[half] = _mm256_cvtepi32_ps(sums[half]);
            }
            __m256 product = _mm256_mul_ps(numbers[0], group.scales[0]);
            if constexpr (Group::kHalves == 2) product = _mm256_fmadd_ps(numbers[1], group.scales[1], product);
            __m256& sum = eighths[r][t];
            sum = _mm256_fmadd_ps(product, _mm256_loadu_ps(in.scales), sum);
            if constexpr (has_biases(kType)) {
                for (int half = 0; half < Group::kHalves; ++half) {
                    const __m256 of_inputs = _mm256_castsi256_ps(load_words(in.words + kScales * half));
                    sum = _mm256_fmadd_ps(group.biases[half], of_inputs, sum);
                }
            }
        }
    }
}

// Rows taken at once, each from its own stretch: two streams are read faster than one,
// and inputs are loaded once for both.
constexpr int streams_at_once(int n_tokens) {
    return n_tokens == 1 ? 2 : 1;
}

// The prefetch distance of row r: one for all rows, or one for each.
constexpr std::int64_t distance_of(std::int64_t ahead, int /*r*/) {
    return ahead;
}
template <int kRows>
constexpr std::int64_t distance_of(const std::int64_t (&ahead)[kRows], int r) {
    return ahead[r];
}

// Prefetches twice, far ahead and again nearer, for the reason given in rows_in_order.h.
struct FarAndNear {
    std::int64_t far = 0;
    std::int64_t near = 0;
};

// Group g of what lies `ahead` of row r, into cache.
template <typename Group, typename Ahead>
__attribute__((always_inline)) inline void fetch_ahead(CodeRow row, std::int64_t g, const Ahead& ahead, int r) {
    if constexpr (std::is_same_v<Ahead, FarAndNear>) {
        Group::fetch(row, g, ahead.far);
        Group::fetch(row, g, ahead.near);
    } else {
        Group::fetch(row, g, distance_of(ahead, r));
    }
}

// Whether rows may end with a partial group.
constexpr bool has_rests(WeightType type) {
    return row_multiple(type) % kGroup != 0;
}

// eighths[r][t] += the n weights after the last whole group of row r, times the tokens'
// inputs. Not by the code for whole groups: rows that change in a loop cost up to a fifth
// of its speed.
template <WeightType kType, int kTokens, int kRows>
__attribute__((always_inline)) inline void add_rest(const CodeRow (&rows)[kRows], const ByteGroup* const (&x)[kTokens],
                                                    std::int64_t n, __m256 (&eighths)[kRows][kTokens]) {
    if constexpr (has_rests(kType)) {
        const std::int64_t g = n / kGroup;
        if (g * kGroup == n) return;
        typename CodeGroup<kType>::Rest rests[kRows];
        CodeRow whole[kRows];
        for (int r = 0; r < kRows; ++r) whole[r] = rests[r].take(rows[r], g, n - g * kGroup);
        add_groups<kType>(whole, 0, x, g, eighths);
    }
}

// sums[r][t] = rows[r] . x[t], n long. Prefetches the data `ahead` bytes further on.
template <WeightType kType, int kTokens, int kRows, typename Ahead>
__attribute__((always_inline)) inline void dot_rows(const CodeRow (&rows)[kRows], const ByteGroup* const (&x)[kTokens],
                                                    std::int64_t n, const Ahead& ahead, float (&sums)[kRows][kTokens]) {
    using Group = CodeGroup<kType>;
    __m256 eighths[kRows][kTokens];
    for (auto& of_row : eighths) {
        for (__m256& sum : of_row) sum = _mm256_setzero_ps();
    }
    for (std::int64_t g = 0; (g + 1) * kGroup <= n; ++g) {
        for (int r = 0; r < kRows; ++r) fetch_ahead<Group>(rows[r], g, ahead, r);
        add_groups<kType>(rows, g, x, g, eighths);
    }
    add_rest<kType>(rows, x, n, eighths);
    for (int r = 0; r < kRows; ++r) {
        for (int t = 0; t < kTokens; ++t) sums[r][t] = sum_of_eighths(eighths[r][t]);
    }
}

// Codes of a type with a codebook, unpacked: those of rows from `first` on.
struct UnpackedRows {
    const std::int8_t* codes = nullptr;
    std::int64_t first = 0;
};

// y[r] of rows first, first + apart, ...
template <WeightType kType, int kTokens, int kRows>
__attribute__((noinline)) void multiply_some_rows(const WeightView& weight, const PackedRow* layout,
                                                  const UnpackedRows& unpacked, const ByteGroup* const (&x)[kTokens],
                                                  std::int64_t first, std::int64_t apart, float* y,
                                                  std::int64_t y_stride) {
    CodeRow rows[kRows];
    for (int r = 0; r < kRows; ++r) {
        const std::int64_t row = first + r * apart;
        rows[r] = {reinterpret_cast<const std::uint8_t*>(weight.row(row)), layout};
        if constexpr (has_codebook(kType)) rows[r].codes = unpacked.codes + (row - unpacked.first) * weight.n_cols;
    }
    float sums[kRows][kTokens];
    dot_rows<kType, kTokens>(rows, x, weight.n_cols, static_cast<std::int64_t>(weight.stride_bytes()), sums);
    for (int r = 0; r < kRows; ++r) {
        for (int t = 0; t < kTokens; ++t) y[t * y_stride + first + r * apart] = sums[r][t];
    }
}

// The layout of the weight's rows, for types that have one.
template <WeightType kType>
PackedRow layout_of_rows(std::int64_t n_cols) {
    if constexpr (traits_of(kType).is_packed()) {
        return packed_row(kType, n_cols);
    } else {
        return {};
    }
}

template <WeightType kType, int kTokens>
void multiply_rows(const WeightView& weight, const UnpackedRows& unpacked, const std::byte* const* inputs,
                   std::int64_t row_begin, std::int64_t row_end, float* y, std::int64_t y_stride) {
    constexpr int kRows = streams_at_once(kTokens);
    const ByteGroup* x[kTokens];
    for (int t = 0; t < kTokens; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    const PackedRow layout = layout_of_rows<kType>(weight.n_cols);
    const std::int64_t apart = (row_end - row_begin) / kRows;
    for (std::int64_t r = row_begin; r < row_begin + apart; ++r) {
        multiply_some_rows<kType, kTokens, kRows>(weight, &layout, unpacked, x, r, apart, y, y_stride);
    }
    // The last rows are computed one at a time by the code for several.
    for (std::int64_t r = row_begin + kRows * apart; r < row_end; ++r) {
        multiply_some_rows<kType, kTokens, kRows>(weight, &layout, unpacked, x, r, 0, y, y_stride);
    }
}

}  // namespace
}  // namespace offstage::kernels
