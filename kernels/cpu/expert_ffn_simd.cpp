// expert_ffn over Vector.

#include <algorithm>
#include <cassert>

#include "kernels/cpu/activation_simd.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/packed_simd.h"
#include "kernels/cpu/rows_in_order.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels {
namespace {

// Turns the sums of neurons into activations, from the first of a range on.
struct Gating {
    const ExpertSpec& spec;
    const float* gate_bias = nullptr;
    const float* up_bias = nullptr;

    Gating from(std::int64_t j) const {
        return gate_bias == nullptr ? *this : Gating{spec, gate_bias + j, up_bias + j};
    }
};

// Neurons taken together: their w2 columns share one pass over the outputs, which for
// several tokens costs more than the weights themselves. For one or two tokens the order
// of reading memory decides: found by measuring.
template <typename Rows>
constexpr int neurons_at_once(int n_tokens) {
    if (n_tokens == 1 && !Rows::kPacked) return kRegisters >= 32 ? 8 : 4;
    if (n_tokens <= 2) return 2;
    return Rows::kPacked ? kPackedNeuronsAtOnce : 8;
}

// The number of these neurons that share one pass over the inputs, as far as registers
// allow: w1 and w3 of one, two or, for one token, four neurons, or one row.
template <typename Rows>
constexpr int rows_at_once(int n_tokens) {
    if (Rows::kPacked) return kPackedRowsAtOnce;
    const auto fits = [&](int n_rows) { return n_rows * n_tokens + n_rows + 1 <= kRegisters; };
    return n_tokens == 1 && fits(8) ? 8 : fits(4) ? 4 : fits(2) ? 2 : 1;
}

// out[t] += sum_j activations[j * kTokens + t] * columns[j], each n long. Prefetches
// ahead_bytes beyond the columns.
template <int kNeurons, int kTokens, typename Weight>
__attribute__((always_inline)) inline void add_columns(const Weight* const (&columns)[kNeurons],
                                                       const float (&activations)[kNeurons * kTokens], std::int64_t n,
                                                       std::int64_t ahead_bytes, float* out) {
    const std::int64_t ahead = ahead_bytes / static_cast<std::int64_t>(sizeof(Weight));
    add_plain_columns<kNeurons, kTokens>(
        columns, activations, n, [&](int j) __attribute__((always_inline)) { return columns[j] + ahead; }, out);
}

// `weights` begins with the first neuron's w1: a neuron is three rows.
template <int kNeurons, int kTokens, typename Rows>
__attribute__((always_inline)) inline void run_neurons(Rows weights, const Gating& gating, std::int64_t n,
                                                       const float* x, const float* scale, float* out) {
    using Row = typename Rows::Row;
    constexpr int kRows = std::min(rows_at_once<Rows>(kTokens), 2 * kNeurons);
    constexpr int kActivations = (kNeurons * kTokens + kLanes - 1) / kLanes * kLanes;
    float gates[kActivations] = {};
    float ups[kActivations] = {};
    for (int row = 0; row < 2 * kNeurons; row += kRows) {  // w1 of neuron 0, w3 of neuron 0, w1 of neuron 1, ...
        Row rows[kRows];
        Row ahead[kRows];
        for (int r = 0; r < kRows; ++r) {
            const int index = (row + r) / 2 * 3 + (row + r) % 2;
            rows[r] = weights[index];
            ahead[r] = weights[index + kNeurons * 3];  // the same place in the next neurons
        }
        float sums[kRows][kTokens];
        dot_products<kRows, kTokens>(rows, ahead, x, n, n, sums);
        for (int r = 0; r < kRows; ++r) {
            float* to = ((row + r) % 2 == 0 ? gates : ups) + (row + r) / 2 * kTokens;
            for (int t = 0; t < kTokens; ++t) to[t] = sums[r][t];
        }
    }
    for (int j = 0; gating.gate_bias != nullptr && j < kNeurons; ++j) {
        for (int t = 0; t < kTokens; ++t) {
            gates[j * kTokens + t] += gating.gate_bias[j];
            ups[j * kTokens + t] += gating.up_bias[j];
        }
    }
    for (int i = 0; i < kActivations; i += kLanes) {
        store(gates + i, activation(gating.spec, load(gates + i), load(ups + i)));
    }
    float activations[kNeurons * kTokens];
    Row columns[kNeurons];
    for (int j = 0; j < kNeurons; ++j) {
        columns[j] = weights[3 * j + 2];
        for (int t = 0; t < kTokens; ++t) activations[j * kTokens + t] = scale[t] * gates[j * kTokens + t];
    }
    add_columns<kNeurons, kTokens>(columns, activations, n, 3 * kNeurons * weights.row_bytes(n), out);
}

// How far ahead of the multiply-adds weights are prefetched when one token streams
// through an expert; found by measuring.
constexpr std::int64_t kAheadBytes = 24 * 1024;

__attribute__((always_inline)) inline float activation_of(const Gating& gating, std::int64_t j, float gate, float up,
                                                          float scale) {
    if (gating.gate_bias != nullptr) {
        gate += gating.gate_bias[j];
        up += gating.up_bias[j];
    }
    float lanes[kLanes];
    if (gating.spec.activation == Activation::kSilu) {
        store(lanes, silu(broadcast(gate)));
        return scale * lanes[0] * up;
    }
    store(lanes, activation(gating.spec, broadcast(gate), broadcast(up)));
    return scale * lanes[0];
}

// One token of packed weights. A neuron's w2 is added while the next neuron's w1 and w3
// are multiplied: memory delivers without a break while the sum over lanes and the
// exponential are computed.
template <typename Rows>
void stream_one_token(Rows weights, const Gating& gating, std::int64_t n, std::int64_t n_neurons, const float* x,
                      float scale, float* out) {
    if (n_neurons <= 0) return;
    using Row = typename Rows::Row;
    const std::int64_t neuron_bytes = 3 * weights.row_bytes(n);
    const std::int64_t ahead_bytes = (kAheadBytes + neuron_bytes - 1) / neuron_bytes * neuron_bytes;
    const Row first_rows[2] = {weights[0], weights[1]};
    float first_sums[2][1];
    dot_products<2, 1>(first_rows, first_rows, x, n, n, first_sums);
    float weight = activation_of(gating, 0, first_sums[0][0], first_sums[1][0], scale);
    for (std::int64_t j = 1; j < n_neurons; ++j) {
        float gate = 0;
        float up = 0;
        stream_neuron(weights[3 * j], weights[3 * j + 1], weights[3 * j - 1], weight, n, ahead_bytes, x, out, gate, up);
        weight = activation_of(gating, j, gate, up, scale);
    }
    const Row last_column[1] = {weights[3 * n_neurons - 1]};
    const float last_activation[1] = {weight};
    add_columns<1, 1>(last_column, last_activation, n, neuron_bytes, out);
}

// One token of plain weights, with the same bits as run_neurons(). One row is read after
// the other, and a neuron's w2 comes between the next neuron's w1 and w3: memory delivers
// without a break while the activation is computed.
template <typename Rows>
void run_in_order(Rows weights, const Gating& gating, std::int64_t n, std::int64_t n_neurons, const float* x,
                  float scale, float* out) {
    if (n_neurons <= 0) return;
    constexpr int kSums = accumulators_per_pair(rows_at_once<Rows>(1));
    float factor = 0;
    for (std::int64_t j = 0; j < n_neurons; ++j) {
        float gate = dot_in_order<kSums>(weights[3 * j], x, n);
        if (j > 0) add_in_order(weights[3 * j - 1], factor, n, out);
        float up = dot_in_order<kSums>(weights[3 * j + 1], x, n);
        if (gating.gate_bias != nullptr) {
            gate += gating.gate_bias[j];
            up += gating.up_bias[j];
        }
        float lanes[kLanes];
        store(lanes, activation(gating.spec, broadcast(gate), broadcast(up)));
        factor = scale * lanes[0];
    }
    add_in_order(weights[3 * n_neurons - 1], factor, n, out);
}

// The same bits for an even number of neurons: w1 and w3 of two beside w2 of the two before.
template <typename Rows>
void run_side_by_side(Rows weights, const Gating& gating, std::int64_t n, std::int64_t n_neurons, const float* x,
                      float scale, float* out) {
    using Row = typename Rows::Row;
    constexpr int kTogether = 2;
    constexpr int kSums = accumulators_per_pair(rows_at_once<Rows>(1));
    if (n_neurons <= 0) return;
    Row columns[kTogether];
    float factors[kTogether];
    for (std::int64_t j = 0; j < n_neurons; j += kTogether, weights = weights.from(3 * kTogether)) {
        const Row rows[2 * kTogether] = {weights[0], weights[3], weights[1], weights[4]};
        float sums[2 * kTogether];
        if (j == 0) {
            multiply_side_by_side<kSums, 2 * kTogether, 0, true>(rows, x, n, sums);
        } else {
            multiply_side_by_side<kSums, 2 * kTogether, kTogether, true>(rows, x, n, sums, columns, factors, out);
        }
        const Gating here = gating.from(j);
        float gates[kLanes] = {};
        float ups[kLanes] = {};
        for (int k = 0; k < kTogether; ++k) {
            gates[k] = sums[k];
            ups[k] = sums[kTogether + k];
            if (here.gate_bias != nullptr) {
                gates[k] += here.gate_bias[k];
                ups[k] += here.up_bias[k];
            }
        }
        store(gates, activation(gating.spec, load(gates), load(ups)));
        for (int k = 0; k < kTogether; ++k) {
            columns[k] = weights[3 * k + 2];
            factors[k] = scale * gates[k];
        }
    }
    for (int k = 0; k < kTogether; ++k) add_in_order(columns[k], factors[k], n, out);
}

// One token, row after row as they lie: each fetches the next one.
template <typename Rows>
void run_one_token(Rows weights, const Gating& gating, std::int64_t n, std::int64_t n_neurons, const float* x,
                   float scale, float* out) {
    using Row = typename Rows::Row;
    for (std::int64_t j = 0; j < n_neurons; ++j, weights = weights.from(3)) {
        float sums[2];  // w1 and w3
        for (int r = 0; r < 2; ++r) {
            const Row row[1] = {weights[r]};
            const Row next[1] = {weights[r + 1]};
            float sum[1][1];
            dot_products<1, 1>(row, next, x, n, n, sum);
            sums[r] = sum[0][0];
        }
        const Row column[1] = {weights[2]};
        const float factor[1] = {activation_of(gating, j, sums[0], sums[1], scale)};
        add_columns<1, 1>(column, factor, n, weights.row_bytes(n), out);
    }
}

// Calls body(std::integral_constant<int, n_tokens>(), rows). Rows that are unpacked for
// several tokens are of one type then.
template <typename Rows, typename Body>
void for_tokens(Rows rows, int n_tokens, const Body& body) {
    if constexpr (Rows::kPacked && !std::is_same_v<Rows, DecodedRows>) {
        if (n_tokens == 1) return body(std::integral_constant<int, 1>(), rows);
        return for_tokens(decoded(rows), n_tokens, body);
    } else {
        [&]<int... kTokens>(std::integer_sequence<int, kTokens...> /*tokens*/) {
            static_cast<void>(
                ((n_tokens == kTokens + 1 && (body(std::integral_constant<int, kTokens + 1>(), rows), true)) || ...));
        }
        (std::make_integer_sequence<int, 8>{});
    }
}

template <int kTokens, typename Rows>
void run_expert(Rows weights, const Gating& gating, std::int64_t n, const float* x, const float* scale,
                std::int64_t n_neurons, float* out) {
    constexpr int kNeurons = neurons_at_once<Rows>(kTokens);
    if constexpr (kTokens == 1) {
        if constexpr (Rows::kPacked) {
            stream_one_token(weights, gating, n, n_neurons, x, scale[0], out);
            return;
        } else if (cpu_features().rows_in_turn) {
            run_one_token(weights, gating, n, n_neurons, x, scale[0], out);
            return;
        }
    }
    std::int64_t j = 0;
    if constexpr (kTokens == 1 && !Rows::kPacked) {
        j = n_neurons / kNeurons * kNeurons;  // the others use another order of summing
        if constexpr (kRegisters < 32) {
            run_side_by_side(weights, gating, n, j, x, scale[0], out);
        } else {
            run_in_order(weights, gating, n, j, x, scale[0], out);
        }
    } else {
        for (; j + kNeurons <= n_neurons; j += kNeurons) {
            run_neurons<kNeurons, kTokens>(weights.from(3 * j), gating.from(j), n, x, scale, out);
        }
    }
    for (; j < n_neurons; ++j) run_neurons<1, kTokens>(weights.from(3 * j), gating.from(j), n, x, scale, out);
}

template <typename Rows>
void run_expert_tokens(Rows weights, const Gating& gating, std::int64_t n, const float* x, const float* scale,
                       int n_tokens, std::int64_t n_neurons, float* out) {
    for_tokens(weights, n_tokens, [&](auto number, auto rows) {
        run_expert<decltype(number)::value>(rows, gating, n, x, scale, n_neurons, out);
    });
}

// One matrix at a time: out[t] += sum_j activations[t * stride + j] * column j.
template <int kTokens, typename Rows>
void add_neurons(Rows columns, const float* activations, std::int64_t stride, std::int64_t n, std::int64_t n_neurons,
                 std::int64_t neuron_bytes, float* out) {
    const auto add = [&](auto count, std::int64_t first) __attribute__((always_inline)) {
        constexpr int kNeurons = decltype(count)::value;
        typename Rows::Row rows[kNeurons];
        float factors[kNeurons * kTokens];
        for (int j = 0; j < kNeurons; ++j) {
            rows[j] = columns[first + j];
            for (int t = 0; t < kTokens; ++t) factors[j * kTokens + t] = activations[t * stride + first + j];
        }
        add_columns<kNeurons, kTokens>(rows, factors, n, kNeurons * neuron_bytes, out);
    };
    constexpr int kTogether = neurons_at_once<Rows>(kTokens);
    std::int64_t j = 0;
    for (; j + kTogether <= n_neurons; j += kTogether) add(std::integral_constant<int, kTogether>(), j);
    for (; j < n_neurons; ++j) add(std::integral_constant<int, 1>(), j);
}

// A few neurons after the other, one matrix at a time: matrices of several formats, or
// two of one. The activations include scale.
void run_mixed_expert(const ExpertView& expert, const CpuKernels& kernels, const float* x, const float* scale,
                      int n_tokens, std::int64_t neuron_begin, std::int64_t neuron_end, float* out) {
    constexpr std::int64_t kNeurons = 16;
    const std::int64_t n = expert.layout.hidden_dim;
    const ExpertBiases biases = expert.biases();
    const bool has_gate = expert.layout.spec.has_gate();
    WeightView gate_rows = expert.gate();
    WeightView up_rows = expert.up();
    const WeightView down = expert.down();
    float ups[8 * kNeurons];
    float own_gates[8 * kNeurons];
    float* const gates = has_gate ? own_gates : ups;
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kNeurons) {
        const std::int64_t count = std::min(kNeurons, neuron_end - first);
        gate_rows.data = expert.gate().row(first);
        up_rows.data = expert.up().row(first);
        if (has_gate) kernels.matvec_multi(gate_rows, x, n, n_tokens, 0, count, gates, kNeurons);
        kernels.matvec_multi(up_rows, x, n, n_tokens, 0, count, ups, kNeurons);
        for (int t = 0; t < n_tokens; ++t) {
            float* const gate = gates + t * kNeurons;
            float* const up = ups + t * kNeurons;
            for (std::int64_t j = 0; biases.gate != nullptr && j < count; ++j) {
                gate[j] += biases.gate[first + j];
                up[j] += biases.up[first + j];
            }
            kernels.activate(expert.layout.spec, gate, up, count, gate);
            for (std::int64_t j = 0; j < count; ++j) gate[j] *= scale[t];
        }
        with_rows(down.row(first), down.type, n, down.stride_bytes(), [&](auto columns) {
            const auto neuron_bytes = static_cast<std::int64_t>(down.stride_bytes());
            for_tokens(columns, n_tokens, [&](auto number, auto of_tokens) {
                add_neurons<decltype(number)::value>(of_tokens, gates, kNeurons, n, count, neuron_bytes, out);
            });
        });
    }
}

void run_expert_any(const ExpertView& expert, const CpuKernels& kernels, const float* x, const float* scale,
                    int n_tokens, std::int64_t neuron_begin, std::int64_t neuron_end, float* out) {
    const ExpertLayout& layout = expert.layout;
    assert(layout.spec.theta == 0);
    const std::int64_t n = layout.hidden_dim;
    const ExpertBiases biases = expert.biases();
    for (int t = 0; biases.down != nullptr && neuron_begin == 0 && t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; ++i) out[t * n + i] += scale[t] * biases.down[i];
    }
    if (!layout.is_uniform() || !layout.spec.has_gate()) {
        run_mixed_expert(expert, kernels, x, scale, n_tokens, neuron_begin, neuron_end, out);
        return;
    }
    const Gating gating = Gating{layout.spec, biases.gate, biases.up}.from(neuron_begin);
    with_rows(expert.data, layout.gate, n, row_bytes(layout.gate, n), [&](auto rows) {
        run_expert_tokens(rows.from(3 * neuron_begin), gating, n, x, scale, n_tokens, neuron_end - neuron_begin, out);
    });
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void expert_ffn(const ExpertView& expert, const float* x, const float* scale, int n_tokens, std::int64_t neuron_begin,
                std::int64_t neuron_end, float* out) {
    run_expert_any(expert, kTables.cpu, x, scale, n_tokens, neuron_begin, neuron_end, out);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
