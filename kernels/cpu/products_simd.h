#pragma once
// Products of a few weight rows with a few inputs, for matvec and expert_ffn.

#include "kernels/cpu/prefetch.h"
#include "kernels/cpu/simd.h"

namespace offstage::kernels {
namespace {

// The number of accumulators of one (row, token) pair: at least eight independent sums
// hide the multiply-add's latency.
constexpr int accumulators_per_pair(int n_pairs) {
    return n_pairs >= 8 ? 1 : n_pairs >= 4 ? 2 : 4;
}

// Rows of weights that lie `stride` weights apart.
template <typename Weight>
struct PlainRows {
    using Row = const Weight*;
    static constexpr bool kPacked = false;
    const Weight* first = nullptr;
    std::int64_t stride = 0;

    Row operator[](std::int64_t i) const { return first + i * stride; }
    PlainRows from(std::int64_t i) const { return {(*this)[i], stride}; }
    std::int64_t row_bytes(std::int64_t n) const { return n * static_cast<std::int64_t>(sizeof(Weight)); }
};

// sums[r][t] = rows[r] . x[t], each n long. Each weight is read once and kept in a
// register for all tokens. ahead: rows of the same length that are needed soon; they are
// prefetched meanwhile.
template <int kRows, int kTokens, int kAhead, typename Weight>
__attribute__((always_inline)) inline void dot_products(const Weight* const (&rows)[kRows],
                                                        const Weight* const (&ahead)[kAhead], const float* x,
                                                        std::int64_t x_stride, std::int64_t n,
                                                        float (&sums)[kRows][kTokens]) {
    constexpr int kAccumulators = accumulators_per_pair(kRows * kTokens);
    constexpr int kLineVectors = 64 / (kLanes * static_cast<int>(sizeof(Weight)));
    constexpr int kStepVectors = kLineVectors > kAccumulators ? kLineVectors : kAccumulators;
    constexpr int kStep = kStepVectors * kLanes;
    Vector accumulators[kRows][kTokens][kAccumulators];
    for (int r = 0; r < kRows; ++r) {
        for (int t = 0; t < kTokens; ++t) {
            for (int a = 0; a < kAccumulators; ++a) accumulators[r][t][a] = zero();
        }
    }
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 8
        for (int line = 0; line < kStepVectors / kLineVectors; ++line) {
#pragma GCC unroll 8
            for (int p = 0; p < kAhead; ++p) prefetch(ahead[p] + i + line * kLineVectors * kLanes);
        }
#pragma GCC unroll 8
        for (int s = 0; s < kStepVectors; ++s) {
            Vector weights[kRows];
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) weights[r] = load(rows[r] + i + s * kLanes);
#pragma GCC unroll 8
            for (int t = 0; t < kTokens; ++t) {
                Vector inputs = load(x + t * x_stride + i + s * kLanes);
                if constexpr (kRows > 1) keep_in_register(inputs);  // or else it is loaded again for every row
#pragma GCC unroll 8
                for (int r = 0; r < kRows; ++r) {
                    Vector& accumulator = accumulators[r][t][s % kAccumulators];
                    accumulator = fma(weights[r], inputs, accumulator);
                }
            }
        }
    }
    while (i < n) {
        const int n_lanes = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
        for (int t = 0; t < kTokens; ++t) {
            const Vector inputs = load_some(x + t * x_stride + i, n_lanes);
            for (int r = 0; r < kRows; ++r) {
                const Vector weights = n_lanes == kLanes ? load(rows[r] + i) : load_first(rows[r] + i, n_lanes);
                accumulators[r][t][0] = fma(weights, inputs, accumulators[r][t][0]);
            }
        }
        i += n_lanes;
    }
    for (int r = 0; r < kRows; ++r) {
        for (int t = 0; t < kTokens; ++t) {
            for (int half = kAccumulators / 2; half > 0; half /= 2) {
                for (int a = 0; a < half; ++a) {
                    accumulators[r][t][a] = add(accumulators[r][t][a], accumulators[r][t][a + half]);
                }
            }
            sums[r][t] = sum_of_lanes(accumulators[r][t][0]);
        }
    }
}

// out[t] += sum_j activations[j * kTokens + t] * columns[j], each n long, neuron after
// neuron. Prefetches from ahead(j) on, as many bytes as column j has.
template <int kNeurons, int kTokens, typename Weight, typename Ahead>
__attribute__((always_inline)) inline void add_plain_columns(const Weight* const (&columns)[kNeurons],
                                                             const float (&activations)[kNeurons * kTokens],
                                                             std::int64_t n, const Ahead& ahead, float* out) {
    constexpr int kLineVectors = 64 / (kLanes * static_cast<int>(sizeof(Weight)));
    constexpr int kStep = kLineVectors * kLanes;
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 8
        for (int j = 0; j < kNeurons; ++j) prefetch(ahead(j) + i);
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

}  // namespace
}  // namespace offstage::kernels
