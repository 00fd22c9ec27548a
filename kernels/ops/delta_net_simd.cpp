// The gated delta rule over Vector: columns of a state do not see each other, so that as
// many as registers hold go through all tokens together.

#include "kernels/cpu/operations.h"
#include "kernels/cpu/simd.h"

namespace offstage::kernels {
namespace {

// kVectors vectors of columns from `first` on, the last one with n_last lanes.
template <int kVectors, bool kCorrects>
void run_columns(const DeltaRule& rule, std::int64_t first, int n_last, float* state) {
    const auto lanes = [n_last](int v) { return v + 1 < kVectors ? kLanes : n_last; };
    for (std::int64_t t = 0; t < rule.n_tokens; ++t) {
        const float* const q = rule.q + t * rule.stride;
        const float* const k = rule.k + t * rule.stride;
        const Vector decay = broadcast(rule.decay[t * rule.gate_stride]);
        const Vector beta = broadcast(rule.beta[t * rule.gate_stride]);
        Vector change[kVectors], out[kVectors];
        for (int v = 0; v < kVectors; ++v) change[v] = out[v] = zero();
        for (std::int64_t i = 0; kCorrects && i < rule.key_dim; ++i) {
            const float* const row = state + i * rule.value_dim + first;
            const Vector key = broadcast(k[i]);
            for (int v = 0; v < kVectors; ++v) change[v] = fma(key, load_some(row + v * kLanes, lanes(v)), change[v]);
        }
        for (int v = 0; v < kVectors; ++v) {
            const Vector value = load_some(rule.v + t * rule.stride + first + v * kLanes, lanes(v));
            change[v] = multiply(beta, subtract(value, multiply(decay, change[v])));
        }
        for (std::int64_t i = 0; i < rule.key_dim; ++i) {
            float* const row = state + i * rule.value_dim + first;
            const Vector key = broadcast(k[i]);
            const Vector query = broadcast(q[i]);
            for (int v = 0; v < kVectors; ++v) {
                const Vector kept = multiply(decay, load_some(row + v * kLanes, lanes(v)));
                const Vector s = fma(key, change[v], kept);
                store_some(row + v * kLanes, lanes(v), s);
                out[v] = fma(query, s, out[v]);
            }
        }
        for (int v = 0; v < kVectors; ++v) {
            store_some(rule.out + t * rule.out_stride + first + v * kLanes, lanes(v), out[v]);
        }
    }
}

template <bool kCorrects>
void update_columns(const DeltaRule& rule, std::int64_t column_begin, std::int64_t column_end, float* state) {
    constexpr int kTogether = 4;
    std::int64_t c = column_begin;
    for (; c + kTogether * kLanes <= column_end; c += kTogether * kLanes) {
        run_columns<kTogether, kCorrects>(rule, c, kLanes, state);
    }
    for (; c < column_end; c += kLanes) {
        const auto n_last = static_cast<int>(column_end - c < kLanes ? column_end - c : kLanes);
        run_columns<1, kCorrects>(rule, c, n_last, state);
    }
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void delta_rule(const DeltaRule& rule, std::int64_t column_begin, std::int64_t column_end, float* state) {
    rule.corrects ? update_columns<true>(rule, column_begin, column_end, state)
                  : update_columns<false>(rule, column_begin, column_end, state);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
