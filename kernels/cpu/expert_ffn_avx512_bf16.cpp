// expert_ffn_bf16: kPairedNeurons neurons at a time, w1 and w3 by rows, w2 by pairs of
// rows.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "kernels/bf16_experts.h"
#include "kernels/cpu/pair_rows_avx512.h"
// The names above are what activation_simd.h is written in.
#define OFFSTAGE_VECTOR_BITS 512
#include "kernels/cpu/activation_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

constexpr int kGroupNeurons = static_cast<int>(kPairedNeurons);
constexpr std::int64_t kPairsAheadBytes = 192 * 1024;  // prefetched into the second-level cache; found by measuring

// The current neurons. Surplus entries repeat the range's last neuron, with an activation
// of 0.
struct Group {
    const Bf16* rows[2 * kGroupNeurons];  // w1 and w3 in turn, or where they are one matrix its rows
    const Bf16* columns[kGroupNeurons];   // w2
    std::int64_t n = 0;                   // hidden_dim
    int n_rows = 0;
};

// Adds columns [begin, begin + n) of one tile: w1 and w3 of all neurons. products:
// (tokens, neurons, 2), w1's before w3's, or one for each of n_rows, with the sums of
// earlier columns. x: for each kPairs values those of all tokens. Returns where
// prefetching continues.
template <int kTokens, Fetches kFetches>
const std::byte* multiply_neurons(const Group& group, std::int64_t begin, std::int64_t n, const Bf16* x,
                                  float* products, const std::byte* next) {
    constexpr int kRows = rows_beside(kTokens);
    for (int row = 0; row < group.n_rows; row += kRows) {
        const Bf16* rows[kRows];
        for (int r = 0; r < kRows; ++r) rows[r] = group.rows[row + r] + begin;
        float values[kLanes];
        multiply_rows<kRows, kTokens, kFetches>(rows, n, x, next, values);
        for (int t = 0; t < kTokens; ++t) {
            float* const to = products + t * kGroupNeurons * 2 + row;
            if (begin == 0) {
                std::memcpy(to, values + t * kRows, kRows * sizeof(float));
            } else {
                for (int r = 0; r < kRows; ++r) to[r] += values[t * kRows + r];
            }
        }
    }
    return next;
}

using MultiplyNeurons = const std::byte* (*)(const Group&, std::int64_t, std::int64_t, const Bf16*, float*,
                                             const std::byte*);
template <Fetches kFetches, int... kTokens>
constexpr std::array<MultiplyNeurons, sizeof...(kTokens)> by_tokens(std::integer_sequence<int, kTokens...>) {
    return {multiply_neurons<kTokens + 1, kFetches>...};
}
using TileSizes = std::make_integer_sequence<int, PairTiles::kMostTokens>;
constexpr std::array kMultiplyNeurons = {by_tokens<Fetches::kNone>(TileSizes()),
                                         by_tokens<Fetches::kEighth>(TileSizes()),
                                         by_tokens<Fetches::kQuarter>(TileSizes()),
                                         by_tokens<Fetches::kHalf>(TileSizes()), by_tokens<Fetches::kAll>(TileSizes())};

// All tokens with the group's w1 and w3: a tile with all neurons before the next one.
const std::byte* multiply_tokens(const Group& group, const PairTiles& tiles, const Bf16* x, float* products,
                                 const std::byte* next) {
    for (std::int64_t begin = 0; begin < group.n; begin += kBlockColumns) {
        const std::int64_t n = std::min(kBlockColumns, group.n - begin);
        for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
            const std::int64_t first = tiles.begin(tile);
            const std::int64_t size = tiles.size(tile);
            const auto fetches = static_cast<std::size_t>(fetches_of(tile, tiles.count));
            next = kMultiplyNeurons[fetches][static_cast<std::size_t>(size - 1)](
                group, begin, n, x + first * group.n + begin * size, products + first * kGroupNeurons * 2, next);
        }
    }
    return next;
}

// sums += sum_j activations[t][j] * w2_j, or = with kIsFirst. sums has the sums of all
// tokens for each kPairs outputs, so that memory is read in order. Within kPairs, the
// first four of each eight outputs come before the last four: this is the order of
// unpacked pairs. in_order() restores the normal order of both.
template <bool kIsFirst>
const std::byte* add_down(const Group& group, const Bf16* activations, std::int64_t n_tokens, float* sums,
                          const std::byte* next) {
    for (std::int64_t i = 0; i < group.n; i += kPairs) {
        fetch<kGroupNeurons>(next);
        __m512bh low[kGroupNeurons / 2];
        __m512bh high[kGroupNeurons / 2];
#pragma GCC unroll 8
        for (int p = 0; p < kGroupNeurons / 2; ++p) {
            const __m512i even = load_pairs(group.columns[2 * p] + i);
            const __m512i odd = load_pairs(group.columns[2 * p + 1] + i);
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
    return next;
}

// Puts the sums of add_down() for one token in order. Sums of the next outputs lie `step`
// further on.
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

// Tile after tile, of each kPairs values of a token beside those of the others.
void lay_out(const Bf16* const* inputs, const PairTiles& tiles, std::int64_t n, Bf16* to) {
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
        const std::int64_t first = tiles.begin(tile);
        const std::int64_t end = tiles.begin(tile + 1);
        for (std::int64_t i = 0; i < n; i += kPairs) {
            for (std::int64_t t = first; t < end; ++t, to += kPairs) _mm512_storeu_si512(to, load_pairs(inputs[t] + i));
        }
    }
}

// Products of kGroupNeurons neurons become what w2 is multiplied by, in bf16.
void activate_neurons(const ExpertView& expert, std::int64_t first, int count, std::int64_t n_tokens,
                      const float* products, Bf16* activations, NeuronCounts& counts) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    const ExpertBiases biases = expert.biases();
    const bool is_biased = biases.gate != nullptr;
    const Vector gate_bias = is_biased ? load_some(biases.gate + first, count) : zero();
    const Vector up_bias = is_biased ? load_some(biases.up + first, count) : zero();
    const ExpertSpec& spec = expert.layout.spec;
    const __mmask16 there = count == kLanes ? 0xffff : first_lanes(count);
    for (std::int64_t t = 0; t < n_tokens; ++t, products += 2 * kGroupNeurons) {
        const Vector low = load(products);
        const Vector high = load(products + kLanes);
        const bool has_gate = spec.has_gate();
        const Vector w1 = has_gate ? _mm512_permutex2var_ps(low, even, high) : low;
        const Vector w3 = has_gate ? _mm512_permutex2var_ps(low, odd, high) : low;
        const Vector gate = activated(spec, add(w1, gate_bias));
        const Vector up = up_factor(spec, add(w3, up_bias));
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
    auto* const products = reinterpret_cast<float*>(x + n_tokens * n);
    auto* const activations = reinterpret_cast<Bf16*>(products + n_tokens * kGroupNeurons * 2);
    const PairTiles tiles{n_tokens};
    lay_out(inputs, tiles, n, x);

    const auto* const first_neuron = static_cast<const Bf16*>(expert.data);
    const int n_matrices = expert.layout.spec.n_matrices();
    const std::int64_t neuron = n_matrices * n;
    const std::int64_t group_bytes = kGroupNeurons * neuron * static_cast<std::int64_t>(sizeof(Bf16));
    // When a group's w2 begins, prefetching has gone ahead by less than half a group:
    // this distance keeps it ahead of w1 and w3.
    const auto* next = reinterpret_cast<const std::byte*>(first_neuron + neuron_begin * neuron) +
                       std::max(kPairsAheadBytes, group_bytes / 2);
    Group group;
    group.n = n;
    group.n_rows = (n_matrices - 1) * kGroupNeurons;
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kGroupNeurons) {
        const auto count = static_cast<int>(std::min<std::int64_t>(kGroupNeurons, neuron_end - first));
        for (int j = 0; j < kGroupNeurons; ++j) {
            const Bf16* row = first_neuron + (first + std::min(j, count - 1)) * neuron;
            for (int m = 0; m + 1 < n_matrices; ++m, row += n) group.rows[(n_matrices - 1) * j + m] = row;
            group.columns[j] = row;
        }
        next = multiply_tokens(group, tiles, x, products, next);
        activate_neurons(expert, first, count, n_tokens, products, activations, counts);
        const auto& add = first == neuron_begin ? add_down<true> : add_down<false>;
        next = add(group, activations, n_tokens, sums, next);
    }
    const float* const bias = neuron_begin == 0 ? expert.biases().down : nullptr;
    for (std::int64_t t = 0; t < n_tokens; ++t) in_order(sums + t * kPairs, n_tokens * kPairs, bias, n, out + t * n);
}

}  // namespace avx512_bf16
}  // namespace offstage::kernels
