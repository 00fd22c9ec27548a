#pragma once
// Few rows of float32 inputs with packed weights on tensor cores, as exact as in float32.
// Each input is split into three integers of 8 bits, each worth a 254th of the one
// before, with one scale for the 64 inputs of a block (three of them reach 2^-24 of the
// block's largest). Codes of weights are integers of 8 bits too, so products and their
// sums within a block are exact; they become float32 once for a group of weights.

#include <cstdint>

#include "kernels/cuda/few_experts.cuh"

namespace offstage::kernels::cuda {

constexpr int kSplitParts = 3;

// A row of n inputs, a multiple of kPackedBlock: the codes of its first parts, of its
// second and of its third (n bytes each; in the order in which the lanes of a warp hold a
// block's weights), then a SplitBlock for each part and block. A multiple of 16 bytes.
struct alignas(8) SplitBlock {
    float scale;  // of the part's codes
    float sum;    // of the block's inputs; 0 except in the first part
};
__host__ __device__ constexpr std::int64_t split_bytes(std::int64_t n) {
    const std::int64_t bytes =
        kSplitParts * (n + (n + kPackedBlock - 1) / kPackedBlock * static_cast<std::int64_t>(sizeof(SplitBlock)));
    return (bytes + 15) / 16 * 16;
}

// Whether rows of so many weights are multiplied with split inputs.
bool splits_inputs(WeightType type, std::int64_t n_columns);

// packed_up() for formats with splits_inputs(). `split`: room for split_bytes(hidden_dim)
// for each row of the calls, 16-byte aligned. inputs nullptr: one row lies there
// already, the input of all calls.
void split_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
              const FewCalls& list, const float* inputs, const std::int32_t* row_token, unsigned char* split,
              float* activations);
// y (n, n_rows) = x (n, n_cols) * weight^T for n of up to kFewRows.
void split_product(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, unsigned char* split,
                   float* y);

}  // namespace offstage::kernels::cuda
