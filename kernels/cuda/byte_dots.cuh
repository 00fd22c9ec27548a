#pragma once
// Dot products of files' blocks with rounded inputs (byte_products.cuh).
// A lane takes every 32nd pair of parts of 16 weights, four products and their sum in an
// instruction. A sum's bits depend on neither the number of rows nor that of inputs.

#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/byte_products.cuh"

namespace offstage::kernels::cuda {

// The value of code 0 in unsigned codes. The inputs' sum corrects for it.
template <WeightType kType>
constexpr int kCodesBegin = code_zero(kType) == 128 ? 0 : code_zero(kType);

// sums[r][t] += the lane's share of rows[r] with input t: every 32nd pair of parts.
template <WeightType kType, int kRows, int kInputs, bool kAligned>
__device__ inline void add_byte_products(const unsigned char* const (&rows)[kRows], const unsigned char* inputs,
                                         int n_inputs, std::int64_t n_columns, int lane,
                                         float (&sums)[kRows][kInputs]) {
    using Pair = BlockPair<kType>;
    const int n_pairs = static_cast<int>(n_columns / (2 * kPartWeights));
    const std::int64_t row_bytes = rounded_bytes(n_columns);
    // Enough loads in flight to hide the memory's latency.
#pragma unroll(kInputs == 1 && !has_codebook(kType) ? 2 : 1)
    for (int index = lane; index < n_pairs; index += kWarp) {
        const int block = index / Pair::kPairs;
        const int pair = index % Pair::kPairs;
        Pair pairs[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            pairs[r].template load<kAligned>(rows[r] + static_cast<std::int64_t>(block) * BlockSizes<kType>::kBytes,
                                             pair);
            if constexpr (kCodesBegin<kType> == 0) {
#pragma unroll
                for (auto& of_part : pairs[r].words) {
#pragma unroll
                    for (unsigned& word : of_part) word = signed_codes<kType>(word);
                }
            }
        }
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            if (t >= n_inputs) break;
            const unsigned char* const x = inputs + t * row_bytes;
            uint4 codes[2];
            InputPart of_part[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int part = block * BlockSizes<kType>::kParts + Pair::part_of(pair, i);
                codes[i] = reinterpret_cast<const uint4*>(x)[part];
                of_part[i] = reinterpret_cast<const InputPart*>(x + n_columns)[part];
            }
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                float& sum = sums[r][t];
                int dot = 0;
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const unsigned words[4] = {codes[i].x, codes[i].y, codes[i].z, codes[i].w};
                    if (i == 0 || !Pair::kOneScale) dot = 0;
                    if constexpr (kCodesBegin<kType> != 0) dot -= kCodesBegin<kType> * of_part[i].sum;
#pragma unroll
                    for (int w = 0; w < 4; ++w) {
                        dot = __dp4a(static_cast<int>(pairs[r].words[i][w]), static_cast<int>(words[w]), dot);
                    }
                    if (i == 0 && Pair::kOneScale) continue;  // both parts' inputs have one scale, too
                    const BlockPart& weights = pairs[r].parts[Pair::kOneScale ? 0 : i];
                    sum = fmaf(weights.scale * of_part[i].scale, static_cast<float>(dot), sum);
                    if constexpr (has_bias(kType)) {
                        const int total = Pair::kOneScale ? of_part[0].sum + of_part[1].sum : of_part[i].sum;
                        sum = fmaf(weights.bias * of_part[i].scale, static_cast<float>(total), sum);
                    }
                }
            }
        }
    }
}

// Rows at any addresses with one input: the lane's share of the sums.
template <WeightType kType, int kRows>
__device__ inline void add_byte_rows(const unsigned char* const (&rows)[kRows], const unsigned char* input,
                                     std::int64_t n_columns, int lane, float (&sums)[kRows][1]) {
    bool aligned = BlockSizes<kType>::kVector;
#pragma unroll
    for (int r = 0; r < kRows; ++r) aligned = aligned && is_aligned(rows[r]);
    if (BlockSizes<kType>::kVector && aligned) {
        add_byte_products<kType, kRows, 1, BlockSizes<kType>::kVector>(rows, input, 1, n_columns, lane, sums);
    } else {
        add_byte_products<kType, kRows, 1, false>(rows, input, 1, n_columns, lane, sums);
    }
}

}  // namespace offstage::kernels::cuda
