#pragma once
// Codes and scales of 256 weights of a file's blocks (kernels/block_parts.h), in the form
// for products with inputs of 8 bits: codes as bytes, one vector after the other, and for
// each 32 weights, or for each half of these, a scale and a bias. The 256 are one large
// block, or eight small ones.
//
// packed_decoder_simd.h does the same for our own rows (kernels/packed.h).
//
// Codes come in the order in which a block's bytes yield them with the fewest
// instructions; part_at() defines it, and inputs are laid out in the same order.

#include <array>
#include <cstring>

#include "kernels/block_parts.h"
#include "kernels/cpu/codebook_codes.h"
#include "kernels/cpu/prefetch.h"
#include "kernels/cpu/simd.h"

namespace offstage::kernels {
namespace {

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr bool kHasVnni = true;
#else
constexpr bool kHasVnni = false;
#endif

constexpr int kGroup = 256;                    // weights taken at once
constexpr int kParts = kGroup / kPartWeights;  // 16
constexpr int kUnit = 4 * kLanes;              // codes of a vector
constexpr int kUnits = kGroup / kUnit;         // of a group
constexpr int kInputsPerScale = 32;            // inputs have one scale for this many
constexpr int kScales = kGroup / kInputsPerScale;

constexpr int kUnitParts = kUnit / kPartWeights;

#if OFFSTAGE_VECTOR_BITS == 512
using Bytes = __m512i;
#else
using Bytes = __m256i;
#endif

// 16 bytes for 32 weights: the lower four bits of each are the first 16, the upper ones
// the others, of one scale.
constexpr bool is_of_nibbles(WeightType type) {
    return type == WeightType::kQ4_0 || type == WeightType::kQ4_1 || type == WeightType::kQ5_0 ||
           type == WeightType::kQ5_1 || type == WeightType::kIq4Nl || type == WeightType::kIq4Xs ||
           type == WeightType::kMxfp4;
}

// Two units have the same scales: one has the first halves of 32 weights, the other the
// second halves.
constexpr bool has_halves_apart(WeightType type) {
    return is_of_nibbles(type) || type == WeightType::kHqq4 || type == WeightType::kHqq3;
}

// Whether each 16 weights have a scale, rather than each 32.
constexpr bool has_half_scales(WeightType type) {
    return type == WeightType::kQ6K || type == WeightType::kQ3K || type == WeightType::kQ2K ||
           type == WeightType::kIq2Xs || type == WeightType::kIq2S || type == WeightType::kIq1M ||
           type == WeightType::kHqq2;
}

// Those of HQQ are -scale * zero.
constexpr bool has_biases(WeightType type) {
    return has_bias(type) || type == WeightType::kHqq4 || type == WeightType::kHqq3 || type == WeightType::kHqq2;
}

// The part of the group that place `place` (in 16 codes) has.
constexpr int part_at(WeightType type, int place) {
    const int unit = place / kUnitParts;
    const int j = place % kUnitParts;
    if (type == WeightType::kHqq2) return 4 * (unit / 4 * kUnitParts + j) + unit % 4;
    if (has_halves_apart(type)) return 2 * (unit / 2 * kUnitParts + j) + unit % 2;
    if (kUnit == 32) return place;
    // The lower four bits of four times 32 bytes, in first and second halves, then the
    // upper ones.
    if (type == WeightType::kQ4K || type == WeightType::kQ5K) return j * 4 + unit / 2 * 2 + unit % 2;
    // A vector of 64 bytes has bits of 32 weights and of others 128 further on.
    if (type == WeightType::kQ2K || type == WeightType::kQ3K) return (unit + j / 2 * 4) * 2 + j % 2;
    return place;
}

// The place of each part i.
constexpr std::array<std::int8_t, kParts> places_of_parts(WeightType type) {
    std::array<std::int8_t, kParts> places = {};
    for (int place = 0; place < kParts; ++place) {
        places[static_cast<std::size_t>(part_at(type, place))] = static_cast<std::int8_t>(place);
    }
    return places;
}

// Codes that need all eight bits and a sign.
constexpr bool has_signed_codes(WeightType type) {
    return type == WeightType::kQ8_0 || type == WeightType::kInt8 || type == WeightType::kIq4Nl ||
           type == WeightType::kIq4Xs || has_codebook(type);
}

// The number added to a code to make it unsigned.
constexpr int offset_of(WeightType type) {
    if (has_signed_codes(type)) return kHasVnni ? 128 : 0;
    switch (type) {
        case WeightType::kQ4_0:
            return 8;
        case WeightType::kQ5_0:
            return 16;
        case WeightType::kQ3K:
            return 4;
        case WeightType::kQ6K:
            return 32;
        case WeightType::kMxfp4:
            return 12;
        default:
            return 0;
    }
}

__attribute__((always_inline)) inline __m256i load_32(const std::uint8_t* bytes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}
__attribute__((always_inline)) inline __m128i load_16(const std::uint8_t* bytes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
__attribute__((always_inline)) inline std::uint64_t word64_at(const std::uint8_t* p) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    return word;
}

__attribute__((always_inline)) inline Bytes all_bytes(int value) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_set1_epi8(static_cast<char>(value));
#else
    return _mm256_set1_epi8(static_cast<char>(value));
#endif
}

// Bits [shift, ...) of each byte, as many as the mask has.
__attribute__((always_inline)) inline Bytes bits_of_bytes(Bytes bytes, int shift, int mask) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_and_si512(shift == 0 ? bytes : _mm512_srli_epi16(bytes, static_cast<unsigned>(shift)),
                            all_bytes(mask));
#else
    return _mm256_and_si256(shift == 0 ? bytes : _mm256_srli_epi16(bytes, shift), all_bytes(mask));
#endif
}

__attribute__((always_inline)) inline Bytes either(Bytes a, Bytes b) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_or_si512(a, b);
#else
    return _mm256_or_si256(a, b);
#endif
}

__attribute__((always_inline)) inline Bytes load_unit(const std::uint8_t* bytes) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_loadu_si512(bytes);
#else
    return load_32(bytes);
#endif
}

// 16 bytes each, `stride` apart.
__attribute__((always_inline)) inline Bytes load_16s(const std::uint8_t* bytes, int stride) {
#if OFFSTAGE_VECTOR_BITS == 512
    // Loads with a mask do not wait for the unit that shuffles.
    __m512i all = _mm512_castsi128_si512(load_16(bytes));
    all = _mm512_mask_broadcast_i32x4(all, 0x00f0, load_16(bytes + stride));
    all = _mm512_mask_broadcast_i32x4(all, 0x0f00, load_16(bytes + 2 * stride));
    return _mm512_mask_broadcast_i32x4(all, 0xf000, load_16(bytes + 3 * stride));
#else
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(bytes)), load_16(bytes + stride), 1);
#endif
}

__attribute__((always_inline)) inline Bytes places_in(const std::int8_t (&table)[16], int offset, Bytes places) {
    const __m128i values = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)),
                                        _mm_set1_epi8(static_cast<char>(offset)));
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), places);
#else
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), places);
#endif
}

// Puts `bit` into the bytes whose bit of a word is set. A word holds 16 bits, for 16
// bytes.
__attribute__((always_inline)) inline Bytes where_set(const unsigned (&words)[kUnitParts], int bit) {
#if OFFSTAGE_VECTOR_BITS == 512
    std::uint64_t all = 0;
    for (int i = 0; i < kUnitParts; ++i) all |= std::uint64_t{words[i]} << (16 * i);
    return _mm512_maskz_set1_epi8(all, static_cast<char>(bit));
#else
    const unsigned all = words[0] | words[1] << 16u;
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(all)),
                                               _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                                                2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
    const __m256i each = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(spread, each), each), all_bytes(bit));
#endif
}

// `bit` in the bytes that have bit kFirst, or kSecond in a vector's second half of 32;
// bytes: 32, the same for both halves.
template <int kFirst, int kSecond>
__attribute__((always_inline)) inline Bytes where_bit(const std::uint8_t* bytes, int bit) {
#if OFFSTAGE_VECTOR_BITS == 512
    const __m512i tested = _mm512_inserti64x4(_mm512_set1_epi8(static_cast<char>(1u << kFirst)),
                                              _mm256_set1_epi8(static_cast<char>(1u << kSecond)), 1);
    const __mmask64 set = _mm512_test_epi8_mask(_mm512_broadcast_i64x4(load_32(bytes)), tested);
    return _mm512_maskz_set1_epi8(set, static_cast<char>(bit));
#else
    static_assert(kFirst == kSecond, "a vector is 32 bytes");
    const __m256i tested = _mm256_set1_epi8(static_cast<char>(1u << kFirst));
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(load_32(bytes), tested), tested), all_bytes(bit));
#endif
}

// Eight numbers from signed bytes, each times the factor.
__attribute__((always_inline)) inline __m256 factors_of_bytes(__m128i bytes, float factor) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), _mm256_set1_ps(factor));
}

// The same from 16 bytes, alternately of first halves and of second halves.
__attribute__((always_inline)) inline void factors_of_halves(__m128i bytes, float factor, __m256 (&out)[2]) {
    const __m128i apart = _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    out[0] = factors_of_bytes(apart, factor);
    out[1] = factors_of_bytes(_mm_unpackhi_epi64(apart, apart), factor);
}

// A bit in each of eight bytes.
constexpr long long bytes_of_bit(int bit) {
    return static_cast<long long>(0x0101010101010101ull << static_cast<unsigned>(bit));
}

// A row in memory. layout: for packed rows only. codes: for types with a codebook only,
// all codes of the row (kernels/cpu/codebook_codes.h).
struct CodeRow {
    const std::uint8_t* bytes = nullptr;
    const PackedRow* layout = nullptr;
    const std::int8_t* codes = nullptr;
};

// 256 weights of a row.
template <WeightType kType>
struct CodeGroup {
    static constexpr int kBlockBytes = traits_of(kType).block_bytes;
    static constexpr int kBlocks = kGroup / traits_of(kType).group;
    static constexpr int kBytes = kBlocks * kBlockBytes;
    static constexpr int kOffset = offset_of(kType);

    static constexpr int kHalves = has_half_scales(kType) ? 2 : 1;  // halves of 32 weights with a scale each

    const std::uint8_t* block;
    const std::int8_t* codes;  // the unpacked codes
    __m256 scales[kHalves];
    __m256 biases[kHalves];  // if has_bias(kType)

    __attribute__((always_inline)) void open(CodeRow row, std::int64_t group) {
        block = row.bytes + group * kBytes;
        if constexpr (has_codebook(kType)) codes = row.codes + group * kGroup;
        if constexpr (is_of_eighths(kType)) {
            read_scales();
        } else if constexpr (kBlocks == 1) {
            read_large();
        } else {
            read_small();
        }
    }

    // Fetches what open() of the same place `ahead` bytes further on will read.
    static __attribute__((always_inline)) void fetch(CodeRow row, std::int64_t group, std::int64_t ahead) {
        for (int line = 0; line < kBytes; line += 64) prefetch_into_first(row.bytes + ahead + group * kBytes + line);
    }

    // A partial group, copied and padded with zeros.
    struct Rest {
        alignas(16) std::uint8_t bytes[kBytes];

        CodeRow take(CodeRow row, std::int64_t group, std::int64_t n_weights) {
            std::memset(bytes, 0, sizeof bytes);
            std::memcpy(bytes, row.bytes + group * kBytes,
                        static_cast<std::size_t>(n_weights / traits_of(kType).group * kBlockBytes));
            return {bytes};
        }
    };

    // A vector of codes, those of the parts part_at(kType, kUnitParts * kIndex ..).
    template <int kIndex>
    __attribute__((always_inline)) Bytes unit() const {
        constexpr int i = kIndex;
        // Large blocks: the place of the first weights within the block, counted in 32s.
        constexpr int k32 = part_at(kType, kUnitParts * i) / 2;
        if constexpr (has_codebook(kType)) {
            return moved(load_unit(reinterpret_cast<const std::uint8_t*>(codes + i * kUnit)));
        } else if constexpr (kType == WeightType::kQ8_0) {
#if OFFSTAGE_VECTOR_BITS == 512
            const std::uint8_t* const first = block + 2 * i * kBlockBytes + 2;
            return moved(_mm512_inserti64x4(_mm512_castsi256_si512(load_32(first)), load_32(first + kBlockBytes), 1));
#else
            return moved(load_32(block + i * kBlockBytes + 2));
#endif
        } else if constexpr (is_of_nibbles(kType)) {
            constexpr bool kFive = kType == WeightType::kQ5_0 || kType == WeightType::kQ5_1;
            const std::uint8_t* const first = block + i / 2 * kUnitParts * kBlockBytes;
            Bytes nibbles;
            if constexpr (kType == WeightType::kIq4Xs) {
                nibbles = bits_of_bytes(load_unit(block + 8 + i / 2 * kUnit), i % 2 * 4, 15);
            } else {
                constexpr int kBegin = (kType == WeightType::kMxfp4 ? 1 : has_bias(kType) ? 4 : 2) + (kFive ? 4 : 0);
                nibbles = bits_of_bytes(load_16s(first + kBegin, kBlockBytes), i % 2 * 4, 15);
            }
            if constexpr (kType == WeightType::kMxfp4) return places_in(kMxfp4Values, kOffset, nibbles);
            if constexpr (kType == WeightType::kIq4Nl || kType == WeightType::kIq4Xs) {
                return places_in(kIq4Values, kOffset, nibbles);
            }
            if constexpr (kFive) {
                constexpr int kHigh = kType == WeightType::kQ5_1 ? 4 : 2;
                unsigned high[kUnitParts];
                for (int p = 0; p < kUnitParts; ++p) high[p] = word16_at(first + p * kBlockBytes + kHigh + i % 2 * 2);
                nibbles = either(nibbles, where_set(high, 16));
            }
            return nibbles;
        } else if constexpr (kType == WeightType::kQ2K || kType == WeightType::kQ3K) {
            constexpr int kBegin = kType == WeightType::kQ2K ? 16 : 32;
            const Bytes low = bits_of_bytes(load_unit(block + kBegin + k32 / 4 * 32), k32 % 4 * 2, 3);
            if constexpr (kType == WeightType::kQ2K) return low;
            return either(low, where_bit < k32, kUnit == 32 ? k32 : (k32 + 4) % 8 > (block, 4));
        } else if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
            constexpr int kBegin = kType == WeightType::kQ4K ? 16 : 48;
#if OFFSTAGE_VECTOR_BITS == 512
            const __m512i a = load_unit(block + kBegin);
            const __m512i b = load_unit(block + kBegin + 64);
            const Bytes low = bits_of_bytes(
                i % 2 == 0 ? _mm512_shuffle_i32x4(a, b, 0x88) : _mm512_shuffle_i32x4(a, b, 0xdd), i / 2 * 4, 15);
            if constexpr (kType == WeightType::kQ4K) return low;
            constexpr int kBit = i / 2;  // of eighths kBit, kBit + 2, ...
            const __m512i tested = _mm512_set_epi64(
                bytes_of_bit(kBit + 6), bytes_of_bit(kBit + 6), bytes_of_bit(kBit + 4), bytes_of_bit(kBit + 4),
                bytes_of_bit(kBit + 2), bytes_of_bit(kBit + 2), bytes_of_bit(kBit), bytes_of_bit(kBit));
            const __mmask64 set =
                _mm512_test_epi8_mask(_mm512_broadcast_i32x4(load_16(block + 16 + i % 2 * 16)), tested);
            return either(low, _mm512_maskz_set1_epi8(set, 16));
#else
            const Bytes low = bits_of_bytes(load_unit(block + kBegin + k32 / 2 * 32), k32 % 2 * 4, 15);
            if constexpr (kType == WeightType::kQ4K) return low;
            return either(low, where_bit<k32, k32>(block + 16, 16));
#endif
        } else {
            static_assert(kType == WeightType::kQ6K, "all formats are here");
            const Bytes low = bits_of_bytes(load_unit(block + k32 / 4 * 64 + k32 % 2 * 32), k32 % 4 / 2 * 4, 15);
            const __m256i both = load_32(block + 128 + k32 / 4 * 32);
#if OFFSTAGE_VECTOR_BITS == 512
            // Bits 0 and 2, or 4 and 6, to bit 4.
            const __m512i high = _mm512_broadcast_i64x4(both);
            constexpr bool kUpper = k32 % 4 / 2 != 0;
            const __m512i shifts = _mm512_inserti64x4(_mm512_set1_epi16(kUpper ? 0 : 4), _mm256_set1_epi16(2), 1);
            return either(low,
                          _mm512_and_si512(kUpper ? _mm512_srlv_epi16(high, shifts) : _mm512_sllv_epi16(high, shifts),
                                           all_bytes(48)));
#else
            return either(low, _mm256_slli_epi16(bits_of_bytes(both, k32 % 4 * 2, 3), 4));
#endif
        }
    }

  private:
    // Moves signed codes into the range that the dot products expect.
    static __attribute__((always_inline)) Bytes moved(Bytes codes) {
#if OFFSTAGE_VECTOR_BITS == 512
        return kOffset > 0 ? _mm512_xor_si512(codes, all_bytes(-128)) : codes;
#else
        return kOffset > 0 ? _mm256_xor_si256(codes, all_bytes(-128)) : codes;
#endif
    }

    // Scales of formats with codebooks and signs are odd numbers times a factor: (2 n +
    // 1) * factor, n of four bits.
    __attribute__((always_inline)) void read_odd_scales() {
        const auto odd = [](__m128i numbers) __attribute__((always_inline)) {
            return _mm_add_epi8(_mm_add_epi8(numbers, numbers), _mm_set1_epi8(1));
        };
        const auto nibbles = [](__m128i pairs) __attribute__((always_inline)) {
            return _mm_and_si128(_mm_unpacklo_epi8(pairs, _mm_srli_epi16(pairs, 4)), _mm_set1_epi8(15));
        };
        const float factor = half_at(block);
        if constexpr (kType == WeightType::kIq2Xxs || kType == WeightType::kIq3Xxs) {
            constexpr int kFirst = kType == WeightType::kIq2Xxs ? 6 : 66;
            constexpr int kStep = kType == WeightType::kIq2Xxs ? 8 : 4;
            std::uint64_t eight = 0;
            for (int i = 0; i < 8; ++i) eight |= std::uint64_t{block[kFirst + kStep * i + 3]} >> 4u << (8 * i);
            scales[0] = factors_of_bytes(odd(_mm_cvtsi64_si128(static_cast<long long>(eight))),
                                         factor * (kType == WeightType::kIq2Xxs ? 0.125f : 0.25f));
        } else if constexpr (kType == WeightType::kIq3S) {
            const __m128i pairs = _mm_cvtsi32_si128(static_cast<int>(word32_at(block + 106)));
            scales[0] = factors_of_bytes(odd(nibbles(pairs)), factor);
        } else {
            const auto pairs =
                _mm_cvtsi64_si128(static_cast<long long>(word64_at(block + (kType == WeightType::kIq2Xs ? 66 : 74))));
            factors_of_halves(odd(nibbles(pairs)), factor * 0.125f, scales);
        }
    }

    void read_scales() {
        for (int half = 0; half < kHalves; ++half) {
            alignas(32) float values[kScales];
            BlockPart part;
            for (int k = 0; k < kScales; ++k) {
                read_scale<kType>(block, 2 * k + half, part);
                values[k] = part.scale;
            }
            scales[half] = _mm256_load_ps(values);
        }
    }

    // Eight blocks of 32.
    __attribute__((always_inline)) void read_small() {
        const auto halves = [&](int at) __attribute__((always_inline)) {
#if OFFSTAGE_VECTOR_BITS == 512
            if constexpr (kBlockBytes <= 20) {  // four blocks' first words lie in 64 bytes
                constexpr short k = kBlockBytes / 2;
                const auto a = static_cast<short>(at / 2);
                const __m512i words = _mm512_permutex2var_epi16(
                    _mm512_loadu_si512(block),
                    _mm512_castsi128_si512(_mm_setr_epi16(
                        a, static_cast<short>(a + k), static_cast<short>(a + 2 * k), static_cast<short>(a + 3 * k),
                        static_cast<short>(a + 32), static_cast<short>(a + k + 32), static_cast<short>(a + 2 * k + 32),
                        static_cast<short>(a + 3 * k + 32))),
                    _mm512_loadu_si512(block + 4 * kBlockBytes));
                return _mm256_cvtph_ps(_mm512_castsi512_si128(words));
            }
#endif
            const auto half = [&](int i) __attribute__((always_inline)) {
                return static_cast<short>(word16_at(block + i * kBlockBytes + at));
            };
            return _mm256_cvtph_ps(
                _mm_setr_epi16(half(0), half(1), half(2), half(3), half(4), half(5), half(6), half(7)));
        };
        if constexpr (kType == WeightType::kMxfp4) {
            std::uint64_t eight = 0;
            for (int i = 0; i < 8; ++i) eight |= std::uint64_t{block[i * kBlockBytes]} << (8 * i);
            const __m256i exponents = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(eight)));
            // half_of_e8m0(): 2^-128 and 2^-127 are subnormal.
            const __m256i large = _mm256_slli_epi32(_mm256_sub_epi32(exponents, _mm256_set1_epi32(1)), 23);
            const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), exponents);
            scales[0] = _mm256_castsi256_ps(
                _mm256_blendv_epi8(large, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), exponents)));
        } else {
            scales[0] = halves(0);
        }
        if constexpr (has_bias(kType)) biases[0] = halves(2);
    }

    __attribute__((always_inline)) void read_large() {
        if constexpr (has_codebook(kType)) {
            read_odd_scales();
        } else if constexpr (kType == WeightType::kQ2K) {
            const __m128i both = load_16(block);
            const __m128i low = _mm_set1_epi8(15);
            factors_of_halves(_mm_and_si128(both, low), half_at(block + 80), scales);
            factors_of_halves(_mm_and_si128(_mm_srli_epi16(both, 4), low), -half_at(block + 82), biases);
        } else if constexpr (kType == WeightType::kQ3K) {
            constexpr std::uint64_t kLow = 0x0f0f0f0f0f0f0f0full;
            constexpr std::uint32_t kTwo = 0x03030303u;
            const std::uint64_t low = word64_at(block + 96);
            const std::uint32_t high = word32_at(block + 104);
            const auto upper = [&](int shift) __attribute__((always_inline)) {
                return (high >> shift & kTwo) | static_cast<std::uint64_t>(high >> (shift + 2) & kTwo) << 32u;
            };
            const __m128i bytes = _mm_set_epi64x(static_cast<long long>((low >> 4u & kLow) | upper(4) << 4u),
                                                 static_cast<long long>((low & kLow) | upper(0) << 4u));
            factors_of_halves(_mm_sub_epi8(bytes, _mm_set1_epi8(32)), half_at(block + 108), scales);
        } else if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
            // As read_six_bits(), in words of four: scales and, in the upper half, the
            // numbers that biases are made of. a, b: the first of both; c: four bits of
            // each of the last.
            const __m128i all = load_16(block);
            const __m128i aabb = _mm_shuffle_epi32(all, _MM_SHUFFLE(2, 2, 1, 1));
            const __m128i cccc = _mm_shuffle_epi32(all, _MM_SHUFFLE(3, 3, 3, 3));
            const __m128i six =
                _mm_or_si128(_mm_and_si128(_mm_srlv_epi32(aabb, _mm_setr_epi32(0, 2, 0, 2)),
                                           _mm_setr_epi32(0x3f3f3f3f, 0x30303030, 0x3f3f3f3f, 0x30303030)),
                             _mm_and_si128(_mm_srlv_epi32(cccc, _mm_setr_epi32(0, 0, 0, 4)),
                                           _mm_setr_epi32(0, 0x0f0f0f0f, 0, 0x0f0f0f0f)));
            const __m128 factors = _mm_cvtph_ps(all);
            const __m256 scale = _mm256_broadcastss_ps(factors);
            const __m256 bias = _mm256_broadcastss_ps(_mm_movehdup_ps(_mm_xor_ps(factors, _mm_set1_ps(-0.0f))));
            scales[0] = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(six)), scale);
            biases[0] = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(six, six))), bias);
        } else if constexpr (kType == WeightType::kQ6K) {
            factors_of_halves(load_16(block + 192), half_at(block + 208), scales);
        } else if constexpr (kType == WeightType::kIq4Xs) {
            const __m128i low = _mm_cvtsi32_si128(static_cast<int>(word32_at(block + 4)));
            const __m128i nibbles = _mm_and_si128(_mm_unpacklo_epi8(low, _mm_srli_epi16(low, 4)), _mm_set1_epi8(15));
            const __m256i high =
                _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(word16_at(block + 2))),
                                                   _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14)),
                                 _mm256_set1_epi32(3));
            const __m256i six = _mm256_or_si256(_mm256_cvtepu8_epi32(nibbles), _mm256_slli_epi32(high, 4));
            const __m256 numbers = _mm256_cvtepi32_ps(_mm256_sub_epi32(six, _mm256_set1_epi32(32)));
            scales[0] = _mm256_mul_ps(numbers, _mm256_set1_ps(half_at(block)));
        }
    }
};

}  // namespace
}  // namespace offstage::kernels
