#pragma once
// A layer's calls of experts in files' blocks as a kernel's parameter, which products
// with float32 inputs (block_experts.cu) and with inputs of 8 bits (byte_products.cu)
// share.

#include <cstdint>

#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/few_experts.cuh"

namespace offstage::kernels::cuda {

// First the rows of w1 and w3, then those of w2. blockIdx.y: the call. One type for both,
// since each type of job is compiled for all formats.
struct ExpertJob {
    Gating gating;
    bool down = false;
    UpRows up_rows;           // w1 and w3: a row of each side by side where both are read
    int n_matrices = 0;       // of these
    std::int64_t offset = 0;  // w2, bytes
    std::int64_t stride = 0;  // w2, bytes
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    const float* inputs = nullptr;            // w1 and w3
    const std::int32_t* row_token = nullptr;  // which of them
    const unsigned char* rounded = nullptr;   // the inputs in 8 bits, in rows of the calls (RoundedRow)
    float* activations = nullptr;
    float* out = nullptr;
    TokenSum token;  // of w2; an arrival for each block of rows
    FewCalls list;   // the end: see KernelCall::pack()

    ExpertJob(const FewCalls& calls, const ExpertLayout& layout) : gating(layout), list(calls) {}
    static ExpertJob up(const FewCalls& calls, const ExpertLayout& layout, const UpRows& rows, float* activations) {
        ExpertJob job(calls, layout);
        job.up_rows = rows;
        job.n_matrices = rows.of_both ? 2 : 1;
        job.n_rows = layout.ffn_dim * job.n_matrices;
        job.n_columns = layout.hidden_dim;
        job.activations = activations;
        return job;
    }
    static ExpertJob of_w2(const FewCalls& calls, const ExpertLayout& layout, float* out) {
        ExpertJob job(calls, layout);
        job.down = true;
        job.offset = static_cast<std::int64_t>(layout.down_offset());
        job.stride = static_cast<std::int64_t>(layout.down_stride());
        job.n_rows = layout.hidden_dim;
        job.n_columns = layout.ffn_dim;
        job.out = out;
        return job;
    }
    // A job for a single matrix, in the place of w2.
    static ExpertJob of_matrix(const FewCalls& calls, const WeightView& weight, float* out) {
        ExpertJob job(calls, ExpertLayout());
        job.down = true;
        job.stride = static_cast<std::int64_t>(weight.stride_bytes());
        job.n_rows = weight.n_rows;
        job.n_columns = weight.n_cols;
        job.out = out;
        return job;
    }

    template <int kInputs>
    __device__ int n_inputs() const {
        return list.weights(blockIdx.y) == nullptr ? 0 : list.call(blockIdx.y).n_rows;
    }
    __device__ const unsigned char* row(std::int64_t r) const {
        const auto* const weights = static_cast<const unsigned char*>(list.weights(blockIdx.y));
        if (down) return weights + offset + r * stride;
        return n_matrices == 2 ? weights + r / 2 * up_rows.stride + up_rows.offsets[r % 2]
                               : weights + r * up_rows.stride + up_rows.offsets[0];
    }
    template <int kInputs>
    __device__ const float* input(int t) const {
        const FewCall& call = list.call(blockIdx.y);
        return down ? activations + (call.scratch_row + t) * n_columns
                    : inputs + static_cast<std::int64_t>(row_token[call.first_row + t]) * n_columns;
    }
    template <int kInputs, int kRows>
    __device__ void store(std::int64_t first, int t, const float (&sums)[kRows]) const {
        const FewCall& call = list.call(blockIdx.y);
        if (down) {
            store_outputs(call, first, t, sums);
        } else {
            store_neurons(call, first, t, sums);
        }
    }
    template <int kRows>
    __device__ void store_neurons(const FewCall& call, std::int64_t first, int t, const float (&sums)[kRows]) const {
        static_assert(kRows % 2 == 0, "both rows of a neuron are of one warp");
        const void* const weights = list.weights(blockIdx.y);
        float* const place = activations + (call.scratch_row + t) * gating.ffn_dim;
#pragma unroll
        for (int r = 0; r < kRows; r += 2) {
            if (first + r >= n_rows) break;
            if (n_matrices == 2) {
                const std::int64_t neuron = (first + r) / 2;
                const float both[2] = {sums[r], sums[r + 1]};
                up_rows.store(gating, weights, neuron, both, place + neuron);
                continue;
            }
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float one[1] = {sums[r + i]};
                const std::int64_t neuron = first + r + i;
                if (neuron < n_rows) up_rows.store(gating, weights, neuron, one, place + neuron);
            }
        }
    }
    template <int kRows>
    __device__ void store_outputs(const FewCall& call, std::int64_t first, int t, const float (&sums)[kRows]) const {
        const float* const biases =
            gating.spec.biases ? gating.biases(list.weights(blockIdx.y)) + 2 * gating.ffn_dim + first : nullptr;
        float* const place = out + static_cast<std::int64_t>(call.first_row + t) * n_rows + first;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            if (first + r < n_rows) place[r] = biases == nullptr ? sums[r] : sums[r] + biases[r];
        }
    }
    // Where a token's experts are summed: the last call's block with rows first ...
    // first + n of w2 adds the weighted sum of all to x.
    template <int kInputs>
    __device__ void finish(std::int64_t first, int n, int* flag) const {
        if (kInputs > 1 || token.x == nullptr || !is_last_block(token.arrived + blockIdx.x, gridDim.y, flag)) return;
        const std::int64_t row = first + threadIdx.x;
        if (static_cast<int>(threadIdx.x) >= n || row >= n_rows) return;
        float result = token.x[row];
        for (int c = 0; c < list.n; ++c) result = fmaf(token.weights[c], __ldcg(out + c * n_rows + row), result);
        token.x[row] = result;
    }
};

}  // namespace offstage::kernels::cuda
