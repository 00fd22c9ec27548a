#pragma once
// Blocks of files (blocks.h) in parts of 16 weights, which are codes of 8 bits with one
// scale and, in some formats, a bias: the one decoding that all products are built on,
// those of devices too. A code times its scale is exact in float32, in every format.
//
// Internal linkage: files compiled for an instruction set have functions of their own.
// C++17, because device code includes this.

#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/block_codebooks.h"
#include "kernels/types.h"

#if defined(__CUDACC__)
#define OFFSTAGE_HOST_DEVICE __host__ __device__
#else
#define OFFSTAGE_HOST_DEVICE
#endif

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

// Blocks with numbers of 4 or 5 bits count from 0 and have a bias of their own.
constexpr bool has_bias(WeightType type) {
    return type == WeightType::kQ4_1 || type == WeightType::kQ5_1 || type == WeightType::kQ2K ||
           type == WeightType::kQ4K || type == WeightType::kQ5K;
}

// What the codes of 4 bits stand for where it is not themselves.
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

// Of binary16: its bits as float32 are 2^-112 of the value, and exact where it is
// subnormal too.
OFFSTAGE_HOST_DEVICE inline float half_value(unsigned bits) {
#if defined(__F16C__)
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

// 2^(e - 128), half of what E8M0 says: MXFP4's values are doubled.
OFFSTAGE_HOST_DEVICE inline float half_of_e8m0(std::uint8_t e) {
    return float_from_bits(e < 2 ? 0x200000u << e : static_cast<std::uint32_t>(e - 1) << 23u);
}

// Scale and bias of part `part` (0 .. 15) of a block of 256 of Q4_K and Q5_K: pairs of
// parts have six bits of each, those of the last four pairs in two places.
OFFSTAGE_HOST_DEVICE inline void read_six_bits(const std::uint8_t* block, int part, BlockPart& out) {
    const std::uint8_t* s = block + 4;
    const int i = part / 2;
    unsigned scale = 0;
    unsigned low = 0;
    if (i < 4) {
        scale = s[i] & 63u;
        low = s[i + 4] & 63u;
    } else {
        scale = (s[i + 4] & 15u) | (s[i - 4] >> 6u) << 4u;
        low = static_cast<unsigned>(s[i + 4] >> 4u) | static_cast<unsigned>(s[i] >> 6u) << 4u;
    }
    out.scale = half_at(block) * static_cast<float>(scale);
    out.bias = -(half_at(block + 2) * static_cast<float>(low));
}

// Scale of a part of Q3_K, of six bits in two places.
OFFSTAGE_HOST_DEVICE inline int q3k_scale(const std::uint8_t* scales, int part) {
    const unsigned low = scales[part % 8] >> (part / 8 * 4) & 15u;
    const unsigned high = scales[8 + part % 4] >> (part / 4 * 2) & 3u;
    return static_cast<int>(low | high << 4u) - 32;
}

// Of IQ4_XS: pairs of parts have six bits, in two places.
OFFSTAGE_HOST_DEVICE inline int iq4xs_scale(const std::uint8_t* block, int part) {
    const int i = part / 2;
    const unsigned low = block[4 + i / 2] >> (i % 2 * 4) & 15u;
    const unsigned high = word16_at(block + 2) >> (2 * i) & 3u;
    return static_cast<int>(low | high << 4u) - 32;
}

// Seven signs; the eighth makes the number of negative ones even.
OFFSTAGE_HOST_DEVICE inline unsigned eight_signs(unsigned seven) {
    seven &= 127u;
    unsigned odd = seven ^ seven >> 4u;
    odd ^= odd >> 2u;
    odd ^= odd >> 1u;
    return seven | (odd & 1u) << 7u;
}

OFFSTAGE_HOST_DEVICE inline void put_signed(const std::int8_t* values, int n, unsigned signs, std::int8_t* codes) {
    for (int i = 0; i < n; ++i) {
        const int negative = -static_cast<int>(signs >> i & 1u);
        codes[i] = static_cast<std::int8_t>((values[i] ^ negative) - negative);
    }
}

template <typename Books>
OFFSTAGE_HOST_DEVICE inline void put_shifted(const Books& books, unsigned index, bool down, std::int8_t* codes) {
    const int eighth = down ? -1 : 1;
    for (int i = 0; i < 8; ++i) codes[i] = static_cast<std::int8_t>(books.iq1.values[index][i] + eighth);
}

// Part `part` of the block: weights 16 * part .. 16 * part + 15.
template <WeightType kType>
OFFSTAGE_HOST_DEVICE inline void read_part(const std::uint8_t* block, int part, const BlockCodebooks& books,
                                           BlockPart& out) {
    std::int8_t* const codes = out.codes;
    if constexpr (kType == WeightType::kQ8_0) {
        out.scale = half_at(block);
        memcpy(codes, block + 2 + 16 * part, 16);
    } else if constexpr (kType == WeightType::kQ4_0 || kType == WeightType::kQ4_1 || kType == WeightType::kIq4Nl ||
                         kType == WeightType::kMxfp4) {
        constexpr bool kBias = kType == WeightType::kQ4_1;
        constexpr bool kMx = kType == WeightType::kMxfp4;
        if constexpr (kMx) {
            out.scale = half_of_e8m0(block[0]);
        } else {
            out.scale = half_at(block);
        }
        if constexpr (kBias) out.bias = half_at(block + 2);
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
        out.scale = half_at(block);
        if constexpr (kBias) out.bias = half_at(block + 2);
        const std::uint8_t* const high = block + (kBias ? 4 : 2);
        const unsigned bits = word16_at(high + 2 * part);
        for (int i = 0; i < 16; ++i) {
            const unsigned code = (high[4 + i] >> (4 * part) & 15u) | (bits >> i & 1u) << 4u;
            codes[i] = static_cast<std::int8_t>(static_cast<int>(code) - (kBias ? 0 : 16));
        }
    } else if constexpr (kType == WeightType::kQ2K) {
        const unsigned scales = block[part];
        out.scale = half_at(block + 80) * static_cast<float>(scales & 15u);
        out.bias = -(half_at(block + 82) * static_cast<float>(scales >> 4u));
        const std::uint8_t* const quads = block + 16 + part / 8 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) codes[i] = static_cast<std::int8_t>(quads[i] >> (part % 8 / 2 * 2) & 3);
    } else if constexpr (kType == WeightType::kQ3K) {
        out.scale = half_at(block + 108) * static_cast<float>(q3k_scale(block + 96, part));
        const std::uint8_t* const high = block + part % 2 * 16;
        const std::uint8_t* const quads = block + 32 + part / 8 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            const int low = quads[i] >> (part % 8 / 2 * 2) & 3;
            codes[i] = static_cast<std::int8_t>(low + (high[i] >> (part / 2) & 1) * 4 - 4);
        }
    } else if constexpr (kType == WeightType::kQ4K) {
        read_six_bits(block, part, out);
        const std::uint8_t* const pairs = block + 16 + part / 4 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) codes[i] = static_cast<std::int8_t>(pairs[i] >> (part % 4 / 2 * 4) & 15);
    } else if constexpr (kType == WeightType::kQ5K) {
        read_six_bits(block, part, out);
        const std::uint8_t* const high = block + 16 + part % 2 * 16;
        const std::uint8_t* const pairs = block + 48 + part / 4 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            const int low = pairs[i] >> (part % 4 / 2 * 4) & 15;
            codes[i] = static_cast<std::int8_t>(low + (high[i] >> (part / 2) & 1) * 16);
        }
    } else if constexpr (kType == WeightType::kQ6K) {
        const auto scale = static_cast<std::int8_t>(block[192 + part]);
        out.scale = half_at(block + 208) * static_cast<float>(scale);
        const std::uint8_t* const pairs = block + part / 8 * 64 + part % 4 * 16;
        const std::uint8_t* const quads = block + 128 + part / 8 * 32 + part % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            const int low = pairs[i] >> (part % 8 / 4 * 4) & 15;
            codes[i] = static_cast<std::int8_t>(low + (quads[i] >> (part % 8 / 2 * 2) & 3) * 16 - 32);
        }
    } else if constexpr (kType == WeightType::kIq4Xs) {
        out.scale = half_at(block) * static_cast<float>(iq4xs_scale(block, part));
        const std::uint8_t* const pairs = block + 8 + part / 2 * 16;
        for (int i = 0; i < 16; ++i) codes[i] = kIq4Values[pairs[i] >> (part % 2 * 4) & 15];
    } else if constexpr (kType == WeightType::kIq2Xxs) {
        // Per 32 weights four indices, then 4 times 7 signs and the scale.
        const std::uint8_t* const indices = block + 2 + part / 2 * 8;
        const std::uint32_t word = word32_at(indices + 4);
        out.scale = half_at(block) * (0.5f + static_cast<float>(word >> 28u)) * 0.25f;
        for (int h = 0; h < 2; ++h) {
            const int eight = part % 2 * 2 + h;
            put_signed(books.iq2_xxs.values[indices[eight]], 8, eight_signs(word >> (7 * eight)), codes + 8 * h);
        }
    } else if constexpr (kType == WeightType::kIq2Xs) {
        out.scale = half_at(block) * (0.5f + static_cast<float>(block[66 + part / 2] >> (part % 2 * 4) & 15)) * 0.25f;
        for (int h = 0; h < 2; ++h) {
            const unsigned word = word16_at(block + 2 + 4 * part + 2 * h);
            put_signed(books.iq2_xs.values[word & 511u], 8, eight_signs(word >> 9u), codes + 8 * h);
        }
    } else if constexpr (kType == WeightType::kIq2S) {
        out.scale = half_at(block) * (0.5f + static_cast<float>(block[74 + part / 2] >> (part % 2 * 4) & 15)) * 0.25f;
        for (int h = 0; h < 2; ++h) {
            const int eight = 2 * part + h;
            const unsigned high = block[66 + eight / 4] >> (eight % 4 * 2) & 3u;
            put_signed(books.iq2_s.values[block[2 + eight] | high << 8u], 8, block[34 + eight], codes + 8 * h);
        }
    } else if constexpr (kType == WeightType::kIq3Xxs) {
        const std::uint32_t word = word32_at(block + 66 + part / 2 * 4);
        out.scale = half_at(block) * (0.5f + static_cast<float>(word >> 28u)) * 0.5f;
        for (int four = 0; four < 4; ++four) {
            const unsigned signs = eight_signs(word >> (7 * (part % 2 * 2 + four / 2)));
            put_signed(books.iq3_xxs.values[block[2 + 4 * part + four]], 4, signs >> (four % 2 * 4), codes + 4 * four);
        }
    } else if constexpr (kType == WeightType::kIq3S) {
        const unsigned scale = block[106 + part / 4] >> (part / 2 % 2 * 4) & 15u;
        out.scale = half_at(block) * static_cast<float>(1u + 2u * scale);
        for (int four = 0; four < 4; ++four) {
            const int index = 4 * part + four;
            const unsigned high = block[66 + index / 8] >> (index % 8) & 1u;
            const unsigned signs = block[74 + index / 2] >> (index % 2 * 4);
            put_signed(books.iq3_s.values[block[2 + index] | high << 8u], 4, signs, codes + 4 * four);
        }
    } else if constexpr (kType == WeightType::kIq1S) {
        const unsigned word = word16_at(block + 34 + part / 2 * 2);
        out.scale = half_at(block) * static_cast<float>(2u * (word >> 12u & 7u) + 1u) * 0.125f;
        for (int h = 0; h < 2; ++h) {
            const int eight = 2 * part + h;
            put_shifted(books, block[2 + eight] | (word >> (eight % 4 * 3) & 7u) << 8u, (word & 0x8000u) != 0,
                        codes + 8 * h);
        }
    } else {
        static_assert(kType == WeightType::kIq1M, "all formats are here");
        unsigned half = 0;  // its four digits are the highest ones of four words
        for (int i = 0; i < 4; ++i) half |= (word16_at(block + 48 + 2 * i) >> 12u) << (4 * i);
        const unsigned scale = word16_at(block + 48 + part / 4 * 2) >> (part % 4 * 3) & 7u;
        out.scale = half_value(half) * static_cast<float>(2u * scale + 1u) * 0.125f;
        for (int h = 0; h < 2; ++h) {
            const unsigned high = block[32 + part] >> (4 * h) & 15u;
            put_shifted(books, block[2 * part + h] | (high & 7u) << 8u, (high & 8u) != 0, codes + 8 * h);
        }
    }
}

}  // namespace
}  // namespace offstage::kernels
