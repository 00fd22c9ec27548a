// Experts whose matrices are multiplied one by one, in a job with those of others: all
// experts of few rows whose w2 lies by outputs, and those of many rows if all their
// inputs are rounded. Two jobs for all experts.

#include <algorithm>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kJobFloats = 1 << 20;  // gates, and ups: experts computed together stay in a cache

// n pairs (gate, up) apart: the second ones into the first half of their place.
void take_apart(std::int64_t n, float* pairs, float* gate) {
    for (std::int64_t i = 0; i < n; ++i) {
        gate[i] = pairs[2 * i];
        pairs[i] = pairs[2 * i + 1];
    }
}

}  // namespace

// Each token is rounded once for all experts with matrices of one type.
void CpuOperations::State::round_for_first_job(const float* inputs, const std::int32_t* row_token) {
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;
    const std::int64_t bytes = kernels::rounded_input_bytes(hidden);
    std::int64_t n_rows = 0;
    std::int32_t n_tokens = 0;
    for (const ExpertRows& expert : few) {
        const std::int32_t* tokens = row_token + expert.call->first_row;
        n_rows += expert.call->n_rows;
        for (std::int64_t r = 0; r < expert.call->n_rows; ++r) n_tokens = std::max(n_tokens, tokens[r] + 1);
    }
    roundings.clear();
    std::byte* const to = room_at_line(rounded, form.byte_inputs ? 2 * n_rows * bytes : 0);
    room(rounded_rows, form.byte_inputs ? 2 * n_rows : 0);
    std::int64_t n_used = 0;  // used part of rounded_rows
    kernels::WeightType last_type = {};
    places.clear();
    const auto rounded_for = [&](const ExpertRows& expert, kernels::WeightType type) -> Inputs {
        const std::int64_t n = expert.call->n_rows;
        const kernels::CpuProduct product = product_of(type, n);
        if (!rounds_inputs(type, n)) return {expert.inputs, hidden, n, nullptr, product};
        if (places.empty() || last_type != type) {
            places.assign(as_size(n_tokens), -1);
            last_type = type;
        }
        const std::byte** const rows = rounded_rows.data() + n_used;
        n_used += n;
        for (std::int64_t r = 0; r < n; ++r) {
            const std::int32_t token = row_token[expert.call->first_row + r];
            std::int32_t& place = places[as_size(token)];
            if (place < 0) {
                place = static_cast<std::int32_t>(roundings.size());
                roundings.push_back({type, hidden, inputs + token * hidden, to + place * bytes});
            }
            rows[r] = to + place * bytes;
        }
        return {expert.inputs, hidden, n, rows, product};
    };
    for (ExpertRows& expert : few) expert.gate_inputs = rounded_for(expert, expert.call->weights.layout.gate);
    for (ExpertRows& expert : few) expert.up_inputs = rounded_for(expert, expert.call->weights.layout.up);
    round_all();
    if (!roundings.empty()) reserve_scratch(hidden);
}

void CpuOperations::State::round_for_second_job(const float* activations) {
    std::int64_t n_rows = 0;
    std::int64_t n_bytes = 0;
    std::int64_t longest = 0;
    for (const ExpertRows& expert : few) {
        const kernels::ExpertLayout& layout = expert.call->weights.layout;
        if (!rounds_inputs(layout.down, expert.call->n_rows)) continue;
        n_rows += expert.call->n_rows;
        n_bytes += expert.call->n_rows * kernels::rounded_input_bytes(layout.ffn_dim);
        longest = std::max(longest, layout.ffn_dim);
    }
    std::byte* to = room_at_line(rounded, n_bytes);
    const std::byte** rows = room(rounded_rows, n_rows);
    roundings.clear();
    for (ExpertRows& expert : few) {
        const kernels::ExpertLayout& layout = expert.call->weights.layout;
        const std::int64_t ffn = layout.ffn_dim;
        const float* values = activations + expert.first_value;
        expert.down_inputs = {values, ffn, expert.call->n_rows, nullptr, product_of(layout.down, expert.call->n_rows)};
        if (!rounds_inputs(layout.down, expert.call->n_rows)) continue;
        expert.down_inputs.rounded = rows;
        for (std::int64_t r = 0; r < expert.call->n_rows; ++r, values += ffn) {
            roundings.push_back({layout.down, ffn, values, to});
            *rows++ = to;
            to += kernels::rounded_input_bytes(ffn);
        }
    }
    round_all();
    if (!roundings.empty()) reserve_scratch(longest);
}

void CpuOperations::State::by_outputs(kernels::Span<ExpertCall> calls, const float* inputs,
                                      const std::int32_t* row_token, float* out) {
    few.clear();
    std::int64_t n_values = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const ExpertCall& call = calls[i];
        if (call.n_rows == 0 || products[i] != kernels::CpuProduct::kExpertsByOutputs) continue;
        if (n_values > kJobFloats) {
            run_by_outputs(inputs, row_token, out);
            few.clear();
            n_values = 0;
        }
        ExpertRows& expert = add_few(call, products[i]);
        expert.first_value = n_values;
        n_values += call.n_rows * call.weights.layout.ffn_dim;
    }
    if (!few.empty()) run_by_outputs(inputs, row_token, out);
}

// All experts at once, in two jobs: the activations, neuron by neuron, and then the
// outputs. So threads wait for each other twice, not for every matrix.
void CpuOperations::State::run_by_outputs(const float* inputs, const std::int32_t* row_token, float* out) {
    pieces.clear();
    const auto split = [&](const ExpertRows& expert, std::int64_t n_rows, std::int64_t piece) {
        for (std::int64_t row = 0; row < n_rows; row += piece) {
            pieces.push_back({&expert, row, std::min(row + piece, n_rows)});
        }
    };
    // Gate and up rows, which may be interleaved with each other: an even number of
    // strips in any case.
    for (const ExpertRows& expert : few) {
        const kernels::ExpertView& weights = expert.call->weights;
        split(expert, weights.layout.ffn_dim,
              weights.layout.spec.has_gate() ? kPieceRows : piece_rows(weights.gate_and_up()));
    }
    const ExpertRows& last = few.back();
    const std::int64_t n_values = last.first_value + last.call->n_rows * last.call->weights.layout.ffn_dim;
    float* const gates = room(batch_gate, n_values);
    float* const ups = room(batch_up, 2 * n_values);
    gather_inputs(inputs, row_token);
    round_for_first_job(inputs, row_token);
    begin_counting();
    pool.parallel_dynamic(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i, int thread) {
        const auto& [expert, begin, end] = pieces[as_size(i)];
        const kernels::ExpertView& weights = expert->call->weights;
        const std::int64_t ffn = weights.layout.ffn_dim;
        const std::int64_t n = expert->call->n_rows;
        const bool has_gate = weights.layout.spec.has_gate();
        const bool together =
            has_gate && expert->gate_inputs.rounded != nullptr && weights.layout.gate == weights.layout.up;
        float* gate = gates + expert->first_value;
        float* up = has_gate ? ups + (together ? 2 : 1) * expert->first_value : gate;
        if (!has_gate) {
            multiply_rows(weights.gate_and_up(), expert->gate_inputs, begin, end, gate, ffn, thread);
        } else if (together) {
            multiply_rows(weights.gate_and_up(), expert->gate_inputs, 2 * begin, 2 * end, up, 2 * ffn, thread);
        } else {
            multiply_rows(weights.gate(), expert->gate_inputs, begin, end, gate, ffn, thread);
            multiply_rows(weights.up(), expert->up_inputs, begin, end, up, ffn, thread);
        }
        const kernels::ExpertBiases biases = weights.biases();
        gate += begin;
        up += (together ? 2 : 1) * begin;
        for (std::int64_t t = 0; t < n; ++t, gate += ffn, up += (together ? 2 : 1) * ffn) {
            if (together) take_apart(end - begin, up, gate);
            if (biases.gate != nullptr) kernels.axpy(1.0f, biases.gate + begin, end - begin, gate);
            if (biases.up != nullptr) kernels.axpy(1.0f, biases.up + begin, end - begin, up);
            kernels.activate(weights.layout.spec, gate, up, end - begin, gate);
            count_neurons(weights.layout.spec, gate, end - begin, thread_neurons[as_size(thread)]);
        }
    });
    end_counting();
    round_for_second_job(gates);
    pieces.clear();
    for (const ExpertRows& expert : few) {
        split(expert, expert.call->weights.layout.hidden_dim, piece_rows(expert.call->weights.down()));
    }
    pool.parallel_dynamic(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i, int thread) {
        const auto& [expert, begin, end] = pieces[as_size(i)];
        const kernels::ExpertView& weights = expert->call->weights;
        const std::int64_t hidden = weights.layout.hidden_dim;
        float* to = out + expert->call->first_row * hidden;
        multiply_rows(weights.down(), expert->down_inputs, begin, end, to, hidden, thread);
        const float* const bias = weights.biases().down;
        for (std::int64_t t = 0; bias != nullptr && t < expert->call->n_rows; ++t, to += hidden) {
            kernels.axpy(1.0f, bias + begin, end - begin, to + begin);
        }
    });
}

}  // namespace offstage::engine
