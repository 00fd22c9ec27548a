#pragma once
// Products of many rows on tensor cores (packed_tiles.cu, byte_tiles.cu): which outputs a
// block and its warps form, and where the sums go.

#include <cstdint>

#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/tensor_core.cuh"
#include "kernels/cuda/tiled_matrix.cuh"

namespace offstage::kernels::cuda {

// A block forms kTileOuts outputs of kTileRows inputs, each warp 32 of either.
constexpr int kOutputTileThreads = 256;
constexpr int kTileOuts = 128;
constexpr int kTileRows = 64;
constexpr int kWarpOuts = 2;  // of 16
constexpr int kWarpRows = 4;  // of 8
constexpr int kOutWarps = kTileOuts / (16 * kWarpOuts);
static_assert(kOutWarps * kTileRows / (8 * kWarpRows) * kWarp == kOutputTileThreads,
              "each warp has a piece of its own");

using WarpSums = float[kWarpOuts][kWarpRows][4];  // as multiply_bytes() and multiply_bf16() leave them

// In a grid of (outputs, rows, calls): see output_grid().
struct OutputTile {
    std::int64_t first_output;  // of the matrix
    int first_input;            // of the call's rows
    int n_outs;                 // existing outputs, up to kTileOuts
    int n_rows;                 // from first_input on; none: the whole block has nothing to do
    int warp_out;               // where the warp's part of the tile begins
    int warp_row;
    int n_pieces = kWarpRows;  // of 8 rows, in the warp's part

    // of_block: outputs of a block.
    __device__ OutputTile(std::int64_t n_out, const FewCall& call, int of_block = kTileOuts) {
        first_output = static_cast<std::int64_t>(blockIdx.x) * of_block;
        first_input = static_cast<int>(blockIdx.y) * kTileRows;
        n_outs = n_out - first_output < of_block ? static_cast<int>(n_out - first_output) : of_block;
        n_rows = call.n_rows - first_input;
        warp_out = warp() % kOutWarps * (of_block / kOutWarps);
        warp_row = warp() / kOutWarps * 8 * n_pieces;
    }
    __device__ static int warp() { return static_cast<int>(threadIdx.x) / kWarp; }
    // Divides fewer rows among all warps.
    __device__ void divide_rows() {
        n_pieces = n_rows > kTileRows / 2 ? kWarpRows : n_rows > kTileRows / 4 ? kWarpRows / 2 : kWarpRows / 4;
        warp_row = warp() / kOutWarps * 8 * n_pieces;
    }
    __device__ bool has_piece() const { return warp_out < n_outs && warp_row < n_rows; }  // the warp

    // The warp's sums -> their places in y (rows, n_out): rows scratch_row ...
    // (to_scratch) or first_row ... of the call.
    __device__ void store(const WarpSums& sums, const TiledMatrix& matrix, const FewCall& call, bool to_scratch,
                          float* y) const {
        const int lane = static_cast<int>(threadIdx.x) % kWarp;
        const auto* const biases =
            reinterpret_cast<const float*>(static_cast<const unsigned char*>(call.weights) + matrix.bias_offset);
#pragma unroll
        for (int m = 0; m < kWarpOuts; ++m) {
#pragma unroll
            for (int n = 0; n < kWarpRows; ++n) {
                if (n >= n_pieces) break;
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    const int out = warp_out + 16 * m + 8 * (c / 2) + lane / 4;
                    const int t = warp_row + 8 * n + lane % 4 * 2 + c % 2;
                    if (out >= n_outs || t >= n_rows) continue;
                    float sum = sums[m][n][c];
                    if (matrix.bias_offset >= 0) sum += biases[first_output + out];
                    const std::int64_t row = (to_scratch ? call.scratch_row : call.first_row) + first_input + t;
                    y[row * matrix.n_out() + first_output + out] = sum;
                }
            }
        }
    }
};

inline dim3 output_grid(const FewCalls& list, std::int64_t n_out, std::int64_t of_block = kTileOuts) {
    return dim3(blocks_for(n_out, of_block), blocks_for(list.most_rows(), kTileRows), static_cast<unsigned>(list.n));
}

}  // namespace offstage::kernels::cuda
