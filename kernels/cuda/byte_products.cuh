#pragma once
// Products of files' blocks with inputs that are rounded to 8 bits, once for a product
// (ByteInputTypes): codes and rounded inputs are multiplied and added as whole numbers,
// which is exact, and become float32 once for 16 or 32 of them. Rounding follows the
// CPU's scalar kernels (kernels/cpu/quantized_dots_scalar.cpp).

#include <cstdint>
#include <cuda_fp16.h>

#include "kernels/block_parts.h"
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/tiled_matrix.cuh"
#include "kernels/ops/grouped_experts.h"

namespace offstage::kernels::cuda {

// A row of n rounded inputs, a multiple of 32: n codes, then for each part of 16 of them
// what follows. A multiple of 16 bytes.
struct alignas(8) InputPart {
    float scale;       // the same for 32
    std::int32_t sum;  // the part's codes
};
__host__ __device__ constexpr std::int64_t rounded_bytes(std::int64_t n) {
    return n + n / kPartWeights * static_cast<std::int64_t>(sizeof(InputPart));
}

// Calls in lists as few_experts.cuh defines them, of any number of rows: rows first_row
// ... of inputs and outputs, rows scratch_row ... of intermediate results.

// round_inputs.cu: row scratch_row + t of `to` = input row_token[first_row + t] (nullptr:
// first_row + t), of n_columns.
void round_inputs(Worker& worker, const FewCalls& list, const float* inputs, const std::int32_t* row_token,
                  std::int64_t n_columns, unsigned char* to);
// Row scratch_row + t of `to` = the same row of the activations.
void round_activations(Worker& worker, const FewCalls& list, const float* activations, std::int64_t ffn_dim,
                       unsigned char* to);

// byte_products.cu: calls of up to kFewRows rows; each weight is read once. As block_up()
// and block_down(), from inputs that are rounded already.
void byte_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
             const FewCalls& list, const unsigned char* rounded, float* activations);
void byte_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
               const unsigned char* rounded, float* out);
// y: rows first_row ... of the calls, whose weights are the matrix.
void byte_product(Worker& worker, const WeightView& weight, int n_inputs, const FewCalls& list,
                  const unsigned char* rounded, float* y);

// byte_tiles.cu: calls of many rows, on tensor cores. Rows scratch_row + t of `rounded`
// -> rows first_row + t of y (rows, n_rows).
void byte_tiles(Worker& worker, const TiledMatrix& matrix, const FewCalls& list, const unsigned char* rounded,
                float* y);
// w1, w3 and the activation: row scratch_row + t of the activations, rounded, from row
// row_token[first_row + t] of `rounded` (nullptr: scratch_row + t).
void byte_up_tiles(Worker& worker, const ExpertLayout& layout, const FewCalls& list, const unsigned char* rounded,
                   const std::int32_t* row_token, unsigned char* activations);

// expert_order.cu: groups the op's pairs by expert. few: (n_experts) a call for each
// expert, with its rows up to kFewRows, scratch rows of all of these one after the other
// or, with sums, kFewRows for each of the experts that are computed at once.
// tiles: (n_tiles = most_tiles_of()) calls of up to kTileRows rows of the others,
// scratch_row as first_row; the largest first, and behind them calls without rows.
// bounds: room for n_experts + 1. sums: where w2 has partial sums.
struct GroupedPartials {
    std::int32_t stretches[CudaContext::kFewRows] = {};  // of 1, 2 ... rows
    std::int32_t rows_of_expert = 0;                     // room for each of those computed at once
    std::int32_t experts_at_once = 1;
};
std::int64_t most_tiles_of(std::int64_t n_pairs, std::int64_t n_experts);
void order_pairs(Worker& worker, const ops::GroupedExperts& op, std::int32_t* bounds, FewCall* few, FewCall* tiles,
                 const GroupedPartials& sums = {});

// packed_groups.cu: the operation for packed experts, and the least scratch memory for
// it.
void packed_groups(Worker& worker, const ops::GroupedExperts& op);
std::size_t packed_groups_bytes(const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                                std::int64_t n_experts);

// byte_experts.cu: y (n, n_rows) = x * weight^T, by byte_tiles() or, for n of up to
// kFewRows, byte_product(). False: nothing was done, because the scratch memory has no
// room for one row.
bool multiply_in_bytes(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, bool in_tiles,
                       float* y);
// The calls of more than kFewRows rows of experts whose matrices are all files' blocks.
void many_rows_in_bytes(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
                        const float* inputs, const std::int32_t* row_token, float* out);
// Scratch memory for ops::GroupedExperts.
constexpr std::int64_t kMostGroupedTokens = 32768;  // the limit of a grid
std::size_t grouped_bytes(const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                          std::int64_t n_experts);

}  // namespace offstage::kernels::cuda
