#pragma once
// How a warp rounds inputs to 8 bits (byte_products.cuh) or splits them into three
// numbers of 8 bits (split_products.cuh): for kernels that do nothing else, and for those
// that made the inputs.

#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/split_products.cuh"

namespace offstage::kernels::cuda {

// Stores a warp's 32 values, one of each lane, at places column - lane ... of a row.
__device__ inline void store_rounded(float value, std::int64_t column, std::int64_t n_columns, unsigned char* row) {
    const float most = warp_max(fabsf(value));
    const float factor = most > 0.0f ? 127.0f / most : 0.0f;
    // A value that is not a number, or too large for a factor of numbers near 0, becomes
    // 0: timing of products rounds uninitialized memory.
    const float scaled = value * factor;
    const int code = fabsf(scaled) <= 127.5f ? static_cast<int>(rintf(scaled)) : 0;
    row[column] = static_cast<unsigned char>(code);
    int sum = code;
#pragma unroll
    for (int distance = kPartWeights / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(kAllLanes, sum, distance);
    }
    if (column % kPartWeights == 0) {
        reinterpret_cast<InputPart*>(row + n_columns)[column / kPartWeights] = {most / 127.0f, sum};
    }
}

// The weight of a block of 64 that is byte `place % 4` of word `place / 4 % 4` of lane
// place / 16, among the four lanes that share the block: see FourBlocks::words().
template <WeightType kType>
__device__ inline int split_column_of(int place) {
    const int quarter = place / kPiece;
    const int word = place / 4 % 4;
    const int byte = place % 4;
    if (kType == WeightType::kInt8) return 32 * (word / 2) + 8 * quarter + 4 * (word % 2) + byte;
    if (kType == WeightType::kHqq4) {
        // Nibble k of lane j: bytes 0 and 1 of a word belong to one lane, 2 and 3 to the
        // next.
        return 16 * (word % 2 + 2 * (byte % 2)) + kQuad * quarter + 2 * (word / 2) + byte / 2;
    }
    if (kType == WeightType::kHqq3) return 16 * byte + kQuad * quarter + word;
    return 16 * word + kQuad * quarter + byte;
}

// Block `block` of 64 of the inputs from[i] (n_columns), by a whole warp; to: the row of
// split inputs.
template <WeightType kType, typename Inputs>
__device__ inline void split_block(const Inputs& from, std::int64_t block, std::int64_t n_columns, int lane,
                                   unsigned char* to) {
    constexpr float kPartStep = 254.0f;
    const std::int64_t first = block * kPackedBlock;
    const std::int64_t n_blocks = n_columns / kPackedBlock;
    const float values[2] = {from[first + split_column_of<kType>(2 * lane)],
                             from[first + split_column_of<kType>(2 * lane + 1)]};
    const float most = warp_max(fmaxf(fabsf(values[0]), fabsf(values[1])));
    const float sum = warp_sum(values[0] + values[1]);
    const float factor = most > 0.0f ? 127.0f / most : 0.0f;
    unsigned codes[kSplitParts] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        // A value that is not a number, or too large for a factor of numbers near 0,
        // becomes 0.
        float rest = values[i] * factor;
        if (!(fabsf(rest) <= 127.5f)) rest = 0.0f;
#pragma unroll
        for (int part = 0; part < kSplitParts; ++part) {
            const float whole = rintf(rest);
            codes[part] |= (static_cast<unsigned>(static_cast<int>(whole)) & 255u) << (8 * i);
            rest = (rest - whole) * kPartStep;
        }
    }
    auto* const blocks = reinterpret_cast<SplitBlock*>(to + kSplitParts * n_columns);
    float scale = most / 127.0f;
#pragma unroll
    for (int part = 0; part < kSplitParts; ++part) {
        reinterpret_cast<std::uint16_t*>(to + part * n_columns + block * kPackedBlock)[lane] =
            static_cast<std::uint16_t>(codes[part]);
        if (lane == 0) blocks[part * n_blocks + block] = {scale, part == 0 ? sum : 0.0f};
        scale *= 1.0f / kPartStep;
    }
}

}  // namespace offstage::kernels::cuda
