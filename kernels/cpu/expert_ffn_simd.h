#pragma once
// expert_ffn over Vector. Included after simd_avx2.h or simd_avx512.h.

#include "kernels/cpu/operations.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {
namespace {

// Neurons taken together: their w1 and w3 rows share the inputs, their w2 columns share one pass over the output.
constexpr int neurons_at_once(int n_tokens) {
    return 4 * n_tokens + 5 <= kRegisters ? 2 : 1;
}

// out[t] += sum_j activations[j][t] * columns[j], each n long.
template <int kNeurons, int kTokens, typename Weight>
__attribute__((always_inline)) inline void add_columns(const Weight* const (&columns)[kNeurons],
                                                       const float (&activations)[kNeurons][kTokens], std::int64_t n,
                                                       std::int64_t prefetch_ahead, float* out) {
    constexpr int kLineVectors = 64 / (kLanes * static_cast<int>(sizeof(Weight)));
    constexpr int kStep = kLineVectors * kLanes;
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 8
        for (int j = 0; j < kNeurons; ++j) prefetch(columns[j] + i, prefetch_ahead);
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
                for (int j = 0; j < kNeurons; ++j) sum = fma(broadcast(activations[j][t]), weights[j], sum);
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
                sum = fma(broadcast(activations[j][t]), weights, sum);
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

template <int kNeurons, int kTokens, typename Weight>
__attribute__((always_inline)) inline void run_neurons(const Weight* block, std::int64_t n, const float* x,
                                                       const float* scale, float* out) {
    const std::int64_t prefetch_ahead = kNeurons * 3 * n;  // the same place in the next neurons
    const Weight* rows[2 * kNeurons];
    const Weight* columns[kNeurons];
    for (int j = 0; j < kNeurons; ++j) {
        rows[2 * j] = block + j * 3 * n;
        rows[2 * j + 1] = rows[2 * j] + n;
        columns[j] = rows[2 * j] + 2 * n;
    }
    float sums[2 * kNeurons][kTokens];
    // Sums for both rows of one neuron fit the registers, or else row by row.
    if constexpr (2 * kNeurons * kTokens + 2 * kNeurons + 1 <= kRegisters) {
        dot_products<2 * kNeurons, kTokens>(rows, x, n, n, prefetch_ahead, sums);
    } else {
        for (int r = 0; r < 2 * kNeurons; ++r) {
            const Weight* const row[1] = {rows[r]};
            float row_sums[1][kTokens];
            dot_products<1, kTokens>(row, x, n, n, prefetch_ahead, row_sums);
            for (int t = 0; t < kTokens; ++t) sums[r][t] = row_sums[0][t];
        }
    }
    float activations[kNeurons][kTokens];
    float gates[kLanes];
    static_assert(kNeurons * kTokens <= kLanes);
    for (int j = 0; j < kNeurons; ++j) {
        for (int t = 0; t < kTokens; ++t) gates[j * kTokens + t] = sums[2 * j][t];
    }
    for (int unused = kNeurons * kTokens; unused < kLanes; ++unused) gates[unused] = 0.0f;
    store(gates, silu(load(gates)));
    for (int j = 0; j < kNeurons; ++j) {
        for (int t = 0; t < kTokens; ++t) {
            activations[j][t] = scale[t] * gates[j * kTokens + t] * sums[2 * j + 1][t];
        }
    }
    add_columns<kNeurons, kTokens>(columns, activations, n, prefetch_ahead, out);
}

template <int kTokens, typename Weight>
void run_expert(const ExpertView& expert, const float* x, const float* scale, std::int64_t neuron_begin,
                std::int64_t neuron_end, float* out) {
    constexpr int kNeurons = neurons_at_once(kTokens);
    const std::int64_t n = expert.hidden_dim;
    const auto* block = static_cast<const Weight*>(expert.data) + neuron_begin * 3 * n;
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
    }
}

}  // namespace
}  // namespace offstage::kernels
