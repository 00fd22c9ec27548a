// expert_ffn_widened: kPairedNeurons neurons at a time, w1 and w3 by rows, w2 by columns.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/bf16_experts.h"
#include "kernels/cpu/bf16_rows_avx2.h"
// The names above are what activation_simd.h is written in.
#define OFFSTAGE_VECTOR_BITS 256
#include "kernels/cpu/activation_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

constexpr int kNeuronsTogether = static_cast<int>(kPairedNeurons);
constexpr int kNeuronsAtOnce = 4;                       // whose w2 fills half of the registers
constexpr std::int64_t kOneTileAheadBytes = 64 * 1024;  // prefetched ahead where one tile has all tokens

// The current neurons. Surplus entries repeat the range's last neuron, with an activation
// of 0.
struct NeuronGroup {
    const Bf16* rows[2 * kNeuronsTogether];  // w1 and w3 in turn, or where they are one matrix its rows
    const Bf16* columns[kNeuronsTogether];   // w2
    std::int64_t n = 0;                      // hidden_dim
    int n_rows = 0;

    bool has_gate() const { return n_rows > kNeuronsTogether; }
};

// Adds columns [begin, begin + n) of one tile: w1 and w3 of all neurons. products:
// (tokens, 2, neurons), with the sums of earlier columns; one matrix has the first half.
template <int kTokens>
void multiply_neurons(const NeuronGroup& group, std::int64_t begin, std::int64_t n, const float* x, Ahead& ahead,
                      float* products) {
    for (int row = 0; row < group.n_rows; row += 2) {
        float sums[2][kTokens];
        multiply_two_rows<kTokens>(group.rows[row] + begin, group.rows[row + 1] + begin, n, x, ahead, sums);
        for (int t = 0; t < kTokens; ++t) {
            for (int r = 0; r < 2; ++r) {
                const int place = group.has_gate() ? r * kNeuronsTogether + row / 2 : row + r;
                float& to = products[2 * t * kNeuronsTogether + place];
                to = begin == 0 ? sums[r][t] : to + sums[r][t];
            }
        }
    }
}

using MultiplyNeurons = void (*)(const NeuronGroup&, std::int64_t, std::int64_t, const float*, Ahead&, float*);
template <int... kTokens>
constexpr std::array<MultiplyNeurons, sizeof...(kTokens)> by_tokens(std::integer_sequence<int, kTokens...> /*tokens*/) {
    return {multiply_neurons<kTokens + 1>...};
}
constexpr std::array kMultiplyTileNeurons = by_tokens(std::make_integer_sequence<int, WidenedTiles::kMostTokens>());

// All tokens with the group's w1 and w3: a tile with all neurons before the next one.
void multiply_tokens(const NeuronGroup& group, const WidenedTiles& tiles, const float* x, Ahead& ahead,
                     float* products) {
    for (std::int64_t begin = 0; begin < group.n; begin += kBlockColumns) {
        const std::int64_t n = std::min(kBlockColumns, group.n - begin);
        for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
            const std::int64_t first = tiles.begin(tile);
            const std::int64_t size = tiles.size(tile);
            kMultiplyTileNeurons[static_cast<std::size_t>(size - 1)](
                group, begin, n, x + first * group.n + begin * size, ahead, products + first * 2 * kNeuronsTogether);
        }
    }
}

// Products become what w2 is multiplied by, in the place of w1's.
void activate_neurons(const ExpertView& expert, std::int64_t first, int count, std::int64_t n_tokens, float* products) {
    const ExpertBiases biases = expert.biases();
    for (std::int64_t t = 0; t < n_tokens; ++t, products += 2 * kNeuronsTogether) {
        float* const ups = expert.layout.spec.has_gate() ? products + kNeuronsTogether : products;
        for (int j = 0; biases.gate != nullptr && j < count; ++j) {
            products[j] += biases.gate[first + j];
            ups[j] += biases.up[first + j];
        }
        for (int j = 0; j < kNeuronsTogether; j += kLanes) {
            store(products + j, activation(expert.layout.spec, load(products + j), load(ups + j)));
        }
        for (int j = count; j < kNeuronsTogether; ++j) products[j] = 0.0f;
    }
}

// sums += sum_j activations[t][j] * w2_j. sums has those of all tokens for each kPairs
// outputs, evens first, so that memory is read in order.
void add_down(const NeuronGroup& group, const float* activations, std::int64_t n_tokens, float* sums, Ahead& ahead) {
    for (std::int64_t i = 0; i < group.n; i += 2 * kPairs, sums += 2 * n_tokens * kPairs) {
        for (int first = 0; first < kNeuronsTogether; first += kNeuronsAtOnce) {  // a line of each
            for (std::int64_t half = 0; half < 2; ++half) {
                ahead.fetch();
                Vector even[kNeuronsAtOnce];
                Vector odd[kNeuronsAtOnce];
#pragma GCC unroll 4
                for (int j = 0; j < kNeuronsAtOnce; ++j) {
                    const Vector words = load_words(group.columns[first + j] + i + half * kPairs);
                    even[j] = low_half(words, Bf16());
                    odd[j] = high_half(words, Bf16());
                }
                float* place = sums + half * n_tokens * kPairs;
                const float* factors = activations + first;
                for (std::int64_t t = 0; t < n_tokens; ++t, place += kPairs, factors += 2 * kNeuronsTogether) {
                    Vector even_sum = load(place);
                    Vector odd_sum = load(place + kLanes);
#pragma GCC unroll 4
                    for (int j = 0; j < kNeuronsAtOnce; ++j) {
                        const Vector factor = broadcast(factors[j]);
                        even_sum = fma(factor, even[j], even_sum);
                        odd_sum = fma(factor, odd[j], odd_sum);
                    }
                    store(place, even_sum);
                    store(place + kLanes, odd_sum);
                }
            }
        }
    }
}

}  // namespace

namespace avx2 {

void expert_ffn_widened(const ExpertView& expert, const float* const* inputs, std::int64_t n_tokens,
                        std::int64_t neuron_begin, std::int64_t neuron_end, float* out, std::byte* scratch) {
    const std::int64_t n = expert.layout.hidden_dim;
    auto* const sums = reinterpret_cast<float*>(scratch);
    float* const x = sums + n_tokens * n;
    float* const products = x + n_tokens * n;
    const WidenedTiles tiles{n_tokens};
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
        const std::int64_t first = tiles.begin(tile);
        lay_out_tile(
            tiles.size(tile), n, [&](std::int64_t t) { return inputs[first + t]; }, x + first * n);
    }
    std::fill_n(sums, n_tokens * n, 0.0f);

    const auto* const first_neuron = static_cast<const Bf16*>(expert.data);
    const int n_matrices = expert.layout.spec.n_matrices();
    const std::int64_t neuron = n_matrices * n;
    const auto* const begin = reinterpret_cast<const std::byte*>(first_neuron + neuron_begin * neuron);
    const std::int64_t group_bytes = kNeuronsTogether * neuron * static_cast<std::int64_t>(sizeof(Bf16));
    // The first tile reads the whole group: it is there by then.
    const std::int64_t distance = tiles.count == 1 ? kOneTileAheadBytes : group_bytes;
    Ahead ahead;
    NeuronGroup group;
    group.n = n;
    group.n_rows = (n_matrices - 1) * kNeuronsTogether;
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kNeuronsTogether) {
        const auto count = static_cast<int>(std::min<std::int64_t>(kNeuronsTogether, neuron_end - first));
        for (int j = 0; j < kNeuronsTogether; ++j) {
            const Bf16* row = first_neuron + (first + std::min(j, count - 1)) * neuron;
            for (int m = 0; m + 1 < n_matrices; ++m, row += n) group.rows[(n_matrices - 1) * j + m] = row;
            group.columns[j] = row;
        }
        // The bytes of the next w1 and w3 during these, the rest during w2.
        ahead.next = begin + (first - neuron_begin) / kNeuronsTogether * group_bytes + distance;
        ahead.step = std::max<std::int64_t>(2 * kPairs * sizeof(Bf16) / tiles.count, 1);
        multiply_tokens(group, tiles, x, ahead, products);
        activate_neurons(expert, first, count, n_tokens, products);
        ahead.step = 2 * 64;
        add_down(group, products, n_tokens, sums, ahead);
    }
    const float* const bias = neuron_begin == 0 && neuron_end > 0 ? expert.biases().down : nullptr;
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; i += kPairs) {
            Vector low;
            Vector high;
            load_in_order(sums + (i / kPairs * n_tokens + t) * kPairs, low, high);
            if (bias != nullptr) {
                low = add(low, load(bias + i));
                high = add(high, load(bias + i + kLanes));
            }
            store(out + t * n + i, low);
            store(out + t * n + i + kLanes, high);
        }
    }
}

}  // namespace avx2
}  // namespace offstage::kernels
