#pragma once
// Rows of codes times many tokens' inputs of 8 bits. As many rows as a vector has lanes
// are unpacked side by side, once for all tokens. Four codes of each row make a vector,
// which is multiplied by four inputs in all lanes. The sums equal those of
// quantized_row_dots_simd.h, in the same order.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/lines_ahead.h"
#include "kernels/cpu/quantized_row_dots_simd.h"
#if OFFSTAGE_VECTOR_BITS == 512
#include "kernels/cpu/packed_panels_avx512.h"
#endif

namespace offstage::kernels {
namespace {

// Panels and tokens multiplied at once. An input is loaded once for all panels: with one
// panel loads would be the limit where a product of four bytes is one operation, or where
// sums of many fit into 16 bits.
#if defined(__AVX512VNNI__)
constexpr int kPanelsAtOnce = 2;
constexpr int kPanelTokens = 7;
#elif OFFSTAGE_VECTOR_BITS == 256 && !defined(__AVXVNNI__)
constexpr int kPanelsAtOnce = 2;
constexpr int kPanelTokens = 4;
#else
constexpr int kPanelsAtOnce = 1;
constexpr int kPanelTokens = kLanes == 16 ? 8 : 4;
#endif
constexpr int kPartVectors = kPartWeights / 4;  // one part of all rows

// kLanes rows.
struct CodePanel {
    std::int64_t n_groups;
    std::int64_t n_scales;  // 32s of weights
    std::uint8_t* codes;    // (n_groups, kParts places, kPartVectors) vectors
    float* numbers;         // (n_groups, kScales, scales, biases) vectors

    CodePanel(std::byte* scratch, std::int64_t n_cols)
        : n_groups((n_cols + kGroup - 1) / kGroup), n_scales(n_cols / kInputsPerScale) {
        void* aligned = scratch + (64 - reinterpret_cast<std::uintptr_t>(scratch) % 64) % 64;
        codes = static_cast<std::uint8_t*>(aligned);
        numbers = reinterpret_cast<float*>(codes + n_groups * kGroup * kLanes);
    }
};

// Vectors of numbers for 32 weights.
template <WeightType kType>
constexpr int numbers_of_scale() {
    return (has_half_scales(kType) ? 2 : 1) * (has_biases(kType) ? 2 : 1);
}

// A group of each row: codes in the order of part_at(), and numbers, (scales, biases) of
// eight.
struct UnpackedGroups {
    alignas(64) std::uint8_t codes[kLanes][kGroup];
    alignas(64) float numbers[kLanes][4 * kScales];
    CodebookCodes unpack_codes = nullptr;  // for types with a codebook
};

template <WeightType kType>
void unpack_groups(const CodeRow (&rows)[kLanes], std::int64_t g, UnpackedGroups& unpacked) {
    for (int lane = 0; lane < kLanes; ++lane) {
        CodeGroup<kType> group;
        group.open(rows[lane], g);
        if constexpr (has_codebook(kType)) {
            auto* const codes = reinterpret_cast<std::int8_t*>(unpacked.codes[lane]);
            unpacked.unpack_codes(kType, group.block, 1, codes);
            group.codes = codes;
        }
        float* to = unpacked.numbers[lane];
        for (const __m256 scales : group.scales) {
            _mm256_store_ps(to, scales);
            to += kScales;
        }
        if constexpr (has_biases(kType)) {
            for (const __m256 biases : group.biases) {
                _mm256_store_ps(to, biases);
                to += kScales;
            }
        }
        unrolled<kUnits>([&](auto index) __attribute__((always_inline)) {
            const Bytes unit = group.template unit<decltype(index)::value>();
            std::memcpy(unpacked.codes[lane] + decltype(index)::value * kUnit, &unit, sizeof unit);
        });
    }
}

// Side by side, as group `g` of the panel.
template <int kNumbers>
void transpose_groups(const UnpackedGroups& unpacked, std::int64_t g, const CodePanel& panel) {
    float* const numbers = panel.numbers + g * kScales * kNumbers * kLanes;
    for (int first = 0; first < kNumbers * kScales; first += kLanes) {
        Vector vectors[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) vectors[lane] = load(unpacked.numbers[lane] + first);
        transpose_words(vectors);
        for (int i = 0; i < kLanes && first + i < kNumbers * kScales; ++i) {
            store(numbers + ((first + i) % kScales * kNumbers + (first + i) / kScales) * kLanes, vectors[i]);
        }
    }
    std::uint8_t* codes = panel.codes + g * kGroup * kLanes;
    for (int unit = 0; unit < kUnits; ++unit) {
        Vector vectors[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            std::memcpy(&vectors[lane], unpacked.codes[lane] + unit * kUnit, sizeof(Vector));
        }
        transpose_words(vectors);
        for (const Vector& vector : vectors) {
            std::memcpy(codes, &vector, sizeof vector);
            codes += sizeof vector;
        }
    }
}

// Unpacks kLanes rows from `row` on, of which n_rows exist.
template <WeightType kType>
void unpack_rows(const WeightView& weight, const PackedRow* layout, std::int64_t row, std::int64_t n_rows,
                 const CodePanel& panel) {
    CodeRow rows[kLanes];
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        rows[lane] = {reinterpret_cast<const std::uint8_t*>(weight.row(row + std::min(lane, n_rows - 1))), layout};
    }
    UnpackedGroups unpacked;
    if constexpr (has_codebook(kType)) unpacked.unpack_codes = fastest_codebook_codes();
    constexpr int kNumbers = numbers_of_scale<kType>();
    std::int64_t g = 0;
    // Experts use our own formats too; the next rows of an expert lie far away.
    [[maybe_unused]] const std::int64_t ahead = kLanes * static_cast<std::int64_t>(weight.stride_bytes());
#if OFFSTAGE_VECTOR_BITS == 512
    [[maybe_unused]] SupersOfRows supers;
#endif
    for (; (g + 1) * kGroup <= weight.n_cols; ++g) {
        if constexpr (!kFetchesBesideProducts && traits_of(kType).is_packed()) {
            for (const CodeRow& of_lane : rows) CodeGroup<kType>::fetch(of_lane, g, ahead);
        }
#if OFFSTAGE_VECTOR_BITS == 512
        if constexpr (has_fast_panels(kType)) {
            unpack_packed_panel<kType>(rows, g, supers, panel.codes + g * kGroup * kLanes,
                                       panel.numbers + g * kScales * kNumbers * kLanes);
            continue;
        }
#endif
        unpack_groups<kType>(rows, g, unpacked);
        transpose_groups<kNumbers>(unpacked, g, panel);
    }
    if constexpr (has_rests(kType)) {
        if (g == panel.n_groups) return;
        typename CodeGroup<kType>::Rest rests[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            rows[lane] = rests[lane].take(rows[lane], g, weight.n_cols - g * kGroup);
        }
        unpack_groups<kType>(rows, 0, unpacked);
        transpose_groups<kNumbers>(unpacked, g, panel);
    }
}

// dots[p][t] += kVectors times four codes of each row of the panels times the tokens'
// inputs. codes(p, i), input(t, i): the i-th four.
template <CodeRange kRange, int kVectors, int kPanels, int kTokens, typename Codes, typename Input>
__attribute__((always_inline)) inline void add_dots_of_panels(const Codes& codes, const Input& input,
                                                              Bytes (&dots)[kPanels][kTokens]) {
    if constexpr (kPanels == 1) {
        Bytes vectors[kVectors];
        for (int i = 0; i < kVectors; ++i) vectors[i] = codes(0, i);
        for (int t = 0; t < kTokens; ++t) {
            dots[0][t] = add_dots<kRange>(
                dots[0][t], vectors, [&](int i) __attribute__((always_inline)) { return input(t, i); });
        }
        return;
    }
#if OFFSTAGE_VECTOR_BITS == 256 && !defined(__AVXVNNI__)
    // Sums in 16 bits stay in registers while they fit.
    constexpr int kTogether = std::min(kVectors, pairs_in_16_bits(kRange));
    if constexpr (kTogether > 2) {
        for (int first = 0; first < kVectors; first += kTogether) {
            Bytes pairs[kPanels][kTokens];
            unrolled<kTogether>([&](auto index) __attribute__((always_inline)) {
                constexpr int kFour = decltype(index)::value;
                Bytes vectors[kPanels];
                for (int p = 0; p < kPanels; ++p) {
                    vectors[p] = codes(p, first + kFour);
                    keep_in_register(vectors[p]);
                }
                for (int t = 0; t < kTokens; ++t) {
                    Bytes four = input(t, first + kFour);
                    keep_in_register(four);
                    for (int p = 0; p < kPanels; ++p) {
                        const Bytes more = dots_of_two<kRange>(vectors[p], four);
                        pairs[p][t] = kFour == 0 ? more : add_words16(pairs[p][t], more);
                        keep_in_register(pairs[p][t]);  // otherwise GCC adds in another order and spills
                    }
                }
            });
            for (int p = 0; p < kPanels; ++p) {
                for (int t = 0; t < kTokens; ++t) dots[p][t] = add_sums(dots[p][t], add_pairs(pairs[p][t]));
            }
        }
        return;
    }
#else
    constexpr int kTogether = 1;
#endif
    for (int first = 0; first < kVectors; first += kTogether) {
        Bytes vectors[kPanels][kTogether];
        for (int p = 0; p < kPanels; ++p) {
            for (int i = 0; i < kTogether; ++i) {
                vectors[p][i] = codes(p, first + i);
                keep_in_register(vectors[p][i]);
            }
        }
        for (int t = 0; t < kTokens; ++t) {
            Bytes fours[kTogether];
            for (int i = 0; i < kTogether; ++i) {
                fours[i] = input(t, first + i);
                keep_in_register(fours[i]);
            }
            for (int p = 0; p < kPanels; ++p) {
                dots[p][t] = add_dots<kRange>(
                    dots[p][t], vectors[p], [&](int i) __attribute__((always_inline)) { return fours[i]; });
            }
        }
    }
}

// sums[p][t] += 32 weights of kLanes rows of each panel times the tokens' inputs, the 32
// `k` of group g. codes(p, half, four): four of each row, of the first 16 or of the last
// ones; numbers(p, i): of each row, its scales, then its biases.
template <bool kHalves, InputWords kWords, CodeRange kRange, int kPanels, int kTokens, typename Numbers, typename Codes>
__attribute__((always_inline)) inline void add_scale(const ByteGroup* const (&x)[kTokens], std::int64_t g, int k,
                                                     const std::array<std::int8_t, kParts>& places,
                                                     const Numbers& numbers, const Codes& codes,
                                                     Vector (&sums)[kPanels][kTokens]) {
    // Halves at once where sums over both fit into 16 bits.
    constexpr bool kBoth = !kHalves && kPanels > 1 && !kHasVnni && pairs_in_16_bits(kRange) == 2 * kPartVectors;
    Bytes dots[kPanels][kTokens];
    Vector products[kPanels][kTokens];
    unrolled<kBoth ? 1 : 2>([&](auto index) __attribute__((always_inline)) {
        constexpr int kHalf = decltype(index)::value;
        if constexpr (kHalf == 0 || kHalves) {
            for (int t = 0; t < kTokens; ++t) {
                for (int p = 0; p < kPanels; ++p) {
                    dots[p][t] =
                        kWords == InputWords::kCorrections ? all_words(x[t][g].words[kScales * kHalf + k]) : no_sums();
                }
            }
        }
        const auto half_of = [&](int i) __attribute__((always_inline)) {
            return kBoth ? i / kPartVectors : kHalf;
        };
        add_dots_of_panels<kRange, kBoth ? 2 * kPartVectors : kPartVectors>(
            [&](int p, int i) __attribute__((always_inline)) { return codes(p, half_of(i), i % kPartVectors); },
            [&](int t, int i) __attribute__((always_inline)) {
                const auto place = places[static_cast<std::size_t>(2 * k + half_of(i))];
                std::int32_t word = 0;
                std::memcpy(&word, x[t][g].codes + place * kPartWeights + 4 * (i % kPartVectors), sizeof word);
                return all_words(word);
            },
            dots);
        for (int p = 0; p < kPanels; ++p) {
            if constexpr (kHalves) {
                const Vector scales = numbers(p, kHalf);
                for (int t = 0; t < kTokens; ++t) {
                    const Vector sum = as_numbers(dots[p][t]);
                    products[p][t] = kHalf == 0 ? multiply(sum, scales) : fma(sum, scales, products[p][t]);
                }
            } else if constexpr (kHalf == 1 || kBoth) {
                const Vector scales = numbers(p, 0);
                for (int t = 0; t < kTokens; ++t) products[p][t] = multiply(as_numbers(dots[p][t]), scales);
            }
        }
    });
    for (int t = 0; t < kTokens; ++t) {
        const Vector scale = broadcast(x[t][g].scales[k]);
        for (int p = 0; p < kPanels; ++p) sums[p][t] = fma(products[p][t], scale, sums[p][t]);
    }
    if constexpr (kWords == InputWords::kSums) {
        for (int half = 0; half < (kHalves ? 2 : 1); ++half) {
            Vector biases[kPanels];
            for (int p = 0; p < kPanels; ++p) biases[p] = numbers(p, (kHalves ? 2 : 1) + half);
            for (int t = 0; t < kTokens; ++t) {
                const Vector sum =
                    broadcast(float_from_bits(static_cast<std::uint32_t>(x[t][g].words[kScales * half + k])));
                for (int p = 0; p < kPanels; ++p) sums[p][t] = fma(biases[p], sum, sums[p][t]);
            }
        }
    }
}

// As sum_of_eighths(), for kLanes rows.
template <typename Eighth>
__attribute__((always_inline)) inline Vector sums_of_eighths(const Eighth& eighth) {
    const auto both = [&](int k) __attribute__((always_inline)) {
        return add(eighth(k), eighth(k + 4));
    };
    return add(add(both(0), both(2)), add(both(1), both(3)));
}

// y[t] of n_rows rows of panels that follow each other, of kTokens tokens.
template <bool kHalves, InputWords kWords, CodeRange kRange, int kTokens>
void multiply_panels(const CodePanel* panels, const std::array<std::int8_t, kParts>& places,
                     const std::byte* const* inputs, std::int64_t n_rows, float* y, std::int64_t y_stride,
                     LinesAhead& ahead) {
    constexpr int kPanels = kPanelsAtOnce;
    constexpr int kNumbers = (kHalves ? 2 : 1) * (kWords == InputWords::kSums ? 2 : 1);
    const ByteGroup* x[kTokens];
    for (int t = 0; t < kTokens; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    Vector eighths[kScales][kPanels][kTokens];
    for (int k = 0; k < kScales; ++k) {
        Vector sums[kPanels][kTokens];
        for (auto& of_panel : sums) {
            for (Vector& sum : of_panel) sum = zero();
        }
        for (std::int64_t g = 0; g * kScales + k < panels[0].n_scales; ++g) {
            if constexpr (kFetchesBesideProducts) ahead.step();
            add_scale<kHalves, kWords, kRange>(
                x, g, k, places,
                [&](int p, int i) __attribute__((always_inline)) {
                    return load(panels[p].numbers + ((g * kScales + k) * kNumbers + i) * kLanes);
                },
                [&](int p, int half, int four) __attribute__((always_inline)) {
                    const int place = places[static_cast<std::size_t>(2 * k + half)];
                    return load_unit(panels[p].codes +
                                     ((g * kParts + place) * kPartVectors + four) * static_cast<int>(sizeof(Bytes)));
                },
                sums);
        }
        for (int p = 0; p < kPanels; ++p) {
            for (int t = 0; t < kTokens; ++t) eighths[k][p][t] = sums[p][t];
        }
    }
    for (int p = 0; p < kPanels && p * kLanes < n_rows; ++p) {
        for (int t = 0; t < kTokens; ++t) {
            const Vector sum = sums_of_eighths([&](int k) __attribute__((always_inline)) { return eighths[k][p][t]; });
            float* const to = y + t * y_stride + p * kLanes;
            if (n_rows - p * kLanes >= kLanes) {
                store(to, sum);
            } else {
                store_first(to, static_cast<int>(n_rows - p * kLanes), sum);
            }
        }
    }
}

}  // namespace
}  // namespace offstage::kernels
