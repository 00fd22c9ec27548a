#pragma once
// Blocks of files (blocks.h) in parts of 16 weights, which are codes of 8 bits with one
// scale and, in some formats, a bias. All products, also those of devices, use this
// decoding. A code times its scale is exact in float32, in every format. Internal
// linkage: each file compiled for an instruction set has its own functions. C++17,
// because device code includes this, after <cuda_fp16.h>.

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/block_codebooks.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace offstage::kernels {

extern const BlockCodebooks kBlockCodebooks;

namespace {

inline constexpr int kPartWeights = 16;

// weight i = scale * codes[i] + bias, the bias only in formats that have one.
struct BlockPart {
    alignas(16) std::int8_t codes[kPartWeights];
    float scale;
    float bias;
};

// Formats with numbers of 4 or 5 bits count from 0 and store a bias.
OFFSTAGE_HOST_DEVICE constexpr bool has_bias(WeightType type) {
    return type == WeightType::kQ4_1 || type == WeightType::kQ5_1 || type == WeightType::kQ2K ||
           type == WeightType::kQ4K || type == WeightType::kQ5K;
}

// The values of the 4-bit codes, in formats where a code is an index.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr std::int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

OFFSTAGE_HOST_DEVICE inline unsigned word16_at(const std::uint8_t* p) {
    return p[0] | static_cast<unsigned>(p[1]) << 8u;
}
OFFSTAGE_HOST_DEVICE inline std::uint32_t word32_at(const std::uint8_t* p) {
    return word16_at(p) | word16_at(p + 2) << 16u;
}

OFFSTAGE_HOST_DEVICE inline float float_from_bits(std::uint32_t bits) {
    float value = 0.0f;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// A binary16 number: its bits as float32 are 2^-112 of the value, and exact for subnormal
// numbers too.
OFFSTAGE_HOST_DEVICE inline float half_value(unsigned bits) {
#if defined(__CUDA_ARCH__)
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
#elif defined(__F16C__)
    return _cvtsh_ss(static_cast<unsigned short>(bits));
#else
    const std::uint32_t sign = (bits & 0x8000u) << 16u;
    const std::uint32_t rest = (bits & 0x7fffu) << 13u;
    if (rest >= 0x0f800000u) return float_from_bits(sign | 0x7f800000u | rest);
    return float_from_bits(sign | rest) * 0x1p112f;
#endif
}
OFFSTAGE_HOST_DEVICE inline float half_at(const std::uint8_t* p) {
    return half_value(word16_at(p));
}

// 2^(e - 128), half of the E8M0 value: MXFP4's values are doubled.
OFFSTAGE_HOST_DEVICE inline float half_of_e8m0(std::uint8_t e) {
    return float_from_bits(e < 2 ? 0x200000u << e : static_cast<std::uint32_t>(e - 1) << 23u);
}

// Scale and bias of part `part` (0 .. 15) of a block of 256 of Q4_K and Q5_K, whose first
// 16 bytes these are: pairs of parts have six bits of each, those of the last four pairs
// in two places.
OFFSTAGE_HOST_DEVICE inline void read_six_bits(const std::uint32_t (&header)[4], int part, BlockPart& out) {
    const int i = part / 2;
    const int shift = i % 4 * 8;
    const unsigned scales = header[1] >> shift;
    const unsigned lows = header[2] >> shift;
    const unsigned rest = header[3] >> shift;  // four bits of both
    const unsigned scale = i < 4 ? scales & 63u : (rest & 15u) | (scales >> 6u & 3u) << 4u;
    const unsigned low = i < 4 ? lows & 63u : (rest >> 4u & 15u) | (lows >> 6u & 3u) << 4u;
    out.scale = half_value(header[0] & 0xffffu) * static_cast<float>(scale);
    out.bias = -(half_value(header[0] >> 16u) * static_cast<float>(low));
}

// Scale of a part of Q3_K, of six bits in two places.
OFFSTAGE_HOST_DEVICE inline int q3k_scale(const std::uint8_t* scales, int part) {
    const unsigned low = scales[part % 8] >> (part / 8 * 4) & 15u;
    const unsigned high = scales[8 + part % 4] >> (part / 4 * 2) & 3u;
    return static_cast<int>(low | high << 4u) - 32;
}

// IQ4_XS: pairs of parts have six bits, in two places.
OFFSTAGE_HOST_DEVICE inline int iq4xs_scale(const std::uint8_t* block, int part) {
    const int i = part / 2;
    const unsigned low = block[4 + i / 2] >> (i % 2 * 4) & 15u;
    const unsigned high = word16_at(block + 2) >> (2 * i) & 3u;
    return static_cast<int>(low | high << 4u) - 32;
}

// Seven signs; the eighth makes the number of negative ones even.
OFFSTAGE_HOST_DEVICE constexpr unsigned eight_signs(unsigned seven) {
    seven &= 127u;
    unsigned odd = seven ^ seven >> 4u;
    odd ^= odd >> 2u;
    odd ^= odd >> 1u;
    return seven | (odd & 1u) << 7u;
}

// IQ2_XXS and IQ3_XXS: four times 7 signs and the scale of the pair of parts. In IQ2_XXS
// four indices precede it.
OFFSTAGE_HOST_DEVICE inline std::uint32_t iq2xxs_word(const std::uint8_t* block, int part) {
    return word32_at(block + 6 + part / 2 * 8);
}
OFFSTAGE_HOST_DEVICE inline std::uint32_t iq3xxs_word(const std::uint8_t* block, int part) {
    return word32_at(block + 66 + part / 2 * 4);
}
// IQ1_S: high bits of four indices, scale and direction of the pair of parts.
OFFSTAGE_HOST_DEVICE inline unsigned iq1s_word(const std::uint8_t* block, int part) {
    return word16_at(block + 34 + part / 2 * 2);
}

// Formats with codebooks: the point for 8 consecutive weights (IQ3: 4), and their signs,
// the first in the lowest bit (IQ3: four signs; IQ1: whether the weights are an eighth
// less or an eighth more).
struct CodebookEntry {
    unsigned index;
    unsigned signs;
};

OFFSTAGE_HOST_DEVICE constexpr bool is_of_fours(WeightType type) {
    return type == WeightType::kIq3Xxs || type == WeightType::kIq3S;
}
OFFSTAGE_HOST_DEVICE constexpr bool is_of_eighths(WeightType type) {
    return type == WeightType::kIq1S || type == WeightType::kIq1M;
}
OFFSTAGE_HOST_DEVICE constexpr bool has_codebook(WeightType type) {
    return is_of_fours(type) || is_of_eighths(type) || type == WeightType::kIq2Xxs || type == WeightType::kIq2Xs ||
           type == WeightType::kIq2S;
}

// The book's points, (points, 8 or 4).
template <WeightType kType>
OFFSTAGE_HOST_DEVICE inline const auto& points_of(const BlockCodebooks& books) {
    if constexpr (kType == WeightType::kIq2Xxs) {
        return books.iq2_xxs.values;
    } else if constexpr (kType == WeightType::kIq2Xs) {
        return books.iq2_xs.values;
    } else if constexpr (kType == WeightType::kIq2S) {
        return books.iq2_s.values;
    } else if constexpr (kType == WeightType::kIq3Xxs) {
        return books.iq3_xxs.values;
    } else if constexpr (kType == WeightType::kIq3S) {
        return books.iq3_s.values;
    } else {
        static_assert(is_of_eighths(kType), "the others have no codebook");
        return books.iq1.values;
    }
}

// Entry `at` of a part: 0, 1 (IQ3: 0 .. 3).
template <WeightType kType>
OFFSTAGE_HOST_DEVICE inline CodebookEntry entry_of(const std::uint8_t* block, int part, int at) {
    if constexpr (kType == WeightType::kIq2Xxs) {
        const int eight = part % 2 * 2 + at;
        return {block[2 + part / 2 * 8 + eight], eight_signs(iq2xxs_word(block, part) >> (7 * eight))};
    } else if constexpr (kType == WeightType::kIq2Xs) {
        const unsigned word = word16_at(block + 2 + 4 * part + 2 * at);
        return {word & 511u, eight_signs(word >> 9u)};
    } else if constexpr (kType == WeightType::kIq2S) {
        const int eight = 2 * part + at;
        const unsigned high = block[66 + eight / 4] >> (eight % 4 * 2) & 3u;
        return {block[2 + eight] | high << 8u, block[34 + eight]};
    } else if constexpr (kType == WeightType::kIq3Xxs) {
        const unsigned signs = eight_signs(iq3xxs_word(block, part) >> (7 * (part % 2 * 2 + at / 2)));
        return {block[2 + 4 * part + at], signs >> (at % 2 * 4)};
    } else if constexpr (kType == WeightType::kIq3S) {
        const int four = 4 * part + at;
        const unsigned high = block[66 + four / 8] >> (four % 8) & 1u;
        return {block[2 + four] | high << 8u, static_cast<unsigned>(block[74 + four / 2] >> (four % 2 * 4))};
    } else if constexpr (kType == WeightType::kIq1S) {
        const unsigned word = iq1s_word(block, part);
        const int eight = 2 * part + at;
        return {block[2 + eight] | (word >> (eight % 4 * 3) & 7u) << 8u, word >> 15u};
    } else {
        static_assert(kType == WeightType::kIq1M, "the others have no codebook");
        const unsigned high = block[32 + part] >> (4 * at) & 15u;
        return {block[2 * part + at] | (high & 7u) << 8u, high >> 3u};
    }
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte i of a word is the i-th in memory");

// Byte i of the result is 1 where bit i of the lowest eight bits is set.
inline std::uint64_t one_per_bit(unsigned bits) {
    const std::uint64_t each = ((bits & 255u) * 0x0101010101010101u) & 0x8040201008040201u;
    return (each + 0x7f7f7f7f7f7f7f7fu) >> 7u & 0x0101010101010101u;
}

// The codes of formats with codebooks, the first in the lowest byte: all values of a
// point at once. No code is 0 in formats with signs, and codes of -8 .. 8 are far from a
// byte's ends, so no carry occurs.
template <WeightType kType>
inline void read_points(const std::uint8_t* block, int part, const BlockCodebooks& books, std::uint64_t (&words)[2]) {
    constexpr int kDim = is_of_fours(kType) ? 4 : 8;
    constexpr std::uint64_t kOnes = 0x0101010101010101u;
    constexpr std::uint64_t kMiddle = 0x8080808080808080u;
    for (int h = 0; h < 2; ++h) {
        std::uint64_t values = 0;
        unsigned signs = 0;
        for (int i = 0; i < 8 / kDim; ++i) {
            const CodebookEntry entry = entry_of<kType>(block, part, 8 / kDim * h + i);
            std::conditional_t<kDim == 4, std::uint32_t, std::uint64_t> point = 0;
            memcpy(&point, points_of<kType>(books)[entry.index], kDim);
            values |= std::uint64_t{point} << (32 * i);
            signs |= (kDim == 4 ? entry.signs & 15u : entry.signs) << (4 * i);
        }
        if constexpr (is_of_eighths(kType)) {
            words[h] = ((values ^ kMiddle) + (signs != 0 ? 0 - kOnes : kOnes)) ^ kMiddle;
        } else {
            const std::uint64_t ones = one_per_bit(signs);
            words[h] = (values ^ ones * 255) + ones;
        }
    }
}

// Scale and bias of part `part` of the block.
template <WeightType kType>
OFFSTAGE_HOST_DEVICE inline void read_scale(const std::uint8_t* block, int part, BlockPart& out) {
    if constexpr (kType == WeightType::kMxfp4) {
        out.scale = half_of_e8m0(block[0]);
    } else if constexpr (kType == WeightType::kQ4_1 || kType == WeightType::kQ5_1) {
        out.scale = half_at(block);
        out.bias = half_at(block + 2);
    } else if constexpr (kType == WeightType::kQ2K) {
        const unsigned scales = block[part];
        out.scale = half_at(block + 80) * static_cast<float>(scales & 15u);
        out.bias = -(half_at(block + 82) * static_cast<float>(scales >> 4u));
    } else if constexpr (kType == WeightType::kQ3K) {
        out.scale = half_at(block + 108) * static_cast<float>(q3k_scale(block + 96, part));
    } else if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
        const std::uint32_t header[4] = {word32_at(block), word32_at(block + 4), word32_at(block + 8),
                                         word32_at(block + 12)};
        read_six_bits(header, part, out);
    } else if constexpr (kType == WeightType::kQ6K) {
        out.scale = half_at(block + 208) * static_cast<float>(static_cast<std::int8_t>(block[192 + part]));
    } else if constexpr (kType == WeightType::kIq4Xs) {
        out.scale = half_at(block) * static_cast<float>(iq4xs_scale(block, part));
    } else if constexpr (kType == WeightType::kIq2Xxs) {
        out.scale = half_at(block) * (0.5f + static_cast<float>(iq2xxs_word(block, part) >> 28u)) * 0.25f;
    } else if constexpr (kType == WeightType::kIq2Xs) {
        out.scale = half_at(block) * (0.5f + static_cast<float>(block[66 + part / 2] >> (part % 2 * 4) & 15)) * 0.25f;
    } else if constexpr (kType == WeightType::kIq2S) {
        out.scale = half_at(block) * (0.5f + static_cast<float>(block[74 + part / 2] >> (part % 2 * 4) & 15)) * 0.25f;
    } else if constexpr (kType == WeightType::kIq3Xxs) {
        out.scale = half_at(block) * (0.5f + static_cast<float>(iq3xxs_word(block, part) >> 28u)) * 0.5f;
    } else if constexpr (kType == WeightType::kIq3S) {
        const unsigned scale = block[106 + part / 4] >> (part / 2 % 2 * 4) & 15u;
        out.scale = half_at(block) * static_cast<float>(1u + 2u * scale);
    } else if constexpr (kType == WeightType::kIq1S) {
        out.scale = half_at(block) * static_cast<float>(2u * (iq1s_word(block, part) >> 12u & 7u) + 1u) * 0.125f;
    } else if constexpr (kType == WeightType::kIq1M) {
        unsigned half = 0;  // its four digits are the highest ones of four words
        for (int i = 0; i < 4; ++i) half |= (word16_at(block + 48 + 2 * i) >> 12u) << (4 * i);
        const unsigned scale = word16_at(block + 48 + part / 4 * 2) >> (part % 4 * 3) & 7u;
        out.scale = half_value(half) * static_cast<float>(2u * scale + 1u) * 0.125f;
    } else {
        static_assert(kType == WeightType::kQ8_0 || kType == WeightType::kQ4_0 || kType == WeightType::kQ5_0 ||
                          kType == WeightType::kIq4Nl,
                      "all formats are here");
        out.scale = half_at(block);
    }
}

// Part `part` of the block: weights 16 * part .. 16 * part + 15.
template <WeightType kType>
inline void read_part(const std::uint8_t* block, int part, const BlockCodebooks& books, BlockPart& out) {
    std::int8_t* const codes = out.codes;
    read_scale<kType>(block, part, out);
    if constexpr (kType == WeightType::kQ8_0) {
        memcpy(codes, block + 2 + 16 * part, 16);
    } else if constexpr (kType == WeightType::kQ4_0 || kType == WeightType::kQ4_1 || kType == WeightType::kIq4Nl ||
                         kType == WeightType::kMxfp4) {
        constexpr bool kBias = kType == WeightType::kQ4_1;
        constexpr bool kMx = kType == WeightType::kMxfp4;
        const std::uint8_t* const pairs = block + (kMx ? 1 : kBias ? 4 : 2);
        for (int i = 0; i < 16; ++i) {
            const int code = pairs[i] >> (4 * part) & 15;
            codes[i] = static_cast<std::int8_t>(kMx                           ? kMxfp4Values[code]
                                                : kType == WeightType::kIq4Nl ? kIq4Values[code]
                                                : kBias                       ? code
                                                                              : code - 8);
        }
    } else if constexpr (kType == WeightType::kQ5_0 || kType == WeightType::kQ5_1) {
        constexpr bool kBias = kType == WeightType::kQ5_1;
        const std::uint8_t* const high = block + (kBias ? 4 : 2);
        const unsigned bits = word16_at(high + 2 * part);
        for (int i = 0; i < 16; ++i) {
            const unsigned code = (high[4 + i] >> (4 * part) & 15u) | (bits >> i & 1u) << 4u;
            codes[i] = static_cast<std::int8_t>(static_cast<int>(code) - (kBias ? 0 : 16));
        }
    } else if constexpr (kType == WeightType::kQ2K) {
        const std::uint8_t* const quads = block + 16 + part / 8 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) codes[i] = static_cast<std::int8_t>(quads[i] >> (part % 8 / 2 * 2) & 3);
    } else if constexpr (kType == WeightType::kQ3K) {
        const std::uint8_t* const high = block + part % 2 * 16;
        const std::uint8_t* const quads = block + 32 + part / 8 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            const int low = quads[i] >> (part % 8 / 2 * 2) & 3;
            codes[i] = static_cast<std::int8_t>(low + (high[i] >> (part / 2) & 1) * 4 - 4);
        }
    } else if constexpr (kType == WeightType::kQ4K) {
        const std::uint8_t* const pairs = block + 16 + part / 4 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) codes[i] = static_cast<std::int8_t>(pairs[i] >> (part % 4 / 2 * 4) & 15);
    } else if constexpr (kType == WeightType::kQ5K) {
        const std::uint8_t* const high = block + 16 + part % 2 * 16;
        const std::uint8_t* const pairs = block + 48 + part / 4 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            const int low = pairs[i] >> (part % 4 / 2 * 4) & 15;
            codes[i] = static_cast<std::int8_t>(low + (high[i] >> (part / 2) & 1) * 16);
        }
    } else if constexpr (kType == WeightType::kQ6K) {
        const std::uint8_t* const pairs = block + part / 8 * 64 + part % 4 * 16;
        const std::uint8_t* const quads = block + 128 + part / 8 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            const int low = pairs[i] >> (part % 8 / 4 * 4) & 15;
            codes[i] = static_cast<std::int8_t>(low + (quads[i] >> (part % 8 / 2 * 2) & 3) * 16 - 32);
        }
    } else if constexpr (kType == WeightType::kIq4Xs) {
        const std::uint8_t* const pairs = block + 8 + part / 2 * 16;
        for (int i = 0; i < 16; ++i) codes[i] = kIq4Values[pairs[i] >> (part % 2 * 4) & 15];
    } else {
        std::uint64_t words[2];
        read_points<kType>(block, part, books, words);
        memcpy(codes, words, sizeof words);
    }
}

}  // namespace
}  // namespace offstage::kernels
