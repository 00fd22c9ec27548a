// Experts in the neuron-major layout. Few rows: three kernels over all calls of a layer, which read each weight once.
//   up:     a warp per neuron: activations[row][j] = activation(w1_j . x, w3_j . x)
//   down:   a block per 256 columns and stretch of neurons: partials[stretch][row] = sum over its j of activation *
//   w2_j gather: out[row] = the partials added in order
// No sum depends on when a block runs, so results do not vary from run to run; nor do they depend on the other calls.
// Many rows: products of matrices, by the strides of the block's three parts.
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = kFewExpertThreads;
constexpr int kWarps = kFewExpertWarps;
constexpr int kColumns = kWarp * kEight;  // of a down block
constexpr std::int64_t kBatchRows = 512;  // of an expert with many rows, at once

// Depends on the shape and the rows of one expert alone.
std::int64_t n_stretches(std::int64_t ffn_dim, std::int64_t n_rows) {
    const std::int64_t most = n_rows <= 2 ? 32 : 16;
    const std::int64_t wanted = ffn_dim / 64;
    return wanted < 1 ? 1 : wanted > most ? most : wanted;
}

template <typename T, int kInputs, bool kVector>
__global__ void __launch_bounds__(kThreads)
    expert_up(FewCalls list, Gating gating, std::int64_t hidden_dim, std::int64_t ffn_dim, const float* inputs,
              const std::int32_t* row_token, float* activations) {
    const FewCall& call = list.calls[blockIdx.y];
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t neuron = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
    if (neuron >= ffn_dim) return;
    const T* w1 = static_cast<const T*>(call.weights) + neuron * 3 * hidden_dim;
    const T* const rows[2] = {w1, w1 + hidden_dim};
    const float* x[kInputs];
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        const int row = call.first_row + (t < call.n_rows ? t : call.n_rows - 1);
        x[t] = inputs + static_cast<std::int64_t>(row_token[row]) * hidden_dim;
    }
    float sums[2][kInputs] = {};
    add_products<T, 2, kInputs, kVector>(rows, x, hidden_dim, lane, sums);
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        const float gate = warp_sum(sums[0][t]);
        const float up = warp_sum(sums[1][t]);
        if (lane == t && t < call.n_rows) {
            activations[(call.scratch_row + t) * ffn_dim + neuron] = gating.of(call.weights, neuron, gate, up);
        }
    }
}

template <typename T, int kInputs, bool kVector>
__global__ void __launch_bounds__(kThreads) expert_down(FewCalls list, std::int64_t hidden_dim, std::int64_t ffn_dim,
                                                        const float* activations, float* partials) {
    constexpr int kAhead = kInputs >= 8 ? 2 : 4;
    float* exchange = shared_memory<float>();  // (kWarps, kColumns)
    const FewCall& call = list.calls[blockIdx.z];
    const std::int64_t stretch = blockIdx.y;
    if (stretch >= call.n_stretches) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kColumns;
    const std::int64_t column = first_column + lane * kEight;
    const std::int64_t begin = ffn_dim * stretch / call.n_stretches;
    const std::int64_t end = ffn_dim * (stretch + 1) / call.n_stretches;
    const T* w2 = static_cast<const T*>(call.weights) + 2 * hidden_dim;
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
                weights[a].load(w2 + neuron * 3 * hidden_dim, column, hidden_dim);
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

    // Add up the warps, one row at a time. A warp's value i of each lane lies together, so that no two lanes meet in a
    // bank of the shared memory.
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
}

__global__ void __launch_bounds__(kThreads)
    expert_gather(FewCalls list, Gating gating, std::int64_t hidden_dim, const float* partials, float* out) {
    const FewCall& call = list.calls[blockIdx.z];
    const std::int64_t row = blockIdx.y;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (row >= call.n_rows || column >= hidden_dim) return;
    const float* from = partials + (call.partial_row + row) * hidden_dim + column;
    float sum = 0.0f;
    for (std::int64_t s = 0; s < call.n_stretches; ++s) sum += from[s * call.n_rows * hidden_dim];
    if (gating.spec.biases) sum += gating.biases(call.weights)[2 * gating.ffn_dim + column];
    out[(call.first_row + row) * hidden_dim + column] = sum;
}

std::size_t few_bytes(std::int64_t hidden_dim, std::int64_t ffn_dim, std::int64_t n_rows) {
    const auto floats = [](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
    return Scratch::rounded(floats(n_rows * ffn_dim)) +
           Scratch::rounded(floats(n_rows * n_stretches(ffn_dim, n_rows) * hidden_dim));
}

void plain_few(Worker& worker, const CudaExpertShape& shape, int n_inputs, const FewCalls& list, const float* inputs,
               const std::int32_t* row_token, float* activations, float* partials) {
    bool vector = shape.hidden_dim % kEight == 0 && is_aligned(inputs);
    for (int c = 0; c < list.n; ++c) vector = vector && is_aligned(list.calls[c].weights);
    const auto n_calls = static_cast<unsigned>(list.n);
    const dim3 up_grid(blocks_for(shape.ffn_dim, kWarps), n_calls);
    const dim3 down_grid(blocks_for(shape.hidden_dim, kColumns), static_cast<unsigned>(list.most_stretches), n_calls);
    with_type(shape.type, [&](auto* type) {
        using T = ValueOf<decltype(type)>;
        with_inputs(n_inputs, [&](auto number) {
            constexpr int kInputs = decltype(number)::value;
            worker.start(vector ? expert_up<T, kInputs, true> : expert_up<T, kInputs, false>, up_grid, kThreads, 0,
                         list, Gating(shape), shape.hidden_dim, shape.ffn_dim, inputs, row_token, activations);
            worker.start(vector ? expert_down<T, kInputs, true> : expert_down<T, kInputs, false>, down_grid, kThreads,
                         kWarps * kColumns * sizeof(float), list, shape.hidden_dim, shape.ffn_dim, activations,
                         partials);
        });
    });
}

void start_few(Worker& worker, const CudaExpertShape& shape, int n_inputs, FewCalls& list, const float* inputs,
               const std::int32_t* row_token, float* out) {
    std::int64_t n_rows = 0;
    std::int64_t n_partials = 0;
    list.most_stretches = 1;
    for (int c = 0; c < list.n; ++c) {
        FewCall& call = list.calls[c];
        call.scratch_row = static_cast<std::int32_t>(n_rows);
        call.partial_row = static_cast<std::int32_t>(n_partials);
        n_rows += call.n_rows;
        n_partials += static_cast<std::int64_t>(call.n_stretches) * call.n_rows;
        if (call.n_stretches > list.most_stretches) list.most_stretches = call.n_stretches;
    }
    worker.scratch.restart();
    auto* activations = worker.scratch.take<float>(n_rows * shape.ffn_dim);
    auto* partials = worker.scratch.take<float>(n_partials * shape.hidden_dim);
    if (activations == nullptr || partials == nullptr) {
        worker.lacks_scratch();
        return;
    }
    if (is_packed(shape.type)) {
        for (int c = 0; c < list.n; ++c) {
            if (!can_read_packed(worker, list.calls[c].weights, inputs)) return;
        }
        packed_up(worker, shape, n_inputs, list, inputs, row_token, activations);
        packed_down(worker, shape, n_inputs, list, activations, partials);
    } else {
        plain_few(worker, shape, n_inputs, list, inputs, row_token, activations, partials);
    }
    const dim3 gather_grid(blocks_for(shape.hidden_dim, kThreads), static_cast<unsigned>(n_inputs),
                           static_cast<unsigned>(list.n));
    worker.start(expert_gather, gather_grid, kThreads, 0, list, Gating(shape), shape.hidden_dim, partials, out);
}

// The calls with at_least .. n_inputs rows, in as few launches as parameters and scratch allow.
void few_rows(Worker& worker, const CudaExpertShape& shape, const CudaExpertCall* calls, std::size_t n_calls,
              int at_least, int n_inputs, const float* inputs, const std::int32_t* row_token, float* out) {
    FewCalls list;
    std::size_t bytes = 0;
    worker.scratch.restart();
    const std::size_t room = worker.scratch.left();
    const auto flush = [&] {
        if (list.n > 0) start_few(worker, shape, n_inputs, list, inputs, row_token, out);
        list.n = 0;
        bytes = 0;
    };
    for (std::size_t c = 0; c < n_calls; ++c) {
        const CudaExpertCall& call = calls[c];
        if (call.n_rows < at_least || call.n_rows > n_inputs) continue;
        const std::size_t needed = few_bytes(shape.hidden_dim, shape.ffn_dim, call.n_rows);
        if (list.n == kCallsPerLaunch || bytes + needed > room) flush();
        bytes += needed;
        FewCall& few = list.calls[list.n++];
        few.weights = call.weights;
        few.first_row = static_cast<std::int32_t>(call.first_row);
        few.n_rows = static_cast<std::int32_t>(call.n_rows);
        few.n_stretches = static_cast<std::int32_t>(n_stretches(shape.ffn_dim, call.n_rows));
    }
    flush();
}

// Bytes of one row in a batch: its input, both products, its activation.
std::size_t batch_row_bytes(std::int64_t hidden_dim, std::int64_t ffn_dim, std::size_t input_bytes) {
    return static_cast<std::size_t>(hidden_dim) * input_bytes + static_cast<std::size_t>(ffn_dim) * 2 * sizeof(float) +
           static_cast<std::size_t>(ffn_dim) * input_bytes;
}

constexpr std::size_t kBatchRounding = 4 * 256;  // four pieces

void many_rows(Worker& worker, const CudaExpertShape& shape, const CudaExpertCall& call, const float* inputs,
               const std::int32_t* row_token, float* out) {
    const WeightType type = input_type(worker, shape.type);
    const std::size_t bytes = bytes_per_weight(type);
    worker.scratch.restart();
    std::size_t fixed = kBatchRounding;
    if (is_packed(shape.type)) fixed += unpack_bytes(shape.ffn_dim, shape.hidden_dim);
    const std::size_t left = worker.scratch.left() < fixed ? 0 : worker.scratch.left() - fixed;
    const auto room = static_cast<std::int64_t>(left / batch_row_bytes(shape.hidden_dim, shape.ffn_dim, bytes));
    std::int64_t most = room < kBatchRows ? room : kBatchRows;
    if (most < 1) {
        worker.lacks_scratch();
        return;
    }
    if (most > call.n_rows) most = call.n_rows;
    auto* x = worker.scratch.take<unsigned char>(most * shape.hidden_dim * static_cast<std::int64_t>(bytes));
    auto* gate = worker.scratch.take<float>(most * shape.ffn_dim);
    auto* up = worker.scratch.take<float>(most * shape.ffn_dim);
    auto* activation = worker.scratch.take<unsigned char>(most * shape.ffn_dim * static_cast<std::int64_t>(bytes));

    unsigned char* unpacked = nullptr;
    if (is_packed(shape.type)) {
        const std::size_t room_bytes = unpack_bytes(shape.ffn_dim, shape.hidden_dim);
        unpacked = worker.scratch.take<unsigned char>(static_cast<std::int64_t>(room_bytes));
        if (unpacked == nullptr) {
            worker.lacks_scratch();
            return;
        }
        if (!can_read_packed(worker, call.weights, inputs)) return;
    }

    // The block's three matrices (ffn_dim, hidden_dim): row j of each is three rows behind its row j - 1.
    const std::size_t part_bytes = row_bytes(shape.type, shape.hidden_dim);
    const auto product = [&](std::size_t part, bool transposed, const void* from, std::int64_t rows, float* to) {
        const void* data = static_cast<const unsigned char*>(call.weights) + part * part_bytes;
        const std::int64_t stride = 3 * shape.hidden_dim;
        if (is_packed(shape.type)) {
            const WeightView weight{data, shape.type, shape.ffn_dim, shape.hidden_dim, stride};
            multiply_packed_many(worker, weight, transposed, from, rows, to, unpacked);
            return;
        }
        const std::int64_t n_out = transposed ? shape.hidden_dim : shape.ffn_dim;
        const std::int64_t n_in = transposed ? shape.ffn_dim : shape.hidden_dim;
        multiply_many(worker, {data, shape.type, n_out, n_in, stride, transposed}, from, rows, to, n_out);
    };
    const float* const biases = shape.spec.biases ? Gating(shape).biases(call.weights) : nullptr;
    for (std::int64_t row = 0; row < call.n_rows; row += most) {
        const std::int64_t rows = call.n_rows - row < most ? call.n_rows - row : most;
        gather(worker, inputs, row_token + call.first_row + row, rows, shape.hidden_dim, type, x);
        product(0, false, x, rows, gate);
        product(1, false, x, rows, up);
        if (biases != nullptr) {
            add_bias(worker, biases, rows, shape.ffn_dim, gate);
            add_bias(worker, biases + shape.ffn_dim, rows, shape.ffn_dim, up);
        }
        activate(worker, shape.spec, gate, up, rows * shape.ffn_dim, type, activation);
        float* const outputs = out + (call.first_row + row) * shape.hidden_dim;
        product(2, true, activation, rows, outputs);
        if (biases != nullptr) add_bias(worker, biases + 2 * shape.ffn_dim, rows, shape.hidden_dim, outputs);
    }
}

// Of n_networks networks of one size, of which each token passes n_active.
std::uint64_t network_bytes(const CudaStep& step, std::int64_t ffn_dim, std::int64_t n_networks,
                            std::int64_t n_active) {
    if (ffn_dim <= 0) return 0;
    // Few rows: as if all that can be in one launch were, but not beyond what one call of the most rows takes in 8
    // calls: further calls then take another launch.
    const std::int64_t all_rows = step.n_tokens * n_active;
    std::uint64_t few = 0;
    for (std::int64_t rows = 1; rows <= CudaContext::kFewRows && rows <= step.n_tokens; ++rows) {
        std::int64_t calls = all_rows / rows;
        if (calls > n_networks) calls = n_networks;
        if (calls > 8) calls = 8;
        if (calls < 1) calls = 1;
        const std::uint64_t bytes = static_cast<std::uint64_t>(calls) * few_bytes(step.hidden_dim, ffn_dim, rows);
        if (bytes > few) few = bytes;
    }
    if (step.n_tokens <= CudaContext::kFewRows) return few;
    const std::int64_t rows = step.n_tokens < kBatchRows ? step.n_tokens : kBatchRows;
    const std::uint64_t many =
        static_cast<std::uint64_t>(rows) * batch_row_bytes(step.hidden_dim, ffn_dim, sizeof(float)) + kBatchRounding +
        unpack_bytes(ffn_dim, step.hidden_dim);
    return many > few ? many : few;
}

}  // namespace

std::uint64_t expert_scratch_bytes(const CudaStep& step) {
    if (step.hidden_dim <= 0) return 0;
    const std::uint64_t experts =
        network_bytes(step, step.ffn_dim, step.n_experts, step.n_active > 0 ? step.n_active : 1);
    const std::uint64_t dense = network_bytes(step, step.dense_ffn_dim, 1, 1);
    return experts > dense ? experts : dense;
}

void experts(Worker& worker, const CudaExpertShape& shape, const CudaExpertCall* calls, std::size_t n_calls,
             const float* inputs, const std::int32_t* row_token, float* out) {
    few_rows(worker, shape, calls, n_calls, 1, 1, inputs, row_token, out);
    few_rows(worker, shape, calls, n_calls, 2, 2, inputs, row_token, out);
    few_rows(worker, shape, calls, n_calls, 3, 4, inputs, row_token, out);
    few_rows(worker, shape, calls, n_calls, 5, 8, inputs, row_token, out);
    for (std::size_t c = 0; c < n_calls; ++c) {
        if (calls[c].n_rows > CudaContext::kFewRows) many_rows(worker, shape, calls[c], inputs, row_token, out);
    }
}

}  // namespace offstage::kernels::cuda
