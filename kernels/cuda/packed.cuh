#pragma once
// Packed rows (kernels/packed.h) as a warp reads them. Four lanes share a block of 64
// weights, and each takes a piece of 16: eight bytes of HQQ4, six of HQQ3, four of HQQ2,
// twice eight of INT8. A warp then reads eight blocks - 256 bytes of HQQ4 - that follow
// each other, and a piece's inputs are four float4 of which the four lanes together take
// whole sectors. A whole block per lane would read the inputs with 256 bytes between
// lanes; less than a piece would decode the block's scale more often than it now does,
// once in 16 weights.
//
// Codes become float32 without a shift or a conversion of their own: code * 2^s, masked
// where it lies (s <= 12), is put into the mantissa of 2^23, which is then subtracted;
// the group's scale brings 2^-s. Both are exact.

#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/numbers.cuh"
#include "kernels/types.h"

namespace offstage::kernels::cuda {

constexpr int kPiece = 16;                              // weights of a lane at once
constexpr int kQuad = 4;                                // weights that lie together for float4
constexpr int kLanesPerBlock = kPackedBlock / kPiece;   // 4
constexpr int kBlocksPerWarp = kWarp / kLanesPerBlock;  // 8: 512 columns
constexpr int kColumnsPerWarp = kWarp * kPiece;         // 512
constexpr float kTwoTo23 = 8388608.0f;
constexpr unsigned kBitsOfTwoTo23 = 0x4b000000u;

// The members of PackedRow that kernels need.
struct PackedPlaces {
    std::int64_t row_bytes = 0;
    std::int32_t n_blocks = 0;
    std::int32_t codes = 0;
    std::int32_t scales = 0;
    std::int32_t zeros = 0;
    std::int32_t super_group = 1;
};

inline PackedPlaces places_of(WeightType type, std::int64_t n_cols) {
    const PackedRow row = packed_row(type, n_cols);
    PackedPlaces places;
    places.row_bytes = row.bytes;
    places.n_blocks = static_cast<std::int32_t>(row.n_blocks);
    places.codes = static_cast<std::int32_t>(row.codes);
    places.scales = static_cast<std::int32_t>(row.scales);
    places.zeros = static_cast<std::int32_t>(row.zeros);
    if (row.super_group > 0) places.super_group = static_cast<std::int32_t>(row.super_group);
    return places;
}

// Weights are read once, unless they are copies in shared memory.
template <bool kCopied, typename T>
__device__ inline T read_once(const T* from) {
    if constexpr (kCopied) return *from;
    return __ldcs(from);
}

// An unsigned number below 2^23 as float32.
__device__ inline float small_to_float(unsigned value) {
    return __uint_as_float(value | kBitsOfTwoTo23) - kTwoTo23;
}

// Four floats; scale and zero of a super group's quantized scales and zeros.
struct SuperPlaces {
    float2 scale;  // offset, step
    float2 zero;
    __device__ void load(const unsigned char* row, int super) {
        const float2* place = reinterpret_cast<const float2*>(row) + 2 * super;  // rows are aligned to 8 bytes only
        scale = place[0];
        zero = place[1];
    }
    __device__ void clear() { scale.x = scale.y = zero.x = zero.y = 0.0f; }
};

// The 16 weights of quarter `quarter` (0 .. 3) of block `block`, in four quads of
// neighbours. load() only reads, so that several pieces are under way at once; prepare()
// before quad().
template <WeightType kType>
struct Piece {
    static constexpr int kBits = traits_of(kType).bits;
    static constexpr int kBlockBytes = kBits * 8;
    static constexpr bool kGroupPerQuad = traits_of(kType).has_half_scales();  // code k is of group k
    unsigned low, high;                                                        // codes
    unsigned groups;  // S and Z, one byte each; of groups of 16: the four groups' bytes
    SuperPlaces super;
    float scale;  // the block's group; for groups of 16 see quad()
    float bias;   // -scale * zero

    // Column of quad k within the block.
    __device__ static int column(int quarter, int k) { return 16 * k + kQuad * quarter; }

    __device__ void load(const unsigned char* row, const PackedPlaces& places, int block, int quarter) {
        const unsigned char* codes = row + places.codes + block * kBlockBytes;
        if (kBits == 4) {
            const uint2 both = __ldcs(reinterpret_cast<const uint2*>(codes) + quarter);
            low = both.x;
            high = both.y;
        } else if (kBits == 3) {
            // 48 bits from bit 48 * quarter: an odd quarter begins in the middle of a
            // word.
            const unsigned* words = reinterpret_cast<const unsigned*>(codes) + (3 * quarter) / 2;
            low = __ldcs(words);
            high = __ldcs(words + 1);
            if (quarter % 2 == 1) {
                low = low >> 16 | high << 16;
                high >>= 16;
            }
        } else {
            low = __ldcs(reinterpret_cast<const unsigned*>(codes) + quarter);
        }
        if (kGroupPerQuad) {
            groups = reinterpret_cast<const unsigned*>(row + places.scales)[block];
            super.load(row, 4 * block / places.super_group);
        } else {
            groups = static_cast<unsigned>(row[places.scales + block]) |
                     static_cast<unsigned>(row[places.zeros + block]) << 8;
            super.load(row, block / places.super_group);
        }
    }
    __device__ void clear() {
        low = high = groups = 0;
        super.clear();
    }
    __device__ void prepare() {
        if (!kGroupPerQuad) decode(groups & 255u, groups >> 8, scale, bias);
    }
    __device__ void quad(int k, float (&weights)[kQuad]) const {
        float my_scale = scale;
        float my_bias = bias;
        if (kGroupPerQuad) decode(groups >> (8 * k) & 15u, groups >> (8 * k + 4) & 15u, my_scale, my_bias);
        my_scale *= __uint_as_float(static_cast<unsigned>(127 - kBits * k) << 23);  // 2^-s
        unsigned lanes[kQuad];
        if (kBits == 4) {
            lanes[0] = low;
            lanes[1] = low >> 16;
            lanes[2] = high;
            lanes[3] = high >> 16;
        } else if (kBits == 3) {
            lanes[0] = low;
            lanes[1] = low >> 12;
            lanes[2] = low >> 24 | high << 8;
            lanes[3] = high >> 4;
        } else {
#pragma unroll
            for (int j = 0; j < kQuad; ++j) lanes[j] = low >> (8 * j);
        }
#pragma unroll
        for (int j = 0; j < kQuad; ++j) {
            const float code = small_to_float(lanes[j] & ((1u << kBits) - 1u) << (kBits * k));
            weights[j] = fmaf(my_scale, code, my_bias);
        }
    }

  private:
    __device__ void decode(unsigned s, unsigned z, float& its_scale, float& its_bias) const {
        its_scale = fmaf(super.scale.y, small_to_float(s), super.scale.x);
        its_bias = -(its_scale * fmaf(super.zero.y, small_to_float(z), super.zero.x));
    }
};

// Signed bytes in the weights' own order: twice eight bytes, 32 columns apart, so that
// the four lanes of a block read whole sectors here too.
template <>
struct Piece<WeightType::kInt8> {
    static constexpr int kBlockBytes = 64;
    uint2 words[2];
    unsigned bits;  // bf16
    float scale;

    __device__ static int column(int quarter, int k) { return 32 * (k / 2) + 8 * quarter + kQuad * (k % 2); }

    __device__ void load(const unsigned char* row, const PackedPlaces& places, int block, int quarter) {
        const uint2* codes = reinterpret_cast<const uint2*>(row + block * kBlockBytes);
        words[0] = __ldcs(codes + quarter);
        words[1] = __ldcs(codes + 4 + quarter);
        bits = reinterpret_cast<const std::uint16_t*>(row + places.scales)[block];
    }
    __device__ void clear() {
        words[0].x = words[0].y = words[1].x = words[1].y = 0;
        bits = 0;
    }
    __device__ void prepare() { scale = __uint_as_float(bits << 16); }
    __device__ void quad(int k, float (&weights)[kQuad]) const {
        const uint2 half = k < 2 ? words[0] : words[1];
        const unsigned signed_bytes = k % 2 == 0 ? half.x : half.y;
        const unsigned bytes = signed_bytes ^ 0x80808080u;  // code + 128
#pragma unroll
        for (int j = 0; j < kQuad; ++j) {
            const float code = __uint_as_float((bytes >> (8 * j) & 255u) | kBitsOfTwoTo23) - (kTwoTo23 + 128.0f);
            weights[j] = scale * code;
        }
    }
};

// sums[r][t] += the lane's part of rows[r] . inputs[t]: its pieces in order, each quad by
// quad. kRows and kInputs do not change a sum's bits. Inputs are 16-byte aligned.
template <WeightType kType, int kRows, int kInputs>
__device__ inline void add_packed_products(const unsigned char* const (&rows)[kRows], const PackedPlaces& places,
                                           const float* const (&inputs)[kInputs], int lane,
                                           float (&sums)[kRows][kInputs]) {
    // Enough loads in flight to hide the memory's latency, few enough to stay in
    // registers.
    constexpr int kAhead = kRows * kInputs >= 16 ? 1 : kRows * kInputs >= 4 ? 2 : 4;
    [[maybe_unused]] constexpr int kQuadsAtOnce = kRows * kInputs >= 16 ? 1 : kRows * kInputs >= 8 ? 2 : 4;
    const int quarter = lane % kLanesPerBlock;
    for (int begin = lane / kLanesPerBlock; begin < places.n_blocks; begin += kAhead * kBlocksPerWarp) {
        Piece<kType> pieces[kAhead][kRows];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const int block = begin + a * kBlocksPerWarp;
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                if (block < places.n_blocks) {
                    pieces[a][r].load(rows[r], places, block, quarter);
                } else {
                    pieces[a][r].clear();
                }
            }
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const int block = begin + a * kBlocksPerWarp;
            if (block >= places.n_blocks) break;
#pragma unroll
            for (int r = 0; r < kRows; ++r) pieces[a][r].prepare();
#pragma unroll kQuadsAtOnce
            for (int k = 0; k < kPiece / kQuad; ++k) {
                float weights[kRows][kQuad];
#pragma unroll
                for (int r = 0; r < kRows; ++r) pieces[a][r].quad(k, weights[r]);
                const int column = block * static_cast<int>(kPackedBlock) + Piece<kType>::column(quarter, k);
#pragma unroll
                for (int t = 0; t < kInputs; ++t) {
                    const float4 x = *reinterpret_cast<const float4*>(inputs[t] + column);
#pragma unroll
                    for (int r = 0; r < kRows; ++r) {
                        float& sum = sums[r][t];
                        sum = fmaf(weights[r][0], x.x, sum);
                        sum = fmaf(weights[r][1], x.y, sum);
                        sum = fmaf(weights[r][2], x.z, sum);
                        sum = fmaf(weights[r][3], x.w, sum);
                    }
                }
            }
        }
    }
}

}  // namespace offstage::kernels::cuda
