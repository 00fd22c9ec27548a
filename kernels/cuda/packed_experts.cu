// Experts with few rows straight from packed weights: the up and down kernels of
// experts.cu over pieces of packed rows.
#include "kernels/cuda/expert_sums.cuh"
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/packed.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = kFewExpertThreads;
constexpr int kWarps = kFewExpertWarps;

// Two rows per neuron, of w1 and w3, share an input's values. Where an up kernel reads
// one of them, its row is taken twice: no format of ours has w1 and w3 of different
// formats, and kernels for one matrix would double the time that this file takes to
// compile. With eight inputs the values come from the caches anew for every weight row,
// so two neurons share them.
template <int kInputs>
constexpr int kNeuronsPerWarp = kInputs >= 8 ? 2 : 1;

template <WeightType kType, int kInputs>
__global__ void __launch_bounds__(kThreads, 2)
    packed_expert_up(FewCalls list, Gating gating, UpRows up_rows, PackedPlaces places, std::int64_t hidden_dim,
                     std::int64_t ffn_dim, const float* inputs, const std::int32_t* row_token, float* activations) {
    let_next_begin();
    wait_for_previous();
    constexpr int kMatrices = 2;
    constexpr int kNeurons = kNeuronsPerWarp<kInputs>;
    const FewCall& call = list.call(blockIdx.y);
    const void* const weights = list.weights(blockIdx.y);
    if (weights == nullptr) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp) * kNeurons;
    if (first >= ffn_dim) return;
    const unsigned char* rows[kMatrices * kNeurons];
    const float* x[kInputs];
    // Beyond the end the last one is taken again and dropped: the warp stays together.
#pragma unroll
    for (int j = 0; j < kNeurons; ++j) {
        const std::int64_t neuron = first + j < ffn_dim ? first + j : ffn_dim - 1;
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) {
            rows[kMatrices * j + m] = static_cast<const unsigned char*>(weights) + neuron * up_rows.stride +
                                      up_rows.offsets[up_rows.of_both ? m : 0];
        }
    }
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        const int row = call.first_row + (t < call.n_rows ? t : call.n_rows - 1);
        x[t] = inputs + static_cast<std::int64_t>(row_token[row]) * hidden_dim;
    }
    float sums[kMatrices * kNeurons][kInputs] = {};
    add_packed_products<kType, kMatrices * kNeurons, kInputs>(rows, places, x, lane, sums);
#pragma unroll
    for (int j = 0; j < kNeurons; ++j) {
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            float whole[kMatrices];
#pragma unroll
            for (int m = 0; m < kMatrices; ++m) whole[m] = warp_sum(sums[kMatrices * j + m][t]);
            if (lane == t && t < call.n_rows && first + j < ffn_dim) {
                float* const place = activations + (call.scratch_row + t) * ffn_dim + first + j;
                const float of_one[1] = {whole[0]};
                if (up_rows.of_both) {
                    up_rows.store(gating, weights, first + j, whole, place);
                } else {
                    up_rows.store(gating, weights, first + j, of_one, place);
                }
            }
        }
    }
}

template <WeightType kType, int kInputs>
__global__ void __launch_bounds__(kThreads)
    packed_expert_down(FewCalls list, PackedPlaces places, std::int64_t offset, std::int64_t stride,
                       std::int64_t hidden_dim, std::int64_t ffn_dim, const float* activations, float* partials,
                       TokenSum token) {
    let_next_begin();
    wait_for_previous();
    constexpr int kAhead = kInputs >= 8 ? 2 : 4;
    float* exchange = shared_memory<float>();  // (kWarps, kColumnsPerWarp)
    const FewCall& call = list.call(blockIdx.z);
    const void* const weights_of_call = list.weights(blockIdx.z);
    const std::int64_t stretch = blockIdx.y;
    if (stretch >= call.n_stretches || weights_of_call == nullptr) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int quarter = lane % kLanesPerBlock;
    const int block = static_cast<int>(blockIdx.x) * kBlocksPerWarp + lane / kLanesPerBlock;
    const std::int64_t begin = ffn_dim * stretch / call.n_stretches;
    const std::int64_t end = ffn_dim * (stretch + 1) / call.n_stretches;
    const unsigned char* w2 = static_cast<const unsigned char*>(weights_of_call) + offset;
    const float* act[kInputs];
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        act[t] = activations + (call.scratch_row + (t < call.n_rows ? t : call.n_rows - 1)) * ffn_dim;
    }

    float sums[kInputs][kPiece] = {};
    for (std::int64_t first = begin + warp; first < end; first += kAhead * kWarps) {
        Piece<kType> pieces[kAhead];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t neuron = first + a * kWarps;
            if (neuron < end && block < places.n_blocks) {
                pieces[a].load(w2 + neuron * stride, places, block, quarter);
            } else {
                pieces[a].clear();
            }
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t neuron = first + a * kWarps;
            if (neuron >= end) break;
            pieces[a].prepare();
            float activation[kInputs];
#pragma unroll
            for (int t = 0; t < kInputs; ++t) activation[t] = act[t][neuron];
#pragma unroll
            for (int k = 0; k < kPiece / kQuad; ++k) {
                float weights[kQuad];
                pieces[a].quad(k, weights);
#pragma unroll
                for (int t = 0; t < kInputs; ++t) {
#pragma unroll
                    for (int j = 0; j < kQuad; ++j) {
                        float& sum = sums[t][k * kQuad + j];
                        sum = fmaf(activation[t], weights[j], sum);
                    }
                }
            }
        }
    }

    // Add up the warps, one row at a time. Value i of all lanes of a warp is contiguous,
    // so that two lanes never use one bank of the shared memory.
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        if (t >= call.n_rows) break;  // the same for the whole block
#pragma unroll
        for (int i = 0; i < kPiece; ++i) exchange[warp * kColumnsPerWarp + i * kWarp + lane] = sums[t][i];
        __syncthreads();
#pragma unroll
        for (int place = thread; place < kColumnsPerWarp; place += kThreads) {
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < kWarps; ++w) sum += exchange[w * kColumnsPerWarp + place];
            // The lane that this value came from. A warp's threads have its lanes'
            // places.
            const int value = place / kWarp;
            const std::int64_t column =
                block * kPackedBlock + Piece<kType>::column(quarter, value / kQuad) + value % kQuad;
            if (column < hidden_dim) {
                partials[(call.partial_row + stretch * call.n_rows + t) * hidden_dim + column] = sum;
            }
        }
        __syncthreads();
    }
    if constexpr (kInputs == 1) {
        if (token.x != nullptr) {
            add_behind<kColumnsPerWarp>(list, token, hidden_dim, partials, reinterpret_cast<int*>(exchange));
        }
    }
}

}  // namespace

void packed_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
               const FewCalls& list, const float* inputs, const std::int32_t* row_token, float* activations) {
    const PackedPlaces places = places_of(type, layout.hidden_dim);
    with_packed_type(type, [&](auto packed) {
        with_inputs(n_inputs, [&](auto number) {
            constexpr int kInputs = decltype(number)::value;
            const dim3 grid(blocks_for(layout.ffn_dim, kWarps * kNeuronsPerWarp<kInputs>),
                            static_cast<unsigned>(list.n));
            worker.start_dependent(packed_expert_up<decltype(packed)::value, kInputs>, grid, kThreads, 0, list,
                                   Gating(layout), rows, places, layout.hidden_dim, layout.ffn_dim, inputs, row_token,
                                   activations);
        });
    });
}

void packed_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                 const float* activations, float* partials, const TokenSum& token) {
    const PackedPlaces places = places_of(layout.down, layout.hidden_dim);
    const dim3 grid(blocks_for(layout.hidden_dim, kColumnsPerWarp), static_cast<unsigned>(list.most_stretches),
                    static_cast<unsigned>(list.n));
    with_packed_type(layout.down, [&](auto type) {
        with_inputs(n_inputs, [&](auto number) {
            worker.start_dependent(packed_expert_down<decltype(type)::value, decltype(number)::value>, grid, kThreads,
                                   kWarps * kColumnsPerWarp * sizeof(float), list, places,
                                   static_cast<std::int64_t>(layout.down_offset()),
                                   static_cast<std::int64_t>(layout.down_stride()), layout.hidden_dim, layout.ffn_dim,
                                   activations, partials, token);
        });
    });
}

}  // namespace offstage::kernels::cuda
