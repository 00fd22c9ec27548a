// Experts with few rows, in plain weights. Up: a warp per neuron. Down: a block per 256
// columns and stretch of neurons.
#include "kernels/cuda/expert_sums.cuh"
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = kFewExpertThreads;
constexpr int kWarps = kFewExpertWarps;
constexpr int kColumns = kWarp * kEight;  // a down block's

template <typename T, int kMatrices, int kInputs, bool kVector>
__global__ void __launch_bounds__(kThreads)
    expert_up(FewCalls list, Gating gating, UpRows up_rows, std::int64_t hidden_dim, std::int64_t ffn_dim,
              const float* inputs, const std::int32_t* row_token, float* activations) {
    let_next_begin();
    wait_for_previous();
    const FewCall& call = list.calls[blockIdx.y];
    const void* const weights = list.weights(blockIdx.y);
    if (weights == nullptr) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t neuron = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
    if (neuron >= ffn_dim) return;
    const T* rows[kMatrices];
#pragma unroll
    for (int m = 0; m < kMatrices; ++m) {
        rows[m] = reinterpret_cast<const T*>(static_cast<const unsigned char*>(weights) + neuron * up_rows.stride +
                                             up_rows.offsets[m]);
    }
    const float* x[kInputs];
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        const int row = call.first_row + (t < call.n_rows ? t : call.n_rows - 1);
        x[t] = inputs + static_cast<std::int64_t>(row_token[row]) * hidden_dim;
    }
    float sums[kMatrices][kInputs] = {};
    add_products<T, kMatrices, kInputs, kVector>(rows, x, hidden_dim, lane, sums);
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        float whole[kMatrices];
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) whole[m] = warp_sum(sums[m][t]);
        if (lane == t && t < call.n_rows) {
            // Asked again: kept, the pointer takes registers that the loop above needs.
            up_rows.store(gating, list.weights(blockIdx.y), neuron, whole,
                          activations + (call.scratch_row + t) * ffn_dim + neuron);
        }
    }
}

template <typename T, int kInputs, bool kVector>
__global__ void __launch_bounds__(kThreads)
    expert_down(FewCalls list, std::int64_t offset, std::int64_t stride, std::int64_t hidden_dim, std::int64_t ffn_dim,
                const float* activations, float* partials, TokenSum token) {
    let_next_begin();
    wait_for_previous();
    constexpr int kAhead = kInputs >= 8 ? 2 : 4;
    float* exchange = shared_memory<float>();  // (kWarps, kColumns)
    const FewCall& call = list.calls[blockIdx.z];
    const void* const weights_of_call = list.weights(blockIdx.z);
    const std::int64_t stretch = blockIdx.y;
    if (stretch >= call.n_stretches || weights_of_call == nullptr) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kColumns;
    const std::int64_t column = first_column + lane * kEight;
    const std::int64_t begin = ffn_dim * stretch / call.n_stretches;
    const std::int64_t end = ffn_dim * (stretch + 1) / call.n_stretches;
    const unsigned char* w2 = static_cast<const unsigned char*>(weights_of_call) + offset;
    const float* act[kInputs];
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        act[t] = activations + (call.scratch_row + (t < call.n_rows ? t : call.n_rows - 1)) * ffn_dim;
    }

    float sums[kInputs][kEight] = {};
    for (std::int64_t first = begin + warp; first < end; first += kAhead * kWarps) {
        Eight<T, kVector> weights[kAhead];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t neuron = first + a * kWarps;
            if (neuron < end && column < hidden_dim) {
                weights[a].load(reinterpret_cast<const T*>(w2 + neuron * stride), column, hidden_dim);
            } else {
                weights[a].clear();
            }
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t neuron = first + a * kWarps;
            if (neuron >= end) break;
#pragma unroll
            for (int t = 0; t < kInputs; ++t) {
                const float activation = act[t][neuron];
#pragma unroll
                for (int i = 0; i < kEight; ++i) sums[t][i] = fmaf(activation, weights[a][i], sums[t][i]);
            }
        }
    }

    // Add up the warps, one row at a time. Value i of all lanes of a warp is contiguous,
    // so that two lanes never use one bank of the shared memory.
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t my_column = first_column + (thread % kWarp) * kEight + thread / kWarp;
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        if (t >= call.n_rows) break;  // the same for the whole block
#pragma unroll
        for (int i = 0; i < kEight; ++i) exchange[warp * kColumns + i * kWarp + lane] = sums[t][i];
        __syncthreads();
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) sum += exchange[w * kColumns + thread];
        if (my_column < hidden_dim) {
            partials[(call.partial_row + stretch * call.n_rows + t) * hidden_dim + my_column] = sum;
        }
        __syncthreads();
    }
    if constexpr (kInputs == 1) {
        if (token.x != nullptr) {
            add_behind<kColumns>(list, token, hidden_dim, partials, reinterpret_cast<int*>(exchange));
        }
    }
}

}  // namespace

void plain_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType weight_type, int n_inputs,
              const FewCalls& list, bool vector, const float* inputs, const std::int32_t* row_token,
              float* activations) {
    const dim3 grid(blocks_for(layout.ffn_dim, kWarps), static_cast<unsigned>(list.n));
    with_type(weight_type, [&](auto* type) {
        using T = ValueOf<decltype(type)>;
        with_inputs(n_inputs, [&](auto number) {
            with_matrices(rows, [&](auto matrices) {
                constexpr int kInputs = decltype(number)::value;
                constexpr int kMatrices = decltype(matrices)::value;
                worker.start_dependent(
                    vector ? expert_up<T, kMatrices, kInputs, true> : expert_up<T, kMatrices, kInputs, false>, grid,
                    kThreads, 0, list, Gating(layout), rows, layout.hidden_dim, layout.ffn_dim, inputs, row_token,
                    activations);
            });
        });
    });
}

void plain_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list, bool vector,
                const float* activations, float* partials, const TokenSum& token) {
    const dim3 grid(blocks_for(layout.hidden_dim, kColumns), static_cast<unsigned>(list.most_stretches),
                    static_cast<unsigned>(list.n));
    with_type(layout.down, [&](auto* type) {
        using T = ValueOf<decltype(type)>;
        with_inputs(n_inputs, [&](auto number) {
            constexpr int kInputs = decltype(number)::value;
            worker.start_dependent(vector ? expert_down<T, kInputs, true> : expert_down<T, kInputs, false>, grid,
                                   kThreads, kWarps * kColumns * sizeof(float), list,
                                   static_cast<std::int64_t>(layout.down_offset()),
                                   static_cast<std::int64_t>(layout.down_stride()), layout.hidden_dim, layout.ffn_dim,
                                   activations, partials, token);
        });
    });
}

}  // namespace offstage::kernels::cuda
