#pragma once
// expert_ffn over Vector. Included after simd_avx2.h or simd_avx512.h.

#include "kernels/cpu/operations.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {
namespace {

// Neurons taken together: their w2 columns share one pass over the outputs, which for several tokens costs more than
// the weights themselves. For one or two tokens the weights' own order in memory matters more.
constexpr int neurons_at_once(int n_tokens) {
    return n_tokens <= 2 ? 2 : 8;
}

// Of these, so many share one pass over the inputs, as far as registers allow: w1 and w3 of one or two neurons, or one
// row.
constexpr int rows_at_once(int n_tokens) {
    const auto fits = [&](int n_rows) { return n_rows * n_tokens + n_rows + 1 <= kRegisters; };
    return fits(4) ? 4 : fits(2) ? 2 : 1;
}

// out[t] += sum_j activations[j * kTokens + t] * columns[j], each n long.
template <int kNeurons, int kTokens, typename Weight>
__attribute__((always_inline)) inline void add_columns(const Weight* const (&columns)[kNeurons],
                                                       const float (&activations)[kNeurons * kTokens], std::int64_t n,
                                                       float* out) {
    constexpr int kLineVectors = 64 / (kLanes * static_cast<int>(sizeof(Weight)));
    constexpr int kStep = kLineVectors * kLanes;
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 8
        for (int j = 0; j < kNeurons; ++j) prefetch(columns[j] + kNeurons * 3 * n + i);
#pragma GCC unroll 8
        for (int s = 0; s < kLineVectors; ++s) {
            Vector weights[kNeurons];
#pragma GCC unroll 8
            for (int j = 0; j < kNeurons; ++j) weights[j] = load(columns[j] + i + s * kLanes);
#pragma GCC unroll 8
            for (int t = 0; t < kTokens; ++t) {
                float* place = out + t * n + i + s * kLanes;
                Vector sum = load(place);
#pragma GCC unroll 8
                for (int j = 0; j < kNeurons; ++j) sum = fma(broadcast(activations[j * kTokens + t]), weights[j], sum);
                store(place, sum);
            }
        }
    }
    while (i < n) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        for (int t = 0; t < kTokens; ++t) {
            float* place = out + t * n + i;
            Vector sum = load_some(place, n_lanes);
            for (int j = 0; j < kNeurons; ++j) {
                const Vector weights = n_lanes == kLanes ? load(columns[j] + i) : load_first(columns[j] + i, n_lanes);
                sum = fma(broadcast(activations[j * kTokens + t]), weights, sum);
            }
            if (n_lanes == kLanes) {
                store(place, sum);
            } else {
                store_first(place, n_lanes, sum);
            }
        }
        i += n_lanes;
    }
}

// The first or second half of a neuron's pair of rows: w1 of neuron 0, w3 of neuron 0, w1 of neuron 1, ...
template <typename Weight>
__attribute__((always_inline)) inline const Weight* row_of(const Weight* block, int row, std::int64_t n) {
    return block + (row / 2 * 3 + row % 2) * n;
}

template <int kNeurons, int kTokens, typename Weight>
__attribute__((always_inline)) inline void run_neurons(const Weight* block, std::int64_t n, const float* x,
                                                       const float* scale, float* out) {
    constexpr int kRows = rows_at_once(kTokens) < 2 * kNeurons ? rows_at_once(kTokens) : 2 * kNeurons;
    constexpr int kActivations = (kNeurons * kTokens + kLanes - 1) / kLanes * kLanes;
    float gates[kActivations] = {};
    float ups[kActivations] = {};
    for (int row = 0; row < 2 * kNeurons; row += kRows) {
        const Weight* rows[kRows];
        const Weight* ahead[kRows];
        for (int r = 0; r < kRows; ++r) {
            rows[r] = row_of(block, row + r, n);
            ahead[r] = rows[r] + kNeurons * 3 * n;  // the same place in the next neurons
        }
        float sums[kRows][kTokens];
        dot_products<kRows, kTokens>(rows, ahead, x, n, n, sums);
        for (int r = 0; r < kRows; ++r) {
            float* to = ((row + r) % 2 == 0 ? gates : ups) + (row + r) / 2 * kTokens;
            for (int t = 0; t < kTokens; ++t) to[t] = sums[r][t];
        }
    }
    for (int i = 0; i < kActivations; i += kLanes) store(gates + i, multiply(silu(load(gates + i)), load(ups + i)));
    float activations[kNeurons * kTokens];
    const Weight* columns[kNeurons];
    for (int j = 0; j < kNeurons; ++j) {
        columns[j] = block + (3 * j + 2) * n;
        for (int t = 0; t < kTokens; ++t) activations[j * kTokens + t] = scale[t] * gates[j * kTokens + t];
    }
    add_columns<kNeurons, kTokens>(columns, activations, n, out);
}

// How far ahead of the multiply-adds weights are fetched when one token streams through an expert; found by measuring.
constexpr std::int64_t kAheadBytes = 24 * 1024;

// One step of the loop below, on n_lanes places: two products with the inputs, one addition to the outputs.
template <typename Weight>
struct StreamingNeuron {
    const Weight* w1;
    const Weight* w3;
    const Weight* w2_before;
    Vector activation_before;

    __attribute__((always_inline)) void step(const float* x, float* out, std::int64_t i, Vector& gate,
                                             Vector& up) const {
        const Vector inputs = load(x + i);
        gate = fma(load(w1 + i), inputs, gate);
        up = fma(load(w3 + i), inputs, up);
        store(out + i, fma(activation_before, load(w2_before + i), load(out + i)));
    }
    __attribute__((always_inline)) void last_step(const float* x, float* out, std::int64_t i, int n_lanes, Vector& gate,
                                                  Vector& up) const {
        const Vector inputs = load_first(x + i, n_lanes);
        gate = fma(load_first(w1 + i, n_lanes), inputs, gate);
        up = fma(load_first(w3 + i, n_lanes), inputs, up);
        const Vector sum = fma(activation_before, load_first(w2_before + i, n_lanes), load_first(out + i, n_lanes));
        store_first(out + i, n_lanes, sum);
    }
};

// One token. A neuron's w2 is added while the next neuron's w1 and w3 are multiplied, so that memory delivers without a
// break while a sum over lanes and an exponential are being waited for.
template <typename Weight>
void run_one_token(const Weight* block, std::int64_t n, std::int64_t n_neurons, const float* x, float scale,
                   float* out) {
    if (n_neurons <= 0) return;
    constexpr int kStep = 64 / static_cast<int>(sizeof(Weight));
    constexpr int kStepVectors = kStep / kLanes;
    const std::int64_t neuron_bytes = 3 * n * static_cast<std::int64_t>(sizeof(Weight));
    const std::int64_t ahead = (kAheadBytes + neuron_bytes - 1) / neuron_bytes * 3 * n;
    const auto activation_of = [&](Vector gate, Vector up) {
        float lanes[kLanes];
        store(lanes, silu(broadcast(sum_of_lanes(gate))));
        return scale * lanes[0] * sum_of_lanes(up);
    };
    const Weight* const first_rows[2] = {block, block + n};
    float first_sums[2][1];
    dot_products<2, 1>(first_rows, first_rows, x, n, n, first_sums);
    float lanes[kLanes];
    store(lanes, silu(broadcast(first_sums[0][0])));
    float activation = scale * lanes[0] * first_sums[1][0];
    for (std::int64_t j = 1; j < n_neurons; ++j) {
        const Weight* neuron = block + j * 3 * n;
        const StreamingNeuron<Weight> streaming{neuron, neuron + n, neuron - n, broadcast(activation)};
        Vector gate[kStepVectors];
        Vector up[kStepVectors];
        for (int s = 0; s < kStepVectors; ++s) gate[s] = up[s] = zero();
        std::int64_t i = 0;
        for (; i + kStep <= n; i += kStep) {
            prefetch(streaming.w1 + ahead + i);
            prefetch(streaming.w3 + ahead + i);
            prefetch(streaming.w2_before + ahead + i);
#pragma GCC unroll 4
            for (int s = 0; s < kStepVectors; ++s) streaming.step(x, out, i + s * kLanes, gate[s], up[s]);
        }
        for (; i + kLanes <= n; i += kLanes) streaming.step(x, out, i, gate[0], up[0]);
        if (i < n) streaming.last_step(x, out, i, static_cast<int>(n - i), gate[0], up[0]);
        for (int half = kStepVectors / 2; half > 0; half /= 2) {
            for (int s = 0; s < half; ++s) {
                gate[s] = add(gate[s], gate[s + half]);
                up[s] = add(up[s], up[s + half]);
            }
        }
        activation = activation_of(gate[0], up[0]);
    }
    const Weight* const last_column[1] = {block + ((n_neurons - 1) * 3 + 2) * n};
    const float last_activation[1] = {activation};
    add_columns<1, 1>(last_column, last_activation, n, out);
}

template <int kTokens, typename Weight>
void run_expert(const ExpertView& expert, const float* x, const float* scale, std::int64_t neuron_begin,
                std::int64_t neuron_end, float* out) {
    constexpr int kNeurons = neurons_at_once(kTokens);
    const std::int64_t n = expert.hidden_dim;
    const auto* block = static_cast<const Weight*>(expert.data) + neuron_begin * 3 * n;
    if constexpr (kTokens == 1) {
        run_one_token(block, n, neuron_end - neuron_begin, x, scale[0], out);
        return;
    }
    std::int64_t j = neuron_begin;
    for (; j + kNeurons <= neuron_end; j += kNeurons, block += kNeurons * 3 * n) {
        run_neurons<kNeurons, kTokens>(block, n, x, scale, out);
    }
    for (; j < neuron_end; ++j, block += 3 * n) run_neurons<1, kTokens>(block, n, x, scale, out);
}

template <typename Weight>
void run_expert_tokens(const ExpertView& expert, const float* x, const float* scale, int n_tokens,
                       std::int64_t neuron_begin, std::int64_t neuron_end, float* out) {
    using RunExpert = void (*)(const ExpertView&, const float*, const float*, std::int64_t, std::int64_t, float*);
    static constexpr RunExpert kByTokens[8] = {
        run_expert<1, Weight>, run_expert<2, Weight>, run_expert<3, Weight>, run_expert<4, Weight>,
        run_expert<5, Weight>, run_expert<6, Weight>, run_expert<7, Weight>, run_expert<8, Weight>,
    };
    kByTokens[n_tokens - 1](expert, x, scale, neuron_begin, neuron_end, out);
}

void run_expert_any(const ExpertView& expert, const float* x, const float* scale, int n_tokens,
                    std::int64_t neuron_begin, std::int64_t neuron_end, float* out) {
    switch (expert.type) {
        case WeightType::kF32:
            run_expert_tokens<float>(expert, x, scale, n_tokens, neuron_begin, neuron_end, out);
            return;
        case WeightType::kF16:
            run_expert_tokens<F16>(expert, x, scale, n_tokens, neuron_begin, neuron_end, out);
            return;
        case WeightType::kBf16:
            run_expert_tokens<Bf16>(expert, x, scale, n_tokens, neuron_begin, neuron_end, out);
            return;
        default:
            return;
    }
}

}  // namespace
}  // namespace offstage::kernels
