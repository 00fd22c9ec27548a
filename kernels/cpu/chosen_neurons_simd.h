#pragma once
// The neurons of a stretch that ExpertSpec::theta keeps, and their activations. Values of
// a stretch are (n_tokens, kChosenTogether), a token's neurons side by side: first all
// neurons, then only the chosen ones, moved together.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/activation_simd.h"
#include "kernels/sparse_experts.h"

namespace offstage::kernels {
namespace {

struct ChosenNeurons {
    std::int64_t count = 0;
    std::int32_t places[kChosenTogether];  // in the stretch, ascending
    std::uint64_t active = 0;              // (token, neuron) pairs
};

// Chooses neurons [begin, end) of a stretch, after those before them. gates: w1's sums of
// all; reduced to the gates of the chosen neurons, with 0 for a token that leaves its
// neuron out. bias: w1's, from the stretch's first neuron on; nullptr: none.
inline void choose_neurons(const ExpertSpec& spec, const float* bias, int n_tokens, std::int64_t begin,
                           std::int64_t end, float* gates, ChosenNeurons& chosen) {
    for (int t = 0; t < n_tokens; ++t) {
        float* const gate = gates + t * kChosenTogether;
        for (std::int64_t i = begin; bias != nullptr && i < end; ++i) gate[i] += bias[i];
        for (std::int64_t i = begin; i < end; i += kLanes) {
            const int n_lanes = end - i < kLanes ? static_cast<int>(end - i) : kLanes;
            store_some(gate + i, n_lanes, activated(spec, load_some(gate + i, n_lanes)));
        }
    }
    for (std::int64_t i = begin; i < end; ++i) {
        bool any = false;
        for (int t = 0; t < n_tokens; ++t) {
            const float gate = gates[t * kChosenTogether + i];
            const bool active = !is_left_out(gate, spec.theta);
            gates[t * kChosenTogether + chosen.count] = active ? gate : 0.0f;
            chosen.active += active;
            any = any || active;
        }
        chosen.places[chosen.count] = static_cast<std::int32_t>(i);
        chosen.count += any;
    }
}

// ups: w3's sums of the chosen neurons; gates: theirs, which become their activations
// times scale[t]. bias: of w3, as above.
inline void finish_neurons(const ExpertLayout& layout, const float* bias, const ChosenNeurons& chosen,
                           const float* scale, int n_tokens, float* ups, float* gates) {
    for (int t = 0; t < n_tokens; ++t) {
        float* const gate = gates + t * kChosenTogether;
        float* const up = ups + t * kChosenTogether;
        for (std::int64_t i = 0; bias != nullptr && i < chosen.count; ++i) up[i] += bias[chosen.places[i]];
        for (std::int64_t i = 0; i < chosen.count; i += kLanes) {
            const int n_lanes = chosen.count - i < kLanes ? static_cast<int>(chosen.count - i) : kLanes;
            store_some(up + i, n_lanes, up_factor(layout.spec, load_some(up + i, n_lanes)));
        }
        // Neurons left out stay 0, even where w3's product is not finite.
        for (std::int64_t i = 0; i < chosen.count; ++i) gate[i] = gate[i] == 0.0f ? 0.0f : scale[t] * (gate[i] * up[i]);
    }
}

// Chosen rows do not follow each other in memory, so the hardware prefetcher cannot
// foresee them. Each row is prefetched while the row n_ahead() before it is multiplied.
// After a matrix's last rows come the first ones of the next matrix, so that memory is
// never idle.
inline constexpr std::int64_t kMostAhead = 64;  // rows
inline constexpr std::int64_t kListAheadBytes = 16 * 1024;
inline std::int64_t n_ahead(const WeightView& weight, std::int64_t least) {
    return std::clamp(kListAheadBytes / static_cast<std::int64_t>(row_bytes(weight.type, weight.n_cols)), least,
                      kMostAhead);
}

// Multiplies w1 of neurons [first, first + count) and chooses among them. `gates`: their
// gates (choose_neurons). rows: room for kChosenTogether + kMostAhead; after the
// stretch's rows come those that are read next. after_some(before): called when more
// neurons were chosen, those from `before` on being new. at_once, multiply: see
// run_stretch().
template <typename Multiply, typename AfterSome>
void choose_of_stretch(const ExpertView& expert, int n_tokens, std::int64_t first, std::int64_t count,
                       const std::byte** rows, float* gates, ChosenNeurons& chosen, std::int64_t at_once,
                       const Multiply& multiply, const AfterSome& after_some) {
    const WeightView w1 = expert.gate();
    const float* const bias = expert.biases().gate;
    for (std::int64_t i = 0; i < count; ++i) rows[i] = w1.row(expert.place(first + i));
    for (std::int64_t begin = 0; begin < count; begin += at_once) {
        const std::int64_t end = std::min(begin + at_once, count);
        multiply(w1, rows, begin, end, gates);
        const std::int64_t before = chosen.count;
        choose_neurons(expert.layout.spec, bias == nullptr ? nullptr : bias + first, n_tokens, begin, end, gates,
                       chosen);
        after_some(before);
    }
}

// Lists the chosen ones of neurons [begin, end), ascending. Returns their number.
template <typename Multiply>
std::int64_t list_chosen(const ExpertView& expert, int n_tokens, std::int64_t begin, std::int64_t end,
                         std::int32_t* list, std::uint64_t& active, std::int64_t at_once, const Multiply& multiply) {
    alignas(64) float gates[8 * kChosenTogether];
    const std::byte* rows[kChosenTogether + kMostAhead];
    const WeightView w1 = expert.gate();
    std::int64_t n = 0;
    for (std::int64_t first = begin; first < end; first += kChosenTogether) {
        const std::int64_t count = std::min(kChosenTogether, end - first);
        ChosenNeurons chosen;
        for (std::int64_t i = 0; i < kMostAhead; ++i) rows[count + i] = w1.row(first + count + i);
        choose_of_stretch(expert, n_tokens, first, count, rows, gates, chosen, at_once, multiply, [](std::int64_t) {});
        for (std::int64_t i = 0; i < chosen.count; ++i) list[n++] = static_cast<std::int32_t>(first) + chosen.places[i];
        active += chosen.active;
    }
    return n;
}

// Neurons [first, first + count) of an expert, count at most kChosenTogether. at_once: so
// many neurons are chosen in one step, so that the first are known early.
// multiply(weight, rows, begin, end, sums): sums[t * kChosenTogether + i] = row i . input
// t for i in [begin, end). rows[i] is the row to multiply; the entries after the last one
// are rows to prefetch, kMostAhead of them. add(weight, rows, chosen, values): outputs +=
// the columns rows[0 .. chosen.count) times their values.
template <typename Multiply, typename Add>
void run_stretch(const ExpertView& expert, const float* scale, int n_tokens, std::int64_t first, std::int64_t count,
                 NeuronCounts& counts, std::int64_t at_once, const Multiply& multiply, const Add& add) {
    const ExpertLayout& layout = expert.layout;
    const WeightView w3 = expert.up();
    const WeightView w2 = expert.down();
    const ExpertBiases biases = expert.biases();
    const WeightView w1 = expert.gate();
    // Beyond the last neuron what lies there; in an order of one's own the last.
    const auto w1_row = [&](std::int64_t neuron) {
        return w1.row(expert.order == nullptr ? neuron : expert.place(std::min(neuron, layout.ffn_dim - 1)));
    };
    const auto from_first = [&](const float* bias) { return bias == nullptr ? nullptr : bias + first; };
    alignas(64) float values[8 * kChosenTogether];
    alignas(64) float ups[8 * kChosenTogether];
    const std::byte* rows[kChosenTogether + kMostAhead];
    ChosenNeurons chosen;
    // Unless some neuron is chosen, the rows of the next stretch are read next.
    for (std::int64_t i = 0; i < kMostAhead; ++i) rows[count + i] = w1_row(first + count + i);
    choose_of_stretch(expert, n_tokens, first, count, rows, values, chosen, at_once, multiply,
                      [&](std::int64_t before) {
                          for (std::int64_t i = before; i < std::min(chosen.count, kMostAhead); ++i) {
                              rows[count + i] = w3.row(expert.place(first + chosen.places[i]));
                          }
                      });
    counts.neurons += static_cast<std::uint64_t>(n_tokens * count);
    counts.active += chosen.active;
    counts.skipped_bytes += static_cast<std::uint64_t>(count - chosen.count) * layout.chosen_bytes();
    if (chosen.count == 0) return;

    for (std::int64_t i = 0; i < chosen.count; ++i) rows[i] = w3.row(expert.place(first + chosen.places[i]));
    for (std::int64_t i = 0; i < kMostAhead; ++i) {
        rows[chosen.count + i] = w2.row(expert.place(first + chosen.places[std::min(i, chosen.count - 1)]));
    }
    if (layout.spec.has_gate()) {
        multiply(w3, rows, 0, chosen.count, ups);
    } else {  // a relu keeps the sums of the neurons that it keeps
        std::copy_n(values, n_tokens * kChosenTogether, ups);
    }
    finish_neurons(layout, from_first(biases.up), chosen, scale, n_tokens, ups, values);

    for (std::int64_t i = 0; i < chosen.count; ++i) rows[i] = w2.row(expert.place(first + chosen.places[i]));
    // w1 of the next stretch; after the last stretch, the memory at that place.
    for (std::int64_t i = 0; i < kMostAhead; ++i) rows[chosen.count + i] = w1_row(first + count + i);
    add(w2, rows, chosen, values);
}

}  // namespace
}  // namespace offstage::kernels
