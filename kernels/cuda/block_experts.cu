// Experts with few rows straight from files' blocks: what becomes of their inputs, neuron
// by neuron, and w2, whose rows are outputs, with all calls of a layer in one launch.
#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/few_experts.cuh"

namespace offstage::kernels::cuda {
namespace {

// A row of each of the matrices that up kernels read for a neuron, side by side.
// blockIdx.y: the call.
struct UpJob {
    FewCalls list;
    Gating gating;
    UpRows up_rows;
    int n_matrices = 0;
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    const float* inputs = nullptr;
    const std::int32_t* row_token = nullptr;
    float* activations = nullptr;

    template <int kInputs>
    __device__ int n_inputs() const {
        return list.calls[blockIdx.y].n_rows;
    }
    __device__ const unsigned char* row(std::int64_t r) const {
        const auto* const weights = static_cast<const unsigned char*>(list.calls[blockIdx.y].weights);
        return n_matrices == 2 ? weights + r / 2 * up_rows.stride + up_rows.offsets[r % 2]
                               : weights + r * up_rows.stride + up_rows.offsets[0];
    }
    template <int kInputs>
    __device__ const float* input(int t) const {
        return inputs + static_cast<std::int64_t>(row_token[list.calls[blockIdx.y].first_row + t]) * n_columns;
    }
    template <int kInputs, int kRows>
    __device__ void store(std::int64_t first, int t, const float (&sums)[kRows]) const {
        static_assert(kRows % 2 == 0, "both rows of a neuron are of one warp");
        const FewCall& call = list.calls[blockIdx.y];
        float* const place = activations + (call.scratch_row + t) * gating.ffn_dim;
#pragma unroll
        for (int r = 0; r < kRows; r += 2) {
            if (first + r >= n_rows) break;
            if (n_matrices == 2) {
                const std::int64_t neuron = (first + r) / 2;
                const float both[2] = {sums[r], sums[r + 1]};
                up_rows.store(gating, call.weights, neuron, both, place + neuron);
                continue;
            }
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float one[1] = {sums[r + i]};
                const std::int64_t neuron = first + r + i;
                if (neuron < n_rows) up_rows.store(gating, call.weights, neuron, one, place + neuron);
            }
        }
    }
};

// blockIdx.y: the call.
struct DownJob {
    FewCalls list;
    Gating gating;
    std::int64_t offset = 0;  // of w2, bytes
    std::int64_t stride = 0;  // bytes
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    const float* activations = nullptr;
    float* out = nullptr;

    template <int kInputs>
    __device__ int n_inputs() const {
        return list.calls[blockIdx.y].n_rows;
    }
    __device__ const unsigned char* row(std::int64_t r) const {
        return static_cast<const unsigned char*>(list.calls[blockIdx.y].weights) + offset + r * stride;
    }
    template <int kInputs>
    __device__ const float* input(int t) const {
        return activations + (list.calls[blockIdx.y].scratch_row + t) * n_columns;
    }
    template <int kInputs, int kRows>
    __device__ void store(std::int64_t first, int t, const float (&sums)[kRows]) const {
        const FewCall& call = list.calls[blockIdx.y];
        const float* const biases =
            gating.spec.biases ? gating.biases(call.weights) + 2 * gating.ffn_dim + first : nullptr;
        float* const place = out + static_cast<std::int64_t>(call.first_row + t) * n_rows + first;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            if (first + r < n_rows) place[r] = biases == nullptr ? sums[r] : sums[r] + biases[r];
        }
    }
};

}  // namespace

void block_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
              const FewCalls& list, const float* inputs, const std::int32_t* row_token, float* activations) {
    const int n_matrices = rows.of_both ? 2 : 1;
    const UpJob job{list,   Gating(layout), rows,       n_matrices, layout.ffn_dim * n_matrices, layout.hidden_dim,
                    inputs, row_token,      activations};
    with_block_inputs(n_inputs, [&](auto number) {
        start_block_products<decltype(number)::value>(worker, type, dim3(1, static_cast<unsigned>(list.n)), job);
    });
}

void block_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                const float* activations, float* out) {
    const DownJob job{list,
                      Gating(layout),
                      static_cast<std::int64_t>(layout.down_offset()),
                      static_cast<std::int64_t>(layout.down_stride()),
                      layout.hidden_dim,
                      layout.ffn_dim,
                      activations,
                      out};
    with_block_inputs(n_inputs, [&](auto number) {
        start_block_products<decltype(number)::value>(worker, layout.down, dim3(1, static_cast<unsigned>(list.n)), job);
    });
}

}  // namespace offstage::kernels::cuda
