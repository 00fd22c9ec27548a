#pragma once
// The sums over stretches of neurons of experts whose w2 lies by neurons, and, for one
// token, the weighted sum of its experts.

#include <cstdint>

#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/numbers.cuh"

namespace offstage::kernels::cuda {

// kColumns, 1 or 4, values that other blocks wrote.
template <int kColumns>
__device__ inline void load_written(const float* from, float (&values)[kColumns]) {
    if constexpr (kColumns == 4) {
        const float4 four = __ldcg(reinterpret_cast<const float4*>(from));
        values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
    } else {
        values[0] = __ldcg(from);
    }
}

// sums = the partial sums of row `row` of a call in columns `column` and the next. The
// stretches p and p + kParts are added first, then these sums in order; the loads of half
// of them are under way at once.
template <int kColumns>
__device__ inline void add_stretches(const FewCall& call, std::int64_t row, std::int64_t hidden_dim,
                                     std::int64_t column, const float* partials, float (&sums)[kColumns]) {
    constexpr int kParts = kMostStretches / 2;
    constexpr int kAhead = kParts / 2;
    const float* const from = partials + (call.partial_row + row) * hidden_dim + column;
    const std::int64_t step = call.n_rows * hidden_dim;
#pragma unroll 1
    for (int first = 0; first < kParts && first < call.n_stretches; first += kAhead) {
        float values[kAhead][2][kColumns] = {};
#pragma unroll
        for (int p = 0; p < kAhead; ++p) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int stretch = first + p + h * kParts;
                if (stretch < call.n_stretches) load_written(from + stretch * step, values[p][h]);
            }
        }
#pragma unroll
        for (int p = 0; p < kAhead; ++p) {
#pragma unroll
            for (int i = 0; i < kColumns; ++i) sums[i] += values[p][0][i] + values[p][1][i];
        }
    }
}

// Arrivals of any w2's blocks of columns, at least 256 each, or of rows, 16 each.
inline std::int64_t arrivals_of(const ExpertLayout& layout, std::int64_t n_calls) {
    return layout.down_rows_are_outputs ? blocks_for(layout.hidden_dim, 16)
                                        : blocks_for(layout.hidden_dim, 256) * (n_calls + 1);
}

// Behind the partial sums of a token's experts, calls of one row each in a grid of
// (columns, stretches, calls): the last block with some columns of a call adds up its
// stretches, and the last of these calls adds the weighted sum of all to x, with the bits
// of ops::ChosenExperts and ops::Combine. By the whole block; flag: see is_last_block().
template <int kBlockColumns>
__device__ inline void add_behind(const FewCalls& list, const TokenSum& token, std::int64_t hidden_dim, float* partials,
                                  int* flag) {
    const FewCall& call = list.calls[blockIdx.z];
    const auto n_calls = static_cast<unsigned>(list.n);
    if (!is_last_block(token.arrived + blockIdx.x * n_calls + blockIdx.z, gridDim.y, flag)) return;
    const std::int64_t begin = std::int64_t{blockIdx.x} * kBlockColumns;
    const std::int64_t end = begin + kBlockColumns < hidden_dim ? begin + kBlockColumns : hidden_dim;
    const std::int64_t step = 4 * std::int64_t{blockDim.x};
    const std::int64_t mine = begin + 4 * std::int64_t{threadIdx.x};
    // In the place of the first stretch, which this thread alone reads.
    for (std::int64_t column = mine; column < end; column += step) {
        float sums[4] = {};
        add_stretches(call, 0, hidden_dim, column, partials, sums);
        if (token.gating.spec.biases) {
            const float* const biases = token.gating.biases(list.weights(blockIdx.z)) + 2 * token.gating.ffn_dim;
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[i] += biases[column + i];
        }
        store_four(partials + call.partial_row * hidden_dim + column, sums);
    }
    if (!is_last_block(token.arrived + gridDim.x * n_calls + blockIdx.x, n_calls, flag)) return;
    for (std::int64_t column = mine; column < end; column += step) {
        const float4 before = *reinterpret_cast<const float4*>(token.x + column);
        float results[4] = {before.x, before.y, before.z, before.w};
#pragma unroll 4
        for (int c = 0; c < list.n; ++c) {
            float sums[4];
            load_written(partials + list.calls[c].partial_row * hidden_dim + column, sums);
#pragma unroll
            for (int i = 0; i < 4; ++i) results[i] = fmaf(token.weights[c], sums[i], results[i]);
        }
        store_four(token.x + column, results);
    }
}

}  // namespace offstage::kernels::cuda
