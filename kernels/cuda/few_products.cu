// Products of 3 to 8 rows of inputs with bf16 weights whose rows are outputs, on tensor
// cores. The weights, as they are, are the first operand: 16 rows. An input, a float32,
// is taken apart into three numbers of bf16 (24 bits), each of which is a column of a
// second operand of its own, eight rows of inputs side by side; the sums are float32, and
// a lane has those of all three parts. Fewer than eight rows cost the same: the last one
// is taken again and dropped.
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRows = 16;    // weight rows of an mma
constexpr int kInputs = 8;   // rows of inputs, of an mma
constexpr int kWindow = 32;  // columns that a warp takes at once: of a row, eight for each of four lanes
constexpr int kParts = 3;
constexpr int kUpThreads = 64;         // few, so that the blocks are many and divide evenly
constexpr int kMultiplyThreads = 128;  // the warps of a block take windows in turn
constexpr int kMultiplyWarps = kMultiplyThreads / kWarp;

// A lane's columns of a window, 8 * place .. + 7 (place = lane % 4), of kTiles tiles of
// weight rows: of each the rows lane / 4 and lane / 4 + 8. The order of the columns in a
// mma is of no importance, as long as both operands have the same: its first step takes
// each lane's first four, its second the others.
template <int kTiles>
struct Window {
    uint4 words[kTiles][2];
    // Beyond the end the last columns are taken again, where the inputs are taken as 0.
    __device__ void load(const Bf16* const (&rows)[kTiles][2], int column, int n) {
        const int place = column < n ? column : n - kEight;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
            for (int h = 0; h < 2; ++h) words[tile][h] = __ldcs(reinterpret_cast<const uint4*>(rows[tile][h] + place));
        }
    }
};

// Eight values of a row of inputs in parts: words i of a part are values 2 i and 2 i + 1.
struct InputParts {
    unsigned words[kParts][4];
    __device__ void load(const float* row, int column, int n) {
        float values[kEight];
        load_eight<true>(row, column < n ? column : n - kEight, n, values);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float low = column < n ? values[2 * i] : 0.0f;
            const float high = column < n ? values[2 * i + 1] : 0.0f;
            unsigned parts[kParts];
            split_bf16(low, high, parts);
#pragma unroll
            for (int p = 0; p < kParts; ++p) words[p][i] = parts[p];
        }
    }
};

// sums[tile][p] += the tile's rows . part p of the inputs, over the windows from `first`
// on, each `step` columns further. input: the row of inputs that is the lane's column of
// the second operand, lane / 4. By a whole warp. n: a multiple of eight.
template <int kTiles>
__device__ inline void add_split_products(const Bf16* const (&rows)[kTiles][2], const float* input, int n, int first,
                                          int step, int lane, float (&sums)[kTiles][kParts][4]) {
    constexpr int kAhead = kTiles > 1 ? 3 : 4;  // 16-byte loads of a lane on their way: about 12, or 8
    const int mine = lane % 4 * kEight;
    Window<kTiles> windows[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) windows[a].load(rows, first + a * step + mine, n);
    for (; first < n; first += kAhead * step) {
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const int column = first + a * step + mine;
            InputParts parts;
            parts.load(input, column, n);
            unsigned weights[kTiles][2][4];
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const uint4 words = windows[a].words[tile][h];
                    weights[tile][0][h] = words.x;
                    weights[tile][0][2 + h] = words.y;
                    weights[tile][1][h] = words.z;
                    weights[tile][1][2 + h] = words.w;
                }
            }
#pragma unroll
            for (int s = 0; s < 2; ++s) {
#pragma unroll
                for (int p = 0; p < kParts; ++p) {
                    const unsigned factor[2] = {parts.words[p][2 * s], parts.words[p][2 * s + 1]};
#pragma unroll
                    for (int tile = 0; tile < kTiles; ++tile) multiply_bf16(sums[tile][p], weights[tile][s], factor);
                }
            }
            windows[a].load(rows, column + kAhead * step, n);
        }
    }
}

__device__ inline float whole(const float (&sums)[kParts][4], int i) {
    return sums[2][i] + sums[1][i] + sums[0][i];
}

// A warp takes 16 neurons.
template <int kMatrices>
__global__ void __launch_bounds__(kUpThreads)
    expert_up_products(FewCalls list, Gating gating, UpRows up_rows, std::int64_t hidden_dim, std::int64_t ffn_dim,
                       const float* inputs, const std::int32_t* row_token, float* activations) {
    const FewCall& call = list.calls[blockIdx.y];
    const void* const weights = list.weights(blockIdx.y);
    if (weights == nullptr) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first =
        (static_cast<std::int64_t>(blockIdx.x) * (kUpThreads / kWarp) + threadIdx.x / kWarp) * kRows;
    if (first >= ffn_dim) return;  // the whole warp
    const Bf16* rows[kMatrices][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const std::int64_t wanted = first + lane / 4 + 8 * h;
        const std::int64_t neuron = wanted < ffn_dim ? wanted : ffn_dim - 1;
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) {
            rows[m][h] = reinterpret_cast<const Bf16*>(static_cast<const unsigned char*>(weights) +
                                                       neuron * up_rows.stride + up_rows.offsets[m]);
        }
    }
    const int t = lane / 4 < call.n_rows ? lane / 4 : call.n_rows - 1;
    const float* const input = inputs + static_cast<std::int64_t>(row_token[call.first_row + t]) * hidden_dim;
    float sums[kMatrices][kParts][4] = {};
    add_split_products<kMatrices>(rows, input, static_cast<int>(hidden_dim), 0, kWindow, lane, sums);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const std::int64_t neuron = first + lane / 4 + 8 * (i / 2);
        const int row = lane % 4 * 2 + i % 2;
        if (neuron >= ffn_dim || row >= call.n_rows) continue;
        float of_neuron[kMatrices];
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) of_neuron[m] = whole(sums[m], i);
        up_rows.store(gating, weights, neuron, of_neuron, activations + (call.scratch_row + row) * ffn_dim + neuron);
    }
}

// A block forms 16 outputs of up to eight inputs.
__global__ void __launch_bounds__(kMultiplyThreads)
    multiply_few_products(const Bf16* weight, std::int64_t n_rows, std::int64_t n_columns, std::int64_t stride,
                          const float* x, int n, float* y) {
    float* exchange = shared_memory<float>();  // (kMultiplyWarps, kInputs, kRows)
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % kWarp;
    const int warp = thread / kWarp;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows;
    const Bf16* rows[1][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const std::int64_t row = first + lane / 4 + 8 * h;
        rows[0][h] = weight + (row < n_rows ? row : n_rows - 1) * stride;
    }
    const float* const input = x + static_cast<std::int64_t>(lane / 4 < n ? lane / 4 : n - 1) * n_columns;
    float sums[1][kParts][4] = {};
    add_split_products<1>(rows, input, static_cast<int>(n_columns), warp * kWindow, kMultiplyWarps * kWindow, lane,
                          sums);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + 8 * (i / 2);
        exchange[(warp * kInputs + lane % 4 * 2 + i % 2) * kRows + row] = whole(sums[0], i);
    }
    __syncthreads();
    static_assert(kMultiplyThreads == kInputs * kRows, "each thread stores one sum");
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kMultiplyWarps; ++w) sum += exchange[w * kInputs * kRows + thread];
    const int t = thread / kRows;
    const std::int64_t row = first + thread % kRows;
    if (t < n && row < n_rows) y[t * n_rows + row] = sum;
}

}  // namespace

void up_on_tensor_cores(Worker& worker, const ExpertLayout& layout, const UpRows& rows, const FewCalls& list,
                        const float* inputs, const std::int32_t* row_token, float* activations) {
    const dim3 grid(blocks_for(layout.ffn_dim, kUpThreads / kWarp * kRows), static_cast<unsigned>(list.n));
    with_matrices(rows, [&](auto matrices) {
        worker.start(expert_up_products<decltype(matrices)::value>, grid, kUpThreads, 0, list, Gating(layout), rows,
                     layout.hidden_dim, layout.ffn_dim, inputs, row_token, activations);
    });
}

void multiply_on_tensor_cores(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y) {
    worker.start(multiply_few_products, blocks_for(weight.n_rows, kRows), kMultiplyThreads,
                 kMultiplyWarps * kInputs * kRows * sizeof(float), static_cast<const Bf16*>(weight.data), weight.n_rows,
                 weight.n_cols, row_stride(weight), x, static_cast<int>(n), y);
}

}  // namespace offstage::kernels::cuda
