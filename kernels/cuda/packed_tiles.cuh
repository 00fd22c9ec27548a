#pragma once
// Products of many rows with packed weights on tensor cores, without unpacking the
// weights into memory first: weights and inputs are rounded to bf16, sums are float32. No
// sum depends on the other calls.

#include <cstdint>

#include "kernels/cuda/few_experts.cuh"

namespace offstage::kernels::cuda {

// Weights of a small matrix. For experts with many rows cuBLAS takes some ten launches
// each, of 3 to 5 microseconds, which counts most where matrices are small.
#ifdef OFFSTAGE_SMALL_MATRIX  // the tests' host layer: few
inline constexpr std::int64_t kSmallMatrix = OFFSTAGE_SMALL_MATRIX;
#else
inline constexpr std::int64_t kSmallMatrix = std::int64_t{4} << 20;
#endif

// y (n, n_rows) = x * weight^T.
void multiply_in_tiles(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y);
// The calls that CudaProduct::kExpertPackedTiles computes, in as few launches as
// parameters and scratch allow.
void many_rows_in_tiles(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
                        const float* inputs, const std::int32_t* row_token, float* out);
// The same for calls of up to kTileRows rows that the device lists, scratch_row as
// first_row, of experts whose w1 and w3 are of one type; row_token of each row. Each
// token's inputs become bf16 once. Room for them and for the activations of all rows.
void groups_in_tiles(Worker& worker, const ExpertLayout& layout, const FewCalls& tiles, const float* inputs,
                     std::int64_t n_tokens, const std::int32_t* row_token, Bf16* converted, Bf16* activations,
                     float* out);

}  // namespace offstage::kernels::cuda
