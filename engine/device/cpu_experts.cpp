// Experts: few rows by the one-pass kernel, in chunks of neurons, all others matrix by
// matrix (for those of files' blocks see cpu_experts_by_outputs.cpp, for bf16
// cpu_experts_by_pairs.cpp).

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kNeuronGrain = kernels::kRoundedNeurons;  // what the one-pass kernels take together
constexpr std::int64_t kSmallestChunk = 32;                      // neurons
constexpr std::array<float, CpuOperations::kFewTokens> kOnes = {1, 1, 1, 1, 1, 1, 1, 1};

// Many chunks let any number of threads share the work evenly; each costs a sum per row, written and read once (all
// together under 1 % of the weights' bytes for a real model).
std::int64_t n_chunks(std::int64_t ffn_dim, std::int64_t n_rows) {
    const std::int64_t most = std::max<std::int64_t>(16, 64 / n_rows);
    return std::clamp<std::int64_t>(ffn_dim / kSmallestChunk, 1, most);
}

std::int64_t chunk_begin(std::int64_t ffn_dim, std::int64_t chunks, std::int64_t chunk) {
    const std::int64_t grains = (ffn_dim + kNeuronGrain - 1) / kNeuronGrain;
    return std::min(ffn_dim, grains * chunk / chunks * kNeuronGrain);
}

// The rows' tokens follow each other: then the inputs lie as the kernels want them.
bool are_consecutive(const std::int32_t* tokens, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) {
        if (tokens[i] != tokens[0] + i) return false;
    }
    return true;
}

}  // namespace

void CpuOperations::experts(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                            float* out) {
    state_->few_rows(calls, inputs, row_token, out);
    state_->by_outputs(calls, inputs, row_token, out);
    state_->by_pairs(calls, inputs, row_token, out);
    for (const ExpertCall& call : calls) {
        if (call.n_rows == 0 || state_->are_few(call.n_rows) || state_->goes_by_outputs(call) ||
            state_->goes_by_pairs(call)) {
            continue;
        }
        state_->by_matrices(call, inputs, row_token, out);
    }
}

void CpuOperations::State::gather_inputs(const float* inputs, const std::int32_t* row_token) {
    const auto is_float = [&](const ExpertRows& expert) {
        const kernels::ExpertLayout& layout = expert.call->weights.layout;
        const std::int64_t n = expert.call->n_rows;
        if (!layout.down_rows_are_outputs) return !rounds_neurons(layout);
        return !rounds_inputs(layout.gate, n) || !rounds_inputs(layout.up, n);
    };
    std::int64_t n_gathered = 0;
    for (const ExpertRows& expert : few) {
        const ExpertCall& call = *expert.call;
        if (is_float(expert) && !are_consecutive(row_token + call.first_row, call.n_rows)) n_gathered += call.n_rows;
    }
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;  // the model's, the same for all
    float* place = room(gathered, n_gathered * hidden);
    for (ExpertRows& expert : few) {
        if (!is_float(expert)) continue;
        const ExpertCall& call = *expert.call;
        const std::int32_t* tokens = row_token + call.first_row;
        if (are_consecutive(tokens, call.n_rows)) {
            expert.inputs = inputs + tokens[0] * hidden;
            continue;
        }
        expert.inputs = place;
        for (std::int64_t r = 0; r < call.n_rows; ++r, place += hidden) {
            std::memcpy(place, inputs + tokens[r] * hidden, as_size(hidden) * sizeof(float));
        }
    }
}

void CpuOperations::State::few_rows(std::span<const ExpertCall> calls, const float* inputs,
                                    const std::int32_t* row_token, float* out) {
    few.clear();
    for (const ExpertCall& call : calls) {
        if (call.n_rows == 0 || !are_few(call.n_rows) || call.weights.layout.down_rows_are_outputs) continue;
        few.emplace_back().call = &call;
    }
    if (few.empty()) return;
    gather_inputs(inputs, row_token);
    if (form.byte_inputs) round_for_first_job(inputs, row_token);
    chunks.clear();
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;
    std::int64_t n_partials = 0;
    std::int64_t n_neurons = 0;
    for (ExpertRows& expert : few) {
        const std::int64_t ffn = expert.call->weights.layout.ffn_dim;
        expert.chunks = n_chunks(ffn, expert.call->n_rows);
        expert.first_value = n_partials;
        n_partials += expert.chunks * expert.call->n_rows;
        for (std::int64_t c = 0; c < expert.chunks; ++c) {
            chunks.push_back({&expert, c, n_neurons + chunk_begin(ffn, expert.chunks, c)});
        }
        n_neurons += ffn;
    }
    room(partials, n_partials * hidden);

    begin_counting();
    // Each thread takes a stretch of chunks that follow each other, so that memory is read in order.
    pool.run([&](int thread) {
        const auto at = [&](int t) {
            const std::int64_t neuron = n_neurons * t / pool.n_threads();
            return std::lower_bound(chunks.begin(), chunks.end(), neuron, [](const Chunk& chunk, std::int64_t n) {
                const std::int64_t ffn = chunk.expert->call->weights.layout.ffn_dim;
                return chunk.neurons_before + ffn / chunk.expert->chunks / 2 < n;
            });
        };
        for (auto chunk = at(thread), end = at(thread + 1); chunk != end; ++chunk) {
            const ExpertRows& expert = *chunk->expert;
            const ExpertCall& call = *expert.call;
            float* sums = partials.data() + (expert.first_value + chunk->index * call.n_rows) * hidden;
            std::memset(sums, 0, as_size(call.n_rows * hidden) * sizeof(float));
            const std::int64_t ffn = call.weights.layout.ffn_dim;
            const std::int64_t first = chunk_begin(ffn, expert.chunks, chunk->index);
            const std::int64_t last = chunk_begin(ffn, expert.chunks, chunk->index + 1);
            const auto n_rows = static_cast<int>(call.n_rows);
            const bool rounds = rounds_neurons(call.weights.layout);
            if (call.weights.layout.spec.theta > 0) {
                kernels::NeuronCounts& counts = thread_neurons[as_size(thread)];
                if (rounds) {
                    sparse_expert_ffn_bytes(call.weights, expert.gate_inputs.rounded, kOnes.data(), n_rows, first, last,
                                            sums, counts);
                } else {
                    sparse_expert_ffn(call.weights, expert.inputs, kOnes.data(), n_rows, first, last, sums, counts);
                }
            } else if (rounds) {
                expert_ffn_bytes(call.weights, expert.gate_inputs.rounded, kOnes.data(), n_rows, first, last, sums);
            } else {
                kernels.expert_ffn(call.weights, expert.inputs, kOnes.data(), n_rows, first, last, sums);
            }
        }
    });
    end_counting();
    add_partials(out, n_partials, hidden);
}

void CpuOperations::State::add_partials(float* out, std::int64_t n_partials, std::int64_t hidden) {
    const auto add_columns = [&](std::int64_t begin, std::int64_t end, int) {
        for (const ExpertRows& expert : few) {
            for (std::int64_t r = 0; r < expert.call->n_rows; ++r) {
                float* row = out + (expert.call->first_row + r) * hidden + begin;
                const float* sums = partials.data() + (expert.first_value + r) * hidden + begin;
                std::memcpy(row, sums, as_size(end - begin) * sizeof(float));
                for (std::int64_t c = 1; c < expert.chunks; ++c) {
                    kernels.axpy(1.0f, sums + c * expert.call->n_rows * hidden, end - begin, row);
                }
            }
        }
    };
    if (n_partials * hidden <= kSerialFloats) {
        add_columns(0, hidden, 0);
    } else {
        pool.parallel_for(hidden, 64, add_columns);
    }
}

void CpuOperations::State::by_matrices(const ExpertCall& call, const float* inputs, const std::int32_t* row_token,
                                       float* out) {
    const kernels::ExpertView& expert = call.weights;
    const std::int64_t hidden = expert.layout.hidden_dim;
    const std::int64_t ffn = expert.layout.ffn_dim;
    const std::int64_t n = call.n_rows;
    const std::int32_t* tokens = row_token + call.first_row;
    const float* x = inputs + tokens[0] * hidden;
    if (!are_consecutive(tokens, n)) {
        float* rows = room(batch_in, n * hidden);
        pool.parallel_for(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t r = begin; r < end; ++r) {
                std::memcpy(rows + r * hidden, inputs + tokens[r] * hidden, as_size(hidden) * sizeof(float));
            }
        });
        x = rows;
    }
    float* gate = room(batch_gate, n * ffn);
    float* up = room(batch_up, n * ffn);

    multiply(expert.gate(), x, n, gate);
    multiply(expert.up(), x, n, up);
    const kernels::ExpertBiases biases = expert.biases();
    const auto add_bias = [&](const float* bias, std::int64_t dim, float* rows) {
        if (bias == nullptr) return;
        pool.parallel_for(n, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t r = begin; r < end; ++r) kernels.axpy(1.0f, bias, dim, rows + r * dim);
        });
    };
    add_bias(biases.gate, ffn, gate);
    add_bias(biases.up, ffn, up);
    pool.parallel_for(n * ffn, kValueGrain, [&](std::int64_t begin, std::int64_t end, int) {
        kernels.activate(expert.layout.spec, gate + begin, up + begin, end - begin, gate + begin);
    });
    count_neurons(expert.layout.spec, gate, n * ffn, neurons);
    float* const outputs = out + call.first_row * hidden;
    if (expert.layout.down_rows_are_outputs) {
        multiply(expert.down(), gate, n, outputs);
    } else {
        gemm.multiply(form.many, kernels::GemmLayout::kRowsAreInputs, gate, ffn, n, expert.down(), outputs, hidden);
    }
    add_bias(biases.down, hidden, outputs);
}

}  // namespace offstage::engine
