#pragma once
// Rows of files' blocks (kernels/blocks.h) as a warp reads them. A lane takes a part of
// 16 weights, its neighbour the next one: a warp reads 512 weights that follow each
// other, from any address, in words of four bytes. Codes stay four in a word until they
// are multiplied; a scale is decoded once in 16 weights.

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/block_parts.h"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/row_layout.cuh"
#include "kernels/types.h"

namespace offstage::kernels::cuda {
namespace {

// Lanes look up different points: in memory that the L1 cache serves, not in that for
// constants, which serves one address at a time.
alignas(16) __device__ const BlockCodebooks kDeviceCodebooks = block_codebooks();

}  // namespace

// A lane's code i is byte i of its words less this: so that it is not negative.
__host__ __device__ constexpr int code_zero(WeightType type) {
    switch (file_type(type)) {
        case WeightType::kQ4_0:
            return 8;
        case WeightType::kQ5_0:
            return 16;
        case WeightType::kQ3K:
            return 4;
        case WeightType::kQ6K:
            return 32;
        default:
            return has_bias(type) ? 0 : 128;
    }
}

// The sizes of a type's blocks; device code cannot call traits_of().
template <WeightType kType>
struct BlockSizes {
    static constexpr int kWeights = traits_of(file_type(kType)).group;
    static constexpr int kBytes = traits_of(file_type(kType)).block_bytes;
    static constexpr int kParts = kWeights / kPartWeights;
    static constexpr bool kVector = !is_laid_out(kType) && kBytes % 16 == 0;  // see load_bytes()
};

// 16 bytes from any address. Reads only words that contain one of these bytes: the rest
// of such a word belongs to the same allocation. kVector: the bytes lie at a multiple of
// 16 if the weight does, which is checked at run time.
template <bool kVector = false>
__device__ inline void load_bytes(const std::uint8_t* bytes, unsigned (&words)[4]) {
    constexpr int kWords = 4;
    if constexpr (kVector) {
        if (reinterpret_cast<std::uintptr_t>(bytes) % 16 == 0) {
            const uint4 all = *reinterpret_cast<const uint4*>(bytes);
            words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
            return;
        }
    }
    const unsigned beyond = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(bytes) % 4);
    const auto* const from = reinterpret_cast<const unsigned*>(bytes - beyond);
    const unsigned shift = beyond * 8;
    unsigned low = from[0];
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
        const unsigned high = i + 1 < kWords || shift != 0 ? from[i + 1] : low;
        words[i] = __funnelshift_r(low, high, shift);
        low = high;
    }
}

// The same from an address that is a multiple of 16, or any.
template <bool kAligned>
__device__ inline void load_bytes_at(const std::uint8_t* bytes, unsigned (&words)[4]) {
    if constexpr (kAligned) {
        const uint4 all = *reinterpret_cast<const uint4*>(bytes);
        words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
    } else {
        load_bytes(bytes, words);
    }
}

// Bits [shift, shift + ...) of each byte, as `mask` has them.
__device__ inline unsigned fields(unsigned word, int shift, unsigned mask) {
    return (word >> shift) & (mask * 0x01010101u);
}

// Bit i of four into the lowest of byte i.
__device__ inline unsigned bit_per_byte(unsigned bits) {
    return (bits & 15u) * 0x00204081u & 0x01010101u;
}

// The values of places first .. first + 3, each with 128 added.
constexpr unsigned table_word(WeightType type, int first) {
    unsigned word = 0;
    for (int i = 0; i < 4; ++i) {
        const int value = type == WeightType::kMxfp4 ? kMxfp4Values[first + i] : kIq4Values[first + i];
        word |= static_cast<unsigned>(value + 128) << (8 * i);
    }
    return word;
}

template <WeightType kType>
struct ValueTable {
    static constexpr unsigned k0 = table_word(kType, 0);
    static constexpr unsigned k4 = table_word(kType, 4);
    static constexpr unsigned k8 = table_word(kType, 8);
    static constexpr unsigned k12 = table_word(kType, 12);
};

// The values of four places (bytes of 0 .. 15).
template <WeightType kType>
__device__ inline unsigned looked_up(unsigned places) {
    using Table = ValueTable<kType>;
    // The four places as digits of 4 bits, of which three choose a byte of two words.
    const unsigned digits = __byte_perm(places | places >> 4, 0, 0x4420) & 0x7777u;
    const unsigned upper_half = (places >> 3 & 0x01010101u) * 255u;
    return (__byte_perm(Table::k0, Table::k4, digits) & ~upper_half) |
           (__byte_perm(Table::k8, Table::k12, digits) & upper_half);
}

// __byte_perm() by digits of a word's lower half that are below 8, which it need not
// mask.
__device__ inline unsigned chosen_bytes(unsigned low, unsigned high, unsigned digits) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
    return __byte_perm(low, high, digits);
#else
    unsigned bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(digits));
    return bytes;
#endif
}

// The values of the places in a word's eight digits: low has those of the bytes' lower
// digits, high those of the upper ones.
template <WeightType kType>
__device__ inline void look_up_digits(unsigned word, unsigned& low, unsigned& high) {
    using Table = ValueTable<kType>;
    const unsigned digits = word & 0x77777777u;                       // choose a byte of two words
    const unsigned halves = (word >> 1 & 0x44444444u) | 0x32103210u;  // choose between two bytes
    unsigned values[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        values[i] = chosen_bytes(chosen_bytes(Table::k0, Table::k4, digits >> (16 * i)),
                                 chosen_bytes(Table::k8, Table::k12, digits >> (16 * i)), halves >> (16 * i));
    }
    low = __byte_perm(values[0], values[1], 0x6420);
    high = __byte_perm(values[0], values[1], 0x7531);
}

// Four values of a codebook, none of them 0, each with 128 added; negative if its sign is
// set.
__device__ inline unsigned signed_word(unsigned values, unsigned signs) {
    const unsigned ones = bit_per_byte(signs);
    return ((values ^ ones * 255u) + ones) ^ 0x80808080u;
}

// The codes of part `part` of the block, offset as code_zero() defines.
template <WeightType kType>
__device__ inline void load_codes(const std::uint8_t* block, int part, unsigned (&words)[4]) {
    if constexpr (has_codebook(kType)) {
        const auto& points = points_of<kType>(kDeviceCodebooks);
#pragma unroll
        for (int at = 0; at < kPartWeights / (is_of_fours(kType) ? 4 : 8); ++at) {
            const CodebookEntry entry = entry_of<kType>(block, part, at);
            if constexpr (is_of_fours(kType)) {
                words[at] = signed_word(*reinterpret_cast<const unsigned*>(points[entry.index]), entry.signs);
            } else {
                const uint2 values = *reinterpret_cast<const uint2*>(points[entry.index]);
                if constexpr (is_of_eighths(kType)) {
                    const unsigned eighths = entry.signs != 0 ? 0u - 0x01010101u : 0x01010101u;
                    words[2 * at] = (values.x ^ 0x80808080u) + eighths;
                    words[2 * at + 1] = (values.y ^ 0x80808080u) + eighths;
                } else {
                    words[2 * at] = signed_word(values.x, entry.signs);
                    words[2 * at + 1] = signed_word(values.y, entry.signs >> 4);
                }
            }
        }
    } else if constexpr (kType == WeightType::kQ8_0) {
        load_bytes(block + 2 + 16 * part, words);
#pragma unroll
        for (unsigned& word : words) word ^= 0x80808080u;
    } else if constexpr (BlockSizes<kType>::kWeights == 32) {
        constexpr bool kFive = kType == WeightType::kQ5_0 || kType == WeightType::kQ5_1;
        constexpr int kBegin = kType == WeightType::kMxfp4 ? 1 : has_bias(kType) ? 4 : 2;
        load_bytes(block + kBegin + (kFive ? 4 : 0), words);
        const unsigned bits = kFive ? word16_at(block + kBegin + 2 * part) : 0u;
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            words[w] = fields(words[w], 4 * part, 15u);
            if constexpr (kFive) words[w] |= bit_per_byte(bits >> (4 * w)) << 4;
            if constexpr (kType == WeightType::kIq4Nl || kType == WeightType::kMxfp4) {
                words[w] = looked_up<kType>(words[w]);
            }
        }
    } else if constexpr (kType == WeightType::kIq4Xs) {
        load_bytes(block + 8 + part / 2 * 16, words);
#pragma unroll
        for (unsigned& word : words) word = looked_up<kType>(fields(word, part % 2 * 4, 15u));
    } else {
        // Low bits of a code lie two or four in a byte; the others, where there are some,
        // apart.
        constexpr bool kTwoBits = kType == WeightType::kQ2K || kType == WeightType::kQ3K;
        constexpr bool kSixBits = kType == WeightType::kQ6K;
        constexpr int kBegin = kType == WeightType::kQ2K || kType == WeightType::kQ4K ? 16
                               : kType == WeightType::kQ3K                            ? 32
                               : kType == WeightType::kQ5K                            ? 48
                                                                                      : 0;
        const int place = kTwoBits   ? part / 8 * 32 + part % 2 * 16
                          : kSixBits ? part / 8 * 64 + part % 4 * 16
                                     : part / 4 * 32 + part % 2 * 16;
        const int shift = kTwoBits ? part % 8 / 2 * 2 : kSixBits ? part % 8 / 4 * 4 : part % 4 / 2 * 4;
        load_bytes<BlockSizes<kType>::kVector>(block + kBegin + place, words);
#pragma unroll
        for (unsigned& word : words) word = fields(word, shift, kTwoBits ? 3u : 15u);
        if constexpr (kType == WeightType::kQ3K || kType == WeightType::kQ5K || kSixBits) {
            unsigned high[4];
            load_bytes<BlockSizes<kType>::kVector>(block +
                                                       (kSixBits                    ? 128 + part / 8 * 32
                                                        : kType == WeightType::kQ5K ? 16
                                                                                    : 0) +
                                                       part % 2 * 16,
                                                   high);
            const int high_shift = kSixBits ? part % 8 / 2 * 2 : part / 2;
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                words[w] |= fields(high[w], high_shift, kSixBits ? 3u : 1u) << (kTwoBits ? 2 : 4);
            }
        }
    }
}

// Four codes as signed numbers.
template <WeightType kType>
__device__ inline unsigned signed_codes(unsigned word) {
    constexpr unsigned kSigns = 0x80808080u;
    constexpr unsigned kZeros = static_cast<unsigned>(code_zero(kType)) * 0x01010101u;
    if constexpr (code_zero(kType) == 128) return word ^ kSigns;
    if constexpr (code_zero(kType) == 0) return word;
    return ((word | kSigns) - kZeros) ^ kSigns;  // codes are below 128: nothing is borrowed
}

// read_scale() in fewer loads if possible.
template <WeightType kType>
__device__ inline void load_scale(const std::uint8_t* block, int part, BlockPart& out) {
    if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
        unsigned header[4];
        load_bytes<true>(block, header);
        read_six_bits(header, part, out);
    } else {
        read_scale<kType>(block, part, out);
    }
}

// Byte i of a word, as the mantissa of 2^23, less `zero`.
__device__ inline float byte_to_float(unsigned word, unsigned i, int zero = 0) {
    constexpr float kTwoTo23 = 8388608.0f;
    constexpr unsigned kItsBits = 0x4b000000u;
    return __uint_as_float(__byte_perm(word, kItsBits, 0x7440u | i)) - (kTwoTo23 + static_cast<float>(zero));
}

// load_codes() and read_scale() of rows that are laid out.
template <WeightType kType>
__device__ inline void load_codes_of(const LaidOutRow<kType>& row, int block, int part, unsigned (&words)[4]) {
    constexpr WeightType kFile = file_type(kType);
    if constexpr (kFile == WeightType::kQ8_0) {
        load_bytes_at<true>(part == 0 ? row.template at<0>(block) : row.template at<1>(block), words);
#pragma unroll
        for (unsigned& word : words) word ^= 0x80808080u;
    } else if constexpr (kFile == WeightType::kQ6K) {
        unsigned high[4];
        load_bytes_at<true>(row.template at<0>(block, part / 8 * 64 + part % 4 * 16), words);
        load_bytes_at<true>(row.template at<1>(block, part / 8 * 32 + part % 2 * 16), high);
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            words[w] = fields(words[w], part % 8 / 4 * 4, 15u) | fields(high[w], part % 8 / 2 * 2, 3u) << 4;
        }
    } else {
        load_bytes_at<true>(row.template at<0>(block), words);
#pragma unroll
        for (unsigned& word : words) {
            word = fields(word, 4 * part, 15u);
            if constexpr (kFile != WeightType::kQ4_0) word = looked_up<kFile>(word);
        }
    }
}
template <WeightType kType>
__device__ inline float scale_of(const LaidOutRow<kType>& row, int block, int part) {
    constexpr WeightType kFile = file_type(kType);
    constexpr int kScale = LaidOutRow<kType>::kSections.n_codes;
    const auto half = [](const unsigned char* place) {  // at an even address
        return half_value(*reinterpret_cast<const std::uint16_t*>(place));
    };
    if constexpr (kFile == WeightType::kMxfp4) {
        return half_of_e8m0(*row.template at<kScale>(block));
    } else if constexpr (kFile == WeightType::kQ6K) {
        const auto code = static_cast<std::int8_t>(*row.template at<kScale>(block, part));
        return half(row.template at<kScale + 1>(block)) * static_cast<float>(code);
    } else {
        return half(row.template at<kScale>(block));
    }
}

// 16 weights of a row: code i times the scale, plus the bias where the format has one.
template <WeightType kType>
struct RowPart {
    unsigned words[4];
    float scale;
    float bias;

    // Loads weights 16 * index ... of a row of n_parts parts.
    __device__ void load(const unsigned char* row, int index, int n_parts) {
        constexpr int kParts = BlockSizes<kType>::kParts;
        BlockPart part;
        if constexpr (is_laid_out(kType)) {
            const LaidOutRow<kType> its(row, n_parts / kParts);
            load_codes_of(its, index / kParts, index % kParts, words);
            part.scale = scale_of(its, index / kParts, index % kParts);
        } else {
            const std::uint8_t* const block =
                row + static_cast<std::int64_t>(index / kParts) * BlockSizes<kType>::kBytes;
            load_codes<kType>(block, index % kParts, words);
            load_scale<kType>(block, index % kParts, part);
        }
        scale = part.scale;
        bias = has_bias(kType) ? part.bias : 0.0f;
    }
    __device__ void clear() {
        words[0] = words[1] = words[2] = words[3] = 0;
        scale = bias = 0.0f;
    }
    // Codes 4 * k ... of the part.
    __device__ void quad(int k, float (&codes)[4]) const {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) codes[i] = byte_to_float(words[k], i, code_zero(kType));
    }
};

// Two parts of a block (32 weights) that are read together, because codes of 4 to 6 bits
// of both are in the same bytes.
template <WeightType kType>
struct BlockPair {
    static constexpr WeightType kFile = file_type(kType);
    static constexpr bool kOneScale = BlockSizes<kType>::kParts == 2;  // for both parts
    static constexpr int kPairs = BlockSizes<kType>::kParts / 2;
    unsigned words[2][4];  // as RowPart has them
    BlockPart parts[2];    // scales and biases; kOneScale: the first one's

    // The parts of the block that are pair `pair`.
    __device__ static int part_of(int pair, int i) {
        if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) return pair / 2 * 4 + pair % 2 + 2 * i;
        if constexpr (kFile == WeightType::kQ6K) return pair / 4 * 8 + pair % 4 + 4 * i;
        return 2 * pair + i;
    }

    // kAligned: the block lies at a multiple of 16.
    template <bool kAligned>
    __device__ void load(const std::uint8_t* block, int pair) {
        if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
            unsigned header[4];
            load_bytes_at<kAligned>(block, header);
            read_six_bits_of_two(header, pair / 2);
            split_bytes_of<kAligned>(block + (kType == WeightType::kQ4K ? 16 : 48) + 16 * pair);
            if constexpr (kType == WeightType::kQ5K) {
                unsigned high[4];
                load_bytes_at<kAligned>(block + 16 + pair % 2 * 16, high);
#pragma unroll
                for (int w = 0; w < 4; ++w) {
                    const unsigned bits = high[w] >> (pair / 2 * 2);
                    words[0][w] |= fields(bits, 0, 1u) << 4;
                    words[1][w] |= fields(bits, 1, 1u) << 4;
                }
            }
        } else if constexpr (kType == WeightType::kQ6K) {
            read_scale<kType>(block, part_of(pair, 0), parts[0]);
            read_scale<kType>(block, part_of(pair, 1), parts[1]);
            split_bytes_of<kAligned>(block + 16 * pair);
            add_two_bits<kAligned>(block + 128 + pair / 4 * 32 + pair % 2 * 16, pair);
        } else if constexpr (kType == WeightType::kIq4Xs) {
            read_scale<kType>(block, 2 * pair, parts[0]);
            read_scale<kType>(block, 2 * pair + 1, parts[1]);
            look_up_bytes_of<kAligned>(block + 8 + 16 * pair);
        } else if constexpr (kOneScale && kType != WeightType::kQ8_0) {
            constexpr bool kFive = kType == WeightType::kQ5_0 || kType == WeightType::kQ5_1;
            constexpr int kBegin = kType == WeightType::kMxfp4 ? 1 : has_bias(kType) ? 4 : 2;
            read_scale<kType>(block, 0, parts[0]);
            if constexpr (kType == WeightType::kIq4Nl || kType == WeightType::kMxfp4) {
                look_up_bytes_of<kAligned>(block + kBegin);
            } else {
                split_bytes_of<kAligned>(block + kBegin + (kFive ? 4 : 0));
            }
            if constexpr (kFive) {
                const unsigned bits = word32_at(block + kBegin);
#pragma unroll
                for (int w = 0; w < 4; ++w) {
                    words[0][w] |= bit_per_byte(bits >> (4 * w)) << 4;
                    words[1][w] |= bit_per_byte(bits >> (16 + 4 * w)) << 4;
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_codes<kType>(block, 2 * pair + i, words[i]);
                if (i == 0 || !kOneScale) load_scale<kType>(block, 2 * pair + i, parts[i]);
            }
        }
    }

    // The same of a row that is laid out.
    __device__ void load(const LaidOutRow<kType>& row, int block, int pair) {
        parts[0].scale = scale_of(row, block, part_of(pair, 0));
        if constexpr (!kOneScale) parts[1].scale = scale_of(row, block, part_of(pair, 1));
        if constexpr (kFile == WeightType::kQ8_0) {
            load_codes_of(row, block, 0, words[0]);
            load_codes_of(row, block, 1, words[1]);
        } else if constexpr (kFile == WeightType::kQ6K) {
            split_bytes_of<true>(row.template at<0>(block, 16 * pair));
            add_two_bits<true>(row.template at<1>(block, pair / 4 * 32 + pair % 2 * 16), pair);
        } else if constexpr (kFile == WeightType::kQ4_0) {
            split_bytes_of<true>(row.template at<0>(block));
        } else {
            look_up_bytes_of<true>(row.template at<0>(block));
        }
    }

  private:
    // Q6_K: the upper two bits of the codes, of 16 bytes that two pairs share.
    template <bool kAligned>
    __device__ void add_two_bits(const std::uint8_t* bytes, int pair) {
        unsigned high[4];
        load_bytes_at<kAligned>(bytes, high);
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const unsigned bits = high[w] >> (pair % 4 / 2 * 2);
            words[0][w] |= fields(bits, 0, 3u) << 4;
            words[1][w] |= fields(bits, 4, 3u) << 4;
        }
    }
    // 16 bytes of two codes of 4 bits each.
    template <bool kAligned>
    __device__ void split_bytes_of(const std::uint8_t* bytes) {
        load_bytes_at<kAligned>(bytes, words[0]);
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            words[1][w] = fields(words[0][w], 4, 15u);
            words[0][w] = fields(words[0][w], 0, 15u);
        }
    }
    // read_six_bits() of parts 4 * four and 4 * four + 2, in words that have both: their
    // scales' bytes, then those of the biases.
    __device__ void read_six_bits_of_two(const unsigned (&header)[4], int four) {
        const unsigned bytes = four % 2 == 0 ? 0x5410u : 0x7632u;
        const unsigned low = __byte_perm(header[1], header[2], bytes);
        const unsigned rest = __byte_perm(header[3], header[3] >> 4, bytes) & 0x0f0f0f0fu;
        const unsigned six = four < 2 ? low & 0x3f3f3f3fu : rest | (low >> 2 & 0x30303030u);
        const float scale = half_value(header[0] & 0xffffu), bias = half_value(header[0] >> 16);
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            parts[i].scale = scale * byte_to_float(six, i);
            parts[i].bias = -(bias * byte_to_float(six, 2 + i));
        }
    }
    // The values of 16 bytes of two places each.
    template <bool kAligned>
    __device__ void look_up_bytes_of(const std::uint8_t* bytes) {
        unsigned both[4];
        load_bytes_at<kAligned>(bytes, both);
#pragma unroll
        for (int w = 0; w < 4; ++w) look_up_digits<kFile>(both[w], words[0][w], words[1][w]);
    }
};

}  // namespace offstage::kernels::cuda
