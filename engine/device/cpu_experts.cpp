// Experts on the CPU: few rows by the one-pass kernel, in chunks of neurons; many rows
// matrix by matrix. cpu_experts_by_outputs.cpp has the experts in files' blocks,
// cpu_experts_by_rounded_rows.cpp those with rows rounded to bf16 or to bytes.

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kNeuronGrain = kernels::kRoundedNeurons;  // neurons that the one-pass kernels take together
constexpr std::int64_t kSmallestChunk = 64;                      // neurons
constexpr std::array<float, CpuOperations::kFewTokens> kOnes = {1, 1, 1, 1, 1, 1, 1, 1};

// Many chunks let any number of threads share the work evenly. Each chunk costs a sum per
// row, written and read once (in total less than 1 % of the weights' bytes for a real
// model).
std::int64_t n_chunks(std::int64_t ffn_dim, std::int64_t n_rows) {
    const std::int64_t most = std::max<std::int64_t>(16, 64 / n_rows);
    return std::clamp<std::int64_t>(ffn_dim / kSmallestChunk, 1, most);
}

// The first neuron of a chunk.
std::int64_t chunk_begin(std::int64_t ffn_dim, std::int64_t chunks, std::int64_t chunk) {
    const std::int64_t grains = (ffn_dim + kNeuronGrain - 1) / kNeuronGrain;
    return std::min(ffn_dim, grains * chunk / chunks * kNeuronGrain);
}

// The number of copied neurons before this place of the whole expert.
std::int64_t n_before(std::span<const std::int32_t> neurons, std::int64_t place) {
    return std::lower_bound(neurons.begin(), neurons.end(), place) - neurons.begin();
}

std::int64_t whole_ffn_dim(const ExpertCall& call) {
    return call.neurons.empty() ? call.weights.layout.ffn_dim : call.whole_ffn_dim;
}

// True if the rows' tokens follow each other: then the inputs already lie in the kernels'
// order.
bool are_consecutive(const std::int32_t* tokens, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) {
        if (tokens[i] != tokens[0] + i) return false;
    }
    return true;
}

}  // namespace

void compute(CpuOperations::State& state, const ops::Experts& op) {
    std::vector<kernels::CpuProduct>& products = state.products;
    products.clear();
    for (const ExpertCall& call : op.calls) products.push_back(state.product_of(call));
    state.few_rows(op.calls, op.inputs, op.row_token, op.out);
    state.by_outputs(op.calls, op.inputs, op.row_token, op.out);
    state.by_bf16_rows(kernels::CpuProduct::kExpertBf16Pairs, op.calls, op.inputs, op.row_token, op.out);
    state.by_bf16_rows(kernels::CpuProduct::kExpertBf16Widened, op.calls, op.inputs, op.row_token, op.out);
    state.by_bytes(op.calls, op.inputs, op.row_token, op.out);
    for (std::size_t i = 0; i < op.calls.size(); ++i) {
        if (op.calls[i].n_rows == 0 || products[i] != kernels::CpuProduct::kExpertByMatrices) continue;
        state.by_matrices(op.calls[i], op.inputs, op.row_token, op.out);
    }
}

void compute(CpuOperations::State& state, const ops::ChosenExperts& op) {
    for (std::int64_t r = 0; r < op.n; ++r) {
        const std::byte* const block = op.blocks[op.chosen[r]];
        const ExpertCall call{{block, op.layout}, r, 1};
        if (block != nullptr) compute(state, ops::Experts{{&call, 1}, op.inputs, op.row_token, op.out});
    }
}

void compute(CpuOperations::State& state, const ops::GroupedExperts& op) {
    std::vector<ExpertCall> calls;
    std::int64_t row = 0;
    for (std::int64_t expert = 0; expert < op.n_experts; ++expert) {
        const std::int64_t first = row;
        for (std::int64_t pair = 0; pair < op.n_pairs(); ++pair) {
            if (op.chosen[pair] != expert) continue;
            op.row_token[row] = static_cast<std::int32_t>(pair / op.n_active);
            op.row_of[pair] = static_cast<std::int32_t>(row++);
        }
        if (row > first) calls.push_back({{op.blocks[expert], op.layout}, first, row - first});
    }
    compute(state, ops::Experts{calls, op.inputs, op.row_token, op.out});
}

kernels::CpuProduct CpuOperations::State::product_of(const kernels::ExpertLayout& layout, std::int64_t n,
                                                     bool all_neurons) const {
    namespace needs = kernels::product_needs;
    const auto rounds = [&](kernels::WeightType type) { return rounds_inputs(type, n); };
    const bool bytes = layout.down_rows_are_outputs ? rounds(layout.gate) && rounds(layout.up) && rounds(layout.down)
                                                    : kernels::takes_byte_inputs(layout) && rounds(layout.gate);
    const bool pairs =
        expert_ffn_bf16 != nullptr && form.many == kernels::GemmMode::kBf16 && kernels::takes_bf16_rows(layout);
    const bool widened =
        expert_ffn_widened != nullptr && form.many == kernels::GemmMode::kF32 && kernels::takes_bf16_rows(layout);
    kernels::ProductCase product{kernels::ProductOf::kExperts, kernels::weights_of(layout.gate)};
    product.inputs = bytes ? kernels::ProductInputs::kBytes : kernels::ProductInputs::kFloat;
    product.rows = counted(n);
    product.facts = (layout.down_rows_are_outputs ? needs::kByOutputs : 0) | (pairs ? needs::kBf16Pairs : 0) |
                    (widened ? needs::kBf16Widened : 0) | (layout.spec.theta > 0 ? needs::kTheta : needs::kNoTheta) |
                    (all_neurons ? needs::kAllNeurons : 0);
    return find_cpu_product(product);
}

void CpuOperations::State::gather_inputs(const float* inputs, const std::int32_t* row_token) {
    const auto is_float = [&](const ExpertRows& expert) {
        const kernels::ExpertLayout& layout = expert.call->weights.layout;
        const std::int64_t n = expert.call->n_rows;
        return expert.product == kernels::CpuProduct::kExpert || expert.product == kernels::CpuProduct::kSparseExpert ||
               !rounds_inputs(layout.gate, n) || !rounds_inputs(layout.up, n);
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

void CpuOperations::State::few_rows(kernels::Span<ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                                    float* out) {
    few.clear();
    for (std::size_t i = 0; i < calls.size(); ++i) {
        switch (products[i]) {
            case kernels::CpuProduct::kQuantizedSparseExpert:
            case kernels::CpuProduct::kQuantizedExpert:
            case kernels::CpuProduct::kSparseExpert:
            case kernels::CpuProduct::kExpert:
                if (calls[i].n_rows > 0) add_few(calls[i], products[i]);
                break;
            default:
                break;
        }
    }
    if (few.empty()) return;
    gather_inputs(inputs, row_token);
    if (form.byte_inputs) round_for_first_job(inputs, row_token);
    chunks.clear();
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;
    std::int64_t n_partials = 0;
    for (ExpertRows& expert : few) {
        const ExpertCall& call = *expert.call;
        expert.chunks = n_chunks(whole_ffn_dim(call), rows_at_once(call.n_rows));
        expert.first_value = n_partials;
        n_partials += expert.chunks * call.n_rows;
        for (std::int64_t c = 0; c < expert.chunks; ++c) chunks.push_back({&expert, c});
    }
    room(partials, n_partials * hidden);
    if (form.byte_inputs) reserve_thread_scratch(kernels::byte_expert_scratch(hidden, kFewTokens));

    begin_counting();
    // Memory seldom serves two threads equally: a finished thread takes pieces of the
    // others.
    pool.parallel_dynamic(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t i, int thread) {
        const auto& [rows, index] = chunks[as_size(i)];
        const ExpertRows& expert = *rows;
        const ExpertCall& call = *expert.call;
        float* sums = partials.data() + (expert.first_value + index * call.n_rows) * hidden;
        std::memset(sums, 0, as_size(call.n_rows * hidden) * sizeof(float));
        const std::int64_t ffn = whole_ffn_dim(call);
        const std::int64_t first = chunk_begin(ffn, expert.chunks, index);
        const std::int64_t last = chunk_begin(ffn, expert.chunks, index + 1);
        if (call.neurons.empty()) {
            run_neurons(expert, first, last, sums, thread, thread_neurons[as_size(thread)]);
        } else {
            run_some_neurons(expert, first, last, sums, thread);
        }
    });
    end_counting();
    add_partials(out, n_partials, hidden);
}

// sums += what neurons [begin, end) of the block add.
void CpuOperations::State::run_neurons(const ExpertRows& expert, std::int64_t begin, std::int64_t end, float* sums,
                                       int thread, kernels::NeuronCounts& counts) {
    const kernels::ExpertView& weights = expert.call->weights;
    const std::int64_t hidden = weights.layout.hidden_dim;
    const auto n_rows = static_cast<int>(rows_at_once(expert.call->n_rows));
    for (std::int64_t row = 0; row < expert.call->n_rows; row += n_rows, sums += n_rows * hidden) {
        switch (expert.product) {
            case kernels::CpuProduct::kQuantizedSparseExpert:
                sparse_expert_ffn_bytes(weights, expert.gate_inputs.rounded + row, kOnes.data(), n_rows, begin, end,
                                        sums, counts);
                break;
            case kernels::CpuProduct::kQuantizedExpert:
                expert_ffn_bytes(weights, expert.gate_inputs.rounded + row, kOnes.data(), n_rows, begin, end, sums,
                                 scratch_of(thread));
                break;
            case kernels::CpuProduct::kSparseExpert:
                sparse_expert_ffn(weights, expert.inputs + row * hidden, kOnes.data(), n_rows, begin, end, sums,
                                  counts);
                break;
            default:
                kernels.expert_ffn(weights, expert.inputs + row * hidden, kOnes.data(), n_rows, begin, end, sums);
        }
    }
}

// The same for places [begin, end) of the whole expert, of which only some neurons are
// present. The kernels' grouping depends on places: so that no bit changes, each call
// gets the neurons of one such stretch.
void CpuOperations::State::run_some_neurons(const ExpertRows& expert, std::int64_t begin, std::int64_t end, float* sums,
                                            int thread) {
    const ExpertCall& call = *expert.call;
    const bool by_places = rows_at_once(call.n_rows) > 1 && expert.product != kernels::CpuProduct::kExpert &&
                           expert.product != kernels::CpuProduct::kSparseExpert;
    const std::int64_t stretch = by_places ? kernels::kRoundedNeurons : kernels::kChosenTogether;
    kernels::NeuronCounts counted_by_who_chose;
    for (std::int64_t place = begin; place < end; place += stretch) {
        const std::int64_t first = n_before(call.neurons, place);
        const std::int64_t last = n_before(call.neurons, std::min(place + stretch, end));
        if (first < last) run_neurons(expert, first, last, sums, thread, counted_by_who_chose);
    }
}

bool CpuOperations::chooses_neurons(const kernels::ExpertLayout& layout, std::int64_t n_rows) const {
    const kernels::CpuProduct product = state_->product_of(layout, n_rows, true);
    return n_rows > 0 &&
           (product == kernels::CpuProduct::kSparseExpert || product == kernels::CpuProduct::kQuantizedSparseExpert);
}

void CpuOperations::choose_neurons(const ExpertCall& call, const float* inputs, const std::int32_t* row_token,
                                   std::vector<std::int32_t>& chosen, kernels::NeuronCounts& counts) {
    State& state = *state_;
    assert(chooses_neurons(call.weights.layout, call.n_rows));
    state.few.clear();
    state.add_few(call, state.product_of(call));
    state.gather_inputs(inputs, row_token);
    if (state.form.byte_inputs) state.round_for_first_job(inputs, row_token);
    const State::ExpertRows& expert = state.few.front();
    const std::int64_t ffn = call.weights.layout.ffn_dim;
    const std::int64_t n_pieces = n_chunks(ffn, call.n_rows);
    const auto n_rows = static_cast<int>(call.n_rows);
    const bool rounds = expert.product == kernels::CpuProduct::kQuantizedSparseExpert;
    chosen.resize(as_size(ffn));
    state.n_chosen.assign(as_size(n_pieces), 0);
    state.begin_counting();
    state.pool.parallel_for(n_pieces, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
        std::uint64_t& active = state.thread_neurons[as_size(thread)].active;
        for (std::int64_t piece = begin; piece < end; ++piece) {
            const std::int64_t first = chunk_begin(ffn, n_pieces, piece);
            const std::int64_t last = chunk_begin(ffn, n_pieces, piece + 1);
            std::int32_t* const list = chosen.data() + first;
            state.n_chosen[as_size(piece)] =
                rounds ? state.chosen_neurons_bytes(call.weights, expert.gate_inputs.rounded, n_rows, first, last, list,
                                                    active)
                       : state.chosen_neurons(call.weights, expert.inputs, n_rows, first, last, list, active);
        }
    });
    counts.neurons += static_cast<std::uint64_t>(ffn * call.n_rows);
    for (const kernels::NeuronCounts& of_thread : state.thread_neurons) counts.active += of_thread.active;
    auto to = chosen.begin();
    for (std::int64_t piece = 0; piece < n_pieces; ++piece) {
        const auto from = chosen.begin() + chunk_begin(ffn, n_pieces, piece);
        to = std::copy(from, from + state.n_chosen[as_size(piece)], to);
    }
    chosen.erase(to, chosen.end());
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
    const bool has_gate = expert.layout.spec.has_gate();
    float* gate = room(batch_gate, n * ffn);
    float* up = has_gate ? room(batch_up, n * ffn) : gate;

    if (has_gate) multiply(expert.gate(), x, n, gate);
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
