// A point of a book is kept as a word of 16 bits, a digit after the other: all words of a
// book lie in vectors, and a tree of permutations finds those of 32 indices at once.

#include <algorithm>
#include <array>
#include <immintrin.h>

#include "kernels/block_codebooks.h"
#include "kernels/block_parts.h"
#include "kernels/cpu/codebook_codes.h"
#include "kernels/formats.h"

namespace offstage::kernels {
namespace {

constexpr int kVectorWords = 32;  // of 16 bits

template <int kPoints>
struct PointWords {
    alignas(64) std::array<std::uint16_t, kPoints> words = {};
};

template <int kPoints, int kDim>
constexpr PointWords<kPoints> words_of(const Codebook<kPoints, kDim>& digits) {
    PointWords<kPoints> book;
    for (std::size_t p = 0; p < book.words.size(); ++p) {
        for (int i = 0; i < kDim; ++i) {
            book.words[p] = static_cast<std::uint16_t>(book.words[p] | digits.values[p][i] << (16 / kDim * i));
        }
    }
    return book;
}

constexpr std::int8_t kDigits[8] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::int8_t kThreeDigits[3] = {0, 1, 2};
constexpr auto kIq2XxsWords = words_of(codebook_of<256, 8>(kIq2XxsPoints, kThreeDigits));
constexpr auto kIq2XsWords = words_of(codebook_of<512, 8>(kIq2XsPoints, kThreeDigits));
constexpr auto kIq2SWords = words_of(codebook_of<1024, 8>(kIq2SPoints, kThreeDigits));
constexpr auto kIq1Words = words_of(codebook_of<2048, 8>(kIq1Points, kThreeDigits));
constexpr auto kIq3XxsWords = words_of(codebook_of<256, 4>(kIq3XxsPoints, kDigits));
constexpr auto kIq3SWords = words_of(codebook_of<512, 4>(kIq3SPoints, kDigits));

template <WeightType kType>
constexpr const auto& words_of_type() {
    if constexpr (kType == WeightType::kIq2Xxs) {
        return kIq2XxsWords.words;
    } else if constexpr (kType == WeightType::kIq2Xs) {
        return kIq2XsWords.words;
    } else if constexpr (kType == WeightType::kIq2S) {
        return kIq2SWords.words;
    } else if constexpr (kType == WeightType::kIq3Xxs) {
        return kIq3XxsWords.words;
    } else if constexpr (kType == WeightType::kIq3S) {
        return kIq3SWords.words;
    } else {
        return kIq1Words.words;
    }
}

template <int kBase>
__m512i in_each_16_bytes(const std::int8_t (&values)[kBase]) {
    alignas(16) std::int8_t bytes[16] = {};
    std::copy_n(values, kBase, bytes);
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// The values of a point's digits.
template <WeightType kType>
__m512i values_of_digits() {
    if constexpr (kType == WeightType::kIq3Xxs) {
        return in_each_16_bytes(kIq3XxsValues);
    } else if constexpr (kType == WeightType::kIq3S) {
        return in_each_16_bytes(kIq3SValues);
    } else if constexpr (is_of_eighths(kType)) {
        return in_each_16_bytes(kIq1Values);
    } else {
        return in_each_16_bytes(kIq2Values);
    }
}

template <int kPoints>
__attribute__((always_inline)) inline __m512i look_up(const std::uint16_t* words, __m512i indices) {
    if constexpr (kPoints == 2 * kVectorWords) {
        return _mm512_permutex2var_epi16(_mm512_load_si512(words), indices, _mm512_load_si512(words + kVectorWords));
    } else {
        const __m512i lower = look_up<kPoints / 2>(words, indices);
        const __m512i upper = look_up<kPoints / 2>(words + kPoints / 2, indices);
        const __mmask32 is_upper = _mm512_test_epi16_mask(indices, _mm512_set1_epi16(kPoints / 2));
        return _mm512_mask_blend_epi16(is_upper, lower, upper);
    }
}

__m128i load_128(const std::uint8_t* bytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
__m256i load_256(const std::uint8_t* bytes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}
__m128i load_64(const std::uint8_t* bytes) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
}

struct SignTable {
    alignas(64) std::array<std::uint8_t, 128> all = {};
};
constexpr SignTable sign_table() {
    SignTable table;
    for (unsigned i = 0; i < table.all.size(); ++i) table.all[i] = static_cast<std::uint8_t>(eight_signs(i));
    return table;
}
constexpr SignTable kSigns = sign_table();

// eight_signs() of each byte's lower seven bits.
__attribute__((always_inline)) inline __m256i eight_signs_of(__m256i sevens) {
    return _mm512_castsi512_si256(_mm512_permutex2var_epi8(_mm512_load_si512(kSigns.all.data()),
                                                           _mm512_castsi256_si512(sevens),
                                                           _mm512_load_si512(kSigns.all.data() + 64)));
}

// Bytes 0 and 1 of each 64 bits in all four words of these.
__attribute__((always_inline)) inline __m512i words_repeated(__m512i all) {
    return _mm512_shuffle_epi8(all,
                               _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 8, 9, 8, 9, 8, 9, 8, 9)));
}

// Indices of a block's 32 points (IQ3: 64) in words, and the signs of its weights, a bit
// each, the first the lowest; IQ1: a bit for eight of them.
template <WeightType kType>
struct Entries {
    static constexpr int kVectors = is_of_fours(kType) ? 2 : 1;
    __m512i indices[kVectors];
    alignas(32) std::uint64_t signs[4];
    __mmask32 less = 0;

    __attribute__((always_inline)) void set_signs(__m256i bytes) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(signs), bytes);
    }

    __attribute__((always_inline)) explicit Entries(const std::uint8_t* block) {
        if constexpr (kType == WeightType::kIq2Xxs) {
            const __m512i all = _mm512_loadu_si512(block + 2);
            indices[0] = _mm512_cvtepu8_epi16(_mm512_cvtepi64_epi32(all));
            const __m512i sevens = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352e2720), all);
            set_signs(eight_signs_of(_mm512_cvtepi64_epi32(sevens)));
        } else if constexpr (kType == WeightType::kIq2Xs) {
            const __m512i all = _mm512_loadu_si512(block + 2);
            indices[0] = _mm512_and_si512(all, _mm512_set1_epi16(511));
            set_signs(eight_signs_of(_mm512_cvtepi16_epi8(_mm512_srli_epi16(all, 9))));
        } else if constexpr (kType == WeightType::kIq2S) {
            const __m512i high = _mm512_sllv_epi16(words_repeated(_mm512_cvtepu8_epi64(load_64(block + 66))),
                                                   _mm512_set1_epi64(0x0002'0004'0006'0008));
            indices[0] = _mm512_or_si512(_mm512_cvtepu8_epi16(load_256(block + 2)),
                                         _mm512_and_si512(high, _mm512_set1_epi16(0x300)));
            set_signs(load_256(block + 34));
        } else if constexpr (kType == WeightType::kIq3Xxs) {
            for (int i = 0; i < 2; ++i) indices[i] = _mm512_cvtepu8_epi16(load_256(block + 2 + 32 * i));
            const __m512i sevens = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x150e0700),
                                                                _mm512_cvtepu32_epi64(load_256(block + 66)));
            set_signs(eight_signs_of(_mm512_cvtepi64_epi32(sevens)));
        } else if constexpr (kType == WeightType::kIq3S) {
            for (int i = 0; i < 2; ++i) {
                const __m512i low = _mm512_cvtepu8_epi16(load_256(block + 2 + 32 * i));
                indices[i] = _mm512_mask_add_epi16(low, word32_at(block + 66 + 4 * i), low, _mm512_set1_epi16(256));
            }
            set_signs(load_256(block + 74));
        } else if constexpr (kType == WeightType::kIq1S) {
            const __m512i words = words_repeated(_mm512_cvtepu16_epi64(load_128(block + 34)));
            const __m512i high = _mm512_srlv_epi16(words, _mm512_set1_epi64(0x0009'0006'0003'0000));
            indices[0] = _mm512_or_si512(_mm512_cvtepu8_epi16(load_256(block + 2)),
                                         _mm512_slli_epi16(_mm512_and_si512(high, _mm512_set1_epi16(7)), 8));
            less = _mm512_movepi16_mask(words);
        } else {
            static_assert(kType == WeightType::kIq1M);
            const __m512i pairs = _mm512_cvtepu8_epi32(load_128(block + 32));  // four bits for each of two indices
            const __m512i high = _mm512_or_si512(pairs, _mm512_slli_epi32(pairs, 12));
            indices[0] = _mm512_or_si512(_mm512_cvtepu8_epi16(load_256(block)),
                                         _mm512_slli_epi16(_mm512_and_si512(high, _mm512_set1_epi16(7)), 8));
            less = _mm512_test_epi16_mask(high, _mm512_set1_epi16(8));
        }
    }
};

template <WeightType kType>
void look_up_points(const std::uint8_t* blocks, std::int64_t n_blocks, std::int8_t* codes) {
    constexpr int kDim = is_of_fours(kType) ? 4 : 8;
    constexpr auto& kWords = words_of_type<kType>();
    const __m512i values = values_of_digits<kType>();
    const __m512i shifts = _mm512_set1_epi64(kDim == 4 ? 0x1c1814100c080400 : 0x0e0c0a0806040200);
    const __m512i digit = _mm512_set1_epi8(kDim == 4 ? 15 : 3);
    for (std::int64_t b = 0; b < n_blocks; ++b, blocks += traits_of(kType).block_bytes) {
        const Entries<kType> entries(blocks);
        __m512i points[Entries<kType>::kVectors];
        for (int i = 0; i < Entries<kType>::kVectors; ++i) {
            points[i] = look_up<static_cast<int>(kWords.size())>(kWords.data(), entries.indices[i]);
        }
        for (int i = 0; i < 4; ++i, codes += 64) {
            // Eight weights in each 64 bits.
            __m512i eights;
            if constexpr (kDim == 4) {
                eights = _mm512_cvtepu32_epi64(i % 2 == 0 ? _mm512_castsi512_si256(points[i / 2])
                                                          : _mm512_extracti64x4_epi64(points[i / 2], 1));
            } else {
                const __m256i half =
                    i / 2 == 0 ? _mm512_castsi512_si256(points[0]) : _mm512_extracti64x4_epi64(points[0], 1);
                eights = _mm512_cvtepu16_epi64(i % 2 == 0 ? _mm256_castsi256_si128(half)
                                                          : _mm256_extracti128_si256(half, 1));
            }
            const __m512i digits = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, eights), digit);
            __m512i result = _mm512_shuffle_epi8(values, digits);
            if constexpr (is_of_eighths(kType)) {
                const __m512i sign = _mm512_movm_epi64(static_cast<__mmask8>(entries.less >> (8 * i)));
                result = _mm512_add_epi8(result, _mm512_or_si512(sign, _mm512_set1_epi8(1)));
            } else {
                result = _mm512_mask_sub_epi8(result, entries.signs[i], _mm512_setzero_si512(), result);
            }
            _mm512_storeu_si512(codes, result);
        }
    }
}

}  // namespace

void avx512_vbmi::codebook_codes(WeightType type, const std::uint8_t* blocks, std::int64_t n_blocks,
                                 std::int8_t* codes) {
    with_block_type(type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        if constexpr (has_codebook(kType)) look_up_points<kType>(blocks, n_blocks, codes);
    });
}

}  // namespace offstage::kernels
