// expert_ffn_bf16: kPairedNeurons neurons at a time, w1 and w3 by rows, w2 by pairs of rows.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "kernels/bf16_experts.h"
#include "kernels/cpu/prefetch.h"
#include "kernels/cpu/simd_avx512.h"
// The names above are what activation_simd.h is written in.
#define OFFSTAGE_VECTOR_BITS 512
#include "kernels/cpu/activation_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

constexpr int kPairs = 2 * kLanes;  // bf16 values of a vector
constexpr int kTileTokens = 8;      // whose inputs, of up to 3072 values, the first cache holds
constexpr int kGroupNeurons = static_cast<int>(kPairedNeurons);
constexpr std::int64_t kPairsAheadBytes = 48 * 1024;  // of weights, fetched into the second cache; found by measuring

__attribute__((always_inline)) inline __m512bh pairs(__m512i words) {
    return reinterpret_cast<__m512bh>(words);
}
__attribute__((always_inline)) inline __m512i load_pairs(const Bf16* p) {
    return _mm512_loadu_si512(p);
}

// The neurons at hand; those that are too many for the range are its last one again, whose activation then counts as 0.
struct Group {
    const Bf16* neurons[kGroupNeurons];  // w1, w3 and w2 follow each other
    std::int64_t n = 0;                  // hidden_dim
    std::int64_t ahead = 0;              // from a weight to the one that is fetched beside it
};

// gates[t * kGroupNeurons + j] = w1_j . x[t], ups the same of w3, of neurons j = first .. first + kTogether - 1.
// x: for each kPairs values those of all kTokens tokens.
template <int kTogether, int kTokens, bool kFetches>
__attribute__((always_inline)) inline void gate_and_up(const Group& group, int first, const Bf16* x, float* gates,
                                                       float* ups) {
    Vector sums[kLanes];
#pragma GCC unroll 16
    for (Vector& sum : sums) sum = zero();
    const Bf16* rows[2 * kTogether];
    for (int r = 0; r < 2 * kTogether; ++r) rows[r] = group.neurons[first + r / 2] + r % 2 * group.n;
    for (std::int64_t i = 0; i < group.n; i += kPairs, x += kTokens * kPairs) {
        if (kFetches) {
            for (int j = 0; j < kTogether; ++j) {
                const Bf16* const place = rows[2 * j] + group.ahead + i;
                prefetch(place);
                prefetch(place + group.n);
                prefetch(place + 2 * group.n);
            }
        }
        __m512i weights[2 * kTogether];
#pragma GCC unroll 4
        for (int r = 0; r < 2 * kTogether; ++r) weights[r] = load_pairs(rows[r] + i);
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) {
            const __m512bh inputs = pairs(load_pairs(x + t * kPairs));
#pragma GCC unroll 4
            for (int r = 0; r < 2 * kTogether; ++r) {
                Vector& sum = sums[t * 2 * kTogether + r];
                sum = _mm512_dpbf16_ps(sum, pairs(weights[r]), inputs);
            }
        }
    }
    float values[kLanes];
    store(values, sums_of_lanes(sums));
    for (int t = 0; t < kTokens; ++t) {
        for (int j = 0; j < kTogether; ++j) {
            gates[t * kGroupNeurons + first + j] = values[(t * kTogether + j) * 2];
            ups[t * kGroupNeurons + first + j] = values[(t * kTogether + j) * 2 + 1];
        }
    }
}

template <int kTokens, bool kFetches>
void gates_and_ups(const Group& group, const Bf16* x, float* gates, float* ups) {
    constexpr int kTogether = kTokens <= kTileTokens / 2 ? 2 : 1;  // so that 16 sums are on their way
    for (int j = 0; j < kGroupNeurons; j += kTogether)
        gate_and_up<kTogether, kTokens, kFetches>(group, j, x, gates, ups);
}

using GatesAndUps = void (*)(const Group&, const Bf16*, float*, float*);
template <bool kFetches, int... kTokens>
constexpr std::array<GatesAndUps, sizeof...(kTokens)> by_tokens(std::integer_sequence<int, kTokens...>) {
    return {gates_and_ups<kTokens + 1, kFetches>...};
}
constexpr auto kFetching = by_tokens<true>(std::make_integer_sequence<int, kTileTokens>());
constexpr auto kFromCache = by_tokens<false>(std::make_integer_sequence<int, kTileTokens>());

// sums += sum_j activations[t][j] * w2_j, or = with kIsFirst. sums: for each kPairs outputs those of all tokens, so
// that memory is gone through in order; of the kPairs those of the first four of eight before those of the last four,
// as unpacking pairs leaves them. in_order() mends both.
template <bool kIsFirst>
void add_down(const Group& group, const Bf16* activations, std::int64_t n_tokens, float* sums) {
    for (std::int64_t i = 0; i < group.n; i += kPairs) {
        __m512bh low[kGroupNeurons / 2];
        __m512bh high[kGroupNeurons / 2];
#pragma GCC unroll 8
        for (int p = 0; p < kGroupNeurons / 2; ++p) {
            const __m512i even = load_pairs(group.neurons[2 * p] + 2 * group.n + i);
            const __m512i odd = load_pairs(group.neurons[2 * p + 1] + 2 * group.n + i);
            low[p] = pairs(_mm512_unpacklo_epi16(even, odd));
            high[p] = pairs(_mm512_unpackhi_epi16(even, odd));
        }
        for (std::int64_t t = 0; t < n_tokens; ++t, sums += kPairs) {
            Vector low_sum = kIsFirst ? zero() : load(sums);
            Vector high_sum = kIsFirst ? zero() : load(sums + kLanes);
#pragma GCC unroll 8
            for (int p = 0; p < kGroupNeurons / 2; ++p) {
                int both = 0;
                std::memcpy(&both, activations + t * kGroupNeurons + 2 * p, sizeof both);
                const __m512bh factors = pairs(_mm512_set1_epi32(both));
                low_sum = _mm512_dpbf16_ps(low_sum, low[p], factors);
                high_sum = _mm512_dpbf16_ps(high_sum, high[p], factors);
            }
            store(sums, low_sum);
            store(sums + kLanes, high_sum);
        }
    }
}

// What add_down() leaves, for one token: from its first sums on, those of the next outputs lie `step` further.
void in_order(const float* sums, std::int64_t step, const float* bias, std::int64_t n, float* row) {
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i second = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    for (std::int64_t i = 0; i < n; i += kPairs, sums += step) {
        const Vector low = load(sums);
        const Vector high = load(sums + kLanes);
        Vector left = _mm512_permutex2var_ps(low, first, high);
        Vector right = _mm512_permutex2var_ps(low, second, high);
        if (bias != nullptr) {
            left = add(left, load(bias + i));
            right = add(right, load(bias + i + kLanes));
        }
        store(row + i, left);
        store(row + i + kLanes, right);
    }
}

// Tiles of kTileTokens tokens, each with its kPairs values beside those of the others.
void lay_out(const Bf16* const* inputs, std::int64_t n_tokens, std::int64_t n, Bf16* to) {
    for (std::int64_t first = 0; first < n_tokens; first += kTileTokens) {
        const std::int64_t count = std::min<std::int64_t>(kTileTokens, n_tokens - first);
        for (std::int64_t i = 0; i < n; i += kPairs) {
            for (std::int64_t t = 0; t < count; ++t, to += kPairs)
                _mm512_storeu_si512(to, load_pairs(inputs[first + t] + i));
        }
    }
}

// Sums of kGroupNeurons neurons become what w2 is multiplied by, in bf16.
void activate_neurons(const ExpertView& expert, std::int64_t first, int count, std::int64_t n_tokens,
                      const float* gates, const float* ups, Bf16* activations, NeuronCounts& counts) {
    const ExpertBiases biases = expert.biases();
    const bool is_biased = biases.gate != nullptr;
    const Vector gate_bias = is_biased ? load_some(biases.gate + first, count) : zero();
    const Vector up_bias = is_biased ? load_some(biases.up + first, count) : zero();
    const ExpertSpec& spec = expert.layout.spec;
    const __mmask16 there = count == kLanes ? 0xffff : first_lanes(count);
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        const Vector gate = activated(spec, add(load(gates + t * kGroupNeurons), gate_bias));
        const Vector up = up_factor(spec, add(load(ups + t * kGroupNeurons), up_bias));
        __mmask16 active = there;
        if (spec.theta > 0) {  // as is_left_out()
            active &= _mm512_cmp_ps_mask(_mm512_abs_ps(gate), broadcast(spec.theta), _CMP_NLE_UQ);
            counts.neurons += static_cast<std::uint64_t>(count);
            counts.active += static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(active)));
        }
        const Vector value = _mm512_maskz_mul_ps(active, gate, up);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(activations + t * kGroupNeurons),
                            reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value)));
    }
}

}  // namespace

namespace avx512_bf16 {

void expert_ffn_bf16(const ExpertView& expert, const Bf16* const* inputs, std::int64_t n_tokens,
                     std::int64_t neuron_begin, std::int64_t neuron_end, float* out, std::byte* scratch,
                     NeuronCounts& counts) {
    static_assert(kGroupNeurons == kLanes);
    const std::int64_t n = expert.layout.hidden_dim;
    if (neuron_begin >= neuron_end) {
        std::memset(out, 0, static_cast<std::size_t>(n_tokens * n) * sizeof(float));
        return;
    }
    auto* const sums = reinterpret_cast<float*>(scratch);
    auto* const x = reinterpret_cast<Bf16*>(sums + n_tokens * n);
    auto* const gates = reinterpret_cast<float*>(x + n_tokens * n);
    float* const ups = gates + n_tokens * kGroupNeurons;
    auto* const activations = reinterpret_cast<Bf16*>(ups + n_tokens * kGroupNeurons);
    lay_out(inputs, n_tokens, n, x);

    const auto* const first_neuron = static_cast<const Bf16*>(expert.data);
    const std::int64_t neuron = 3 * n;
    Group group;
    group.n = n;
    group.ahead = (kPairsAheadBytes / static_cast<std::int64_t>(sizeof(Bf16)) + neuron - 1) / neuron * neuron;
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kGroupNeurons) {
        const auto count = static_cast<int>(std::min<std::int64_t>(kGroupNeurons, neuron_end - first));
        for (int j = 0; j < kGroupNeurons; ++j)
            group.neurons[j] = first_neuron + (first + std::min(j, count - 1)) * neuron;
        for (std::int64_t t = 0; t < n_tokens; t += kTileTokens) {
            const auto tile = static_cast<std::size_t>(std::min<std::int64_t>(kTileTokens, n_tokens - t));
            const auto& run = t == 0 ? kFetching : kFromCache;
            run[tile - 1](group, x + t * n, gates + t * kGroupNeurons, ups + t * kGroupNeurons);
        }
        activate_neurons(expert, first, count, n_tokens, gates, ups, activations, counts);
        (first == neuron_begin ? add_down<true> : add_down<false>)(group, activations, n_tokens, sums);
    }
    const float* const bias = neuron_begin == 0 ? expert.biases().down : nullptr;
    for (std::int64_t t = 0; t < n_tokens; ++t) in_order(sums + t * kPairs, n_tokens * kPairs, bias, n, out + t * n);
}

}  // namespace avx512_bf16
}  // namespace offstage::kernels
