#pragma once
// Rows of files' blocks (kernels/blocks.h) as a warp reads them. A lane takes a part of
// 16 weights, its neighbour the next one: a warp reads 512 weights that follow each
// other, from any address, in words of four bytes. Codes stay four in a word until they
// are multiplied; a scale is decoded once in 16 weights.
//
// The inputs of such products lie in shared memory, in parts as well, so that they are
// read as float4 without two lanes meeting in a bank.

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/block_parts.h"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/types.h"

namespace offstage::kernels::cuda {
namespace {

// Lanes look up different points: in memory that the L1 cache serves, not in that for
// constants, which serves one address at a time.
alignas(16) __device__ const BlockCodebooks kDeviceCodebooks = block_codebooks();

}  // namespace

// A lane's code i is byte i of its words less this: so that it is not negative.
__host__ __device__ constexpr int code_zero(WeightType type) {
    switch (type) {
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
    static constexpr int kWeights = traits_of(kType).group;
    static constexpr int kBytes = traits_of(kType).block_bytes;
    static constexpr int kParts = kWeights / kPartWeights;
    static constexpr bool kVector = kBytes % 16 == 0;  // see load_bytes()
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

// 16 weights of a row: code i times the scale, plus the bias where the format has one.
template <WeightType kType>
struct RowPart {
    unsigned words[4];
    float scale;
    float bias;

    // Loads weights 16 * index ... of the row.
    __device__ void load(const unsigned char* row, int index) {
        const std::uint8_t* const block =
            row + static_cast<std::int64_t>(index / BlockSizes<kType>::kParts) * BlockSizes<kType>::kBytes;
        load_codes<kType>(block, index % BlockSizes<kType>::kParts, words);
        BlockPart part;
        load_scale<kType>(block, index % BlockSizes<kType>::kParts, part);
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
    static constexpr bool kOneScale = BlockSizes<kType>::kParts == 2;  // for both parts
    static constexpr int kPairs = BlockSizes<kType>::kParts / 2;
    unsigned words[2][4];  // as RowPart has them
    BlockPart parts[2];    // scales and biases; kOneScale: the first one's

    // The parts of the block that are pair `pair`.
    __device__ static int part_of(int pair, int i) {
        if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) return pair / 2 * 4 + pair % 2 + 2 * i;
        if constexpr (kType == WeightType::kQ6K) return pair / 4 * 8 + pair % 4 + 4 * i;
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
            unsigned high[4];
            load_bytes_at<kAligned>(block + 128 + pair / 4 * 32 + pair % 2 * 16, high);
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                const unsigned bits = high[w] >> (pair % 4 / 2 * 2);
                words[0][w] |= fields(bits, 0, 3u) << 4;
                words[1][w] |= fields(bits, 4, 3u) << 4;
            }
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

  private:
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
        for (int w = 0; w < 4; ++w) look_up_digits<kType>(both[w], words[0][w], words[1][w]);
    }
};

// A part's inputs in shared memory: 16 of them and their sum, this many floats apart.
constexpr int kPartStride = 20;
// Columns of so many inputs that lie there at once.
constexpr int kStagedFloats = 4096;
template <int kInputs>
constexpr int kStagedColumns = kStagedFloats / kInputs;

__host__ __device__ constexpr int staged_stride(int n_columns) {
    return n_columns / kPartWeights * kPartStride;
}

// Columns first .. first + n_columns (a multiple of 32) of the job's inputs, into
// `staged` (kInputs, stride); beyond n_inputs the last one again. By the whole block.
template <WeightType kType, int kInputs, typename Job>
__device__ inline void stage_inputs(const Job& job, int n_inputs, std::int64_t first, int n_columns, int stride,
                                    float* staged) {
    decltype(job.template input<kInputs>(0)) inputs[kInputs];
#pragma unroll
    for (int t = 0; t < kInputs; ++t) inputs[t] = job.template input<kInputs>(t < n_inputs ? t : n_inputs - 1);
    for (int i = static_cast<int>(threadIdx.x); i < n_columns; i += static_cast<int>(blockDim.x)) {
        const int place = i / kPartWeights * kPartStride + i % kPartWeights;
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            const float value = inputs[t][first + i];
            staged[t * stride + place] = value;
            if constexpr (has_bias(kType)) {
                float sum = value;
#pragma unroll
                for (int distance = kPartWeights / 2; distance > 0; distance /= 2) {
                    sum += __shfl_xor_sync(kAllLanes, sum, distance);
                }
                if (i % kPartWeights == 0) staged[t * stride + place + kPartWeights] = sum;
            }
        }
    }
}

// sums[r][t] += the lane's share of rows[r] . inputs[t], n_parts parts of them from part
// `first` of the row, whose inputs lie in `staged`. A lane takes every 32nd part, in
// order: kRows and kInputs do not change a sum's bits.
template <WeightType kType, int kRows, int kInputs>
__device__ inline void add_block_products(const unsigned char* const (&rows)[kRows], int first, int n_parts,
                                          const float* staged, int stride, int lane, float (&sums)[kRows][kInputs]) {
    // Enough loads in flight to hide the memory's latency, few enough to stay in
    // registers.
    constexpr int kAhead = kInputs == 1 ? 2 : 1;
    for (int begin = lane; begin < n_parts; begin += kAhead * kWarp) {
        RowPart<kType> parts[kAhead][kRows];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const int part = begin + a * kWarp;
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                if (part < n_parts) {
                    parts[a][r].load(rows[r], first + part);
                } else {
                    parts[a][r].clear();
                }
            }
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const int part = begin + a * kWarp;
            if (part >= n_parts) break;
            const float* const x = staged + part * kPartStride;
            float products[kRows][kInputs] = {};
#pragma unroll
            for (int k = 0; k < kPartWeights / 4; ++k) {
                float codes[kRows][4];
#pragma unroll
                for (int r = 0; r < kRows; ++r) parts[a][r].quad(k, codes[r]);
#pragma unroll
                for (int t = 0; t < kInputs; ++t) {
                    const float4 four = *reinterpret_cast<const float4*>(x + t * stride + 4 * k);
#pragma unroll
                    for (int r = 0; r < kRows; ++r) {
                        float& product = products[r][t];
                        product = fmaf(codes[r][0], four.x, product);
                        product = fmaf(codes[r][1], four.y, product);
                        product = fmaf(codes[r][2], four.z, product);
                        product = fmaf(codes[r][3], four.w, product);
                    }
                }
            }
#pragma unroll
            for (int t = 0; t < kInputs; ++t) {
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    float& sum = sums[r][t];
                    sum = fmaf(parts[a][r].scale, products[r][t], sum);
                    if constexpr (has_bias(kType)) sum = fmaf(parts[a][r].bias, x[t * stride + kPartWeights], sum);
                }
            }
        }
    }
}

constexpr int kBlockThreads = 256;
constexpr int kBlockWarps = kBlockThreads / kWarp;

// Weight rows of a warp. More for more inputs: an input's values then serve several rows.
template <int kInputs>
constexpr int kRowsPerWarp = kInputs >= 8 ? 4 : 2;

// Blocks that a multiprocessor has registers for, at least.
template <int kInputs>
constexpr int kLeastBlocks = kInputs >= 8   ? 2
                             : kInputs >= 4 ? 3
                                            : 4;

// Products of a Job's rows with its inputs, both of which depend on the block (blockIdx.y
// and z); blockIdx.x selects the rows. Members of a Job:
//   n_rows, n_columns          of the weight rows of one block's job
//   n_inputs<kInputs>()        number of inputs that exist, of kInputs
//   input<kInputs>(t), row(r)  where they begin
//   store(r, t, sums)          takes the sums of kRowsPerWarp rows from row r with input
//   t
//   finish<kInputs>(r, n, flag)  behind them, by the whole block, whose n rows begin with
//   r; flag: a word of shared memory
template <WeightType kType, int kInputs, typename Job>
__global__ void __launch_bounds__(kBlockThreads, kLeastBlocks<kInputs>) block_products(Job job) {
    constexpr int kRows = kRowsPerWarp<kInputs>;
    float* const staged = shared_memory<float>();  // (kInputs, staged_stride())
    let_next_begin();
    wait_for_previous();
    const int n_inputs = job.template n_inputs<kInputs>();
    if (n_inputs <= 0) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first_row = (static_cast<std::int64_t>(blockIdx.x) * kBlockWarps + threadIdx.x / kWarp) * kRows;
    const unsigned char* rows[kRows];
    // Beyond the end the last one is taken again and its sums are dropped: the warp stays
    // together.
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = job.row(first_row + r < job.n_rows ? first_row + r : job.n_rows - 1);
    float sums[kRows][kInputs] = {};
    const int n_columns = static_cast<int>(job.n_columns);
    const int at_once = n_columns < kStagedColumns<kInputs> ? n_columns : kStagedColumns<kInputs>;
    const int stride = staged_stride(at_once);
    for (int first = 0; first < n_columns; first += at_once) {
        const int columns = n_columns - first < at_once ? n_columns - first : at_once;
        if (first > 0) __syncthreads();
        stage_inputs<kType, kInputs>(job, n_inputs, first, columns, stride, staged);
        __syncthreads();
        if (first_row >= job.n_rows) continue;
        add_block_products<kType, kRows, kInputs>(rows, first / kPartWeights, columns / kPartWeights, staged, stride,
                                                  lane, sums);
    }
    float mine[kRows] = {};  // for the input that this lane stores
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const float sum = warp_sum(sums[r][t]);
            if (lane == t) mine[r] = sum;
        }
    }
    if (lane < n_inputs && first_row < job.n_rows) job.template store<kInputs>(first_row, lane, mine);
    constexpr int kRowsOfBlock = kBlockWarps * kRows;
    job.template finish<kInputs>(std::int64_t{blockIdx.x} * kRowsOfBlock, kRowsOfBlock, reinterpret_cast<int*>(staged));
}

// Calls body with std::integral_constant<int, n>, for the numbers of inputs that
// block_products() is made for.
template <typename Body>
void with_block_inputs(std::int64_t n, const Body& body) {
    if (n <= 1) {
        body(std::integral_constant<int, 1>());
    } else if (n <= 4) {
        body(std::integral_constant<int, 4>());
    } else {
        body(std::integral_constant<int, 8>());
    }
}

// grid.x is found here.
template <int kInputs, typename Job>
void start_block_products(Worker& worker, WeightType type, dim3 grid, const Job& job) {
    const std::int64_t columns = job.n_columns < kStagedColumns<kInputs> ? job.n_columns : kStagedColumns<kInputs>;
    const auto bytes = static_cast<std::size_t>(kInputs * staged_stride(static_cast<int>(columns))) * sizeof(float);
    grid.x = blocks_for(job.n_rows, kBlockWarps * kRowsPerWarp<kInputs>);
    with_block_type(type, [&](auto block_type) {
        worker.start_dependent(block_products<decltype(block_type)::value, kInputs, Job>, grid, kBlockThreads, bytes,
                               job);
    });
}

}  // namespace offstage::kernels::cuda
