// sparse_expert_ffn_bytes and chosen_neurons_bytes: the products of
// quantized_experts_simd.cpp, with neurons of a list, chosen from a stretch of at most
// kChosenTogether.

#include <algorithm>

#include "kernels/cpu/chosen_neurons_simd.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/quantized_columns_simd.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels {
namespace {

// Rows in turns: a group of 256 weights of each row, then the next group of each. When
// the lines of a row are read one after the other, the processor prefetches beyond the
// row's end, where the bytes are not needed: Zen 4 reads rows of 1 KB with gaps of 2 KB
// at 9 GB/s that way, and in turns at 15 (tests/bench/results/kernels.md). Zen 5
// (CpuFeatures::rows_in_turn) was not measured.
constexpr int kMostInTurns = 32;
constexpr std::int64_t kInTurnsBytes = 80 * 1024;  // of the second-level cache; as much again is on its way
// The number of rows read in turns; 0: one row after the other.
std::int64_t rows_in_turns(const WeightView& weight, int n_tokens) {
    if (n_tokens > 1 || weight.type == WeightType::kHqq2 || cpu_features().rows_in_turn) return 0;
    const auto bytes = static_cast<std::int64_t>(row_bytes(weight.type, weight.n_cols));
    return std::clamp<std::int64_t>(kInTurnsBytes / bytes / 8 * 8, 8, kMostInTurns);
}
// Neurons that are chosen from together, and rows that are fetched ahead.
std::int64_t chosen_at_once(const WeightView& w1, int n_tokens) {
    const std::int64_t in_turns = rows_in_turns(w1, n_tokens);
    return in_turns > 0 ? in_turns : kNeurons;
}
std::int64_t fetched_ahead(const WeightView& weight, int n_tokens) {
    const std::int64_t in_turns = rows_in_turns(weight, n_tokens);
    return in_turns > 0 ? std::max<std::int64_t>(in_turns, kNeurons) : n_ahead(weight, 2);
}

// sums[i] = rows[i] . x, n long, for `count` rows, at most kMostInTurns, in turns.
template <WeightType kType>
void multiply_in_turns(const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t count,
                       const PackedRow& layout, std::int64_t n, const ByteGroup* const (&x)[1], float* sums) {
    const int n_rows = static_cast<int>((count + 1) / 2 * 2);
    const std::uint8_t* bytes[kMostInTurns];
    std::int64_t ahead[kMostInTurns];
    __m256 eighths[kMostInTurns / 2][2][1];
    for (int r = 0; r < n_rows; ++r) {
        const std::int64_t place = std::min<std::int64_t>(r, count - 1);
        bytes[r] = reinterpret_cast<const std::uint8_t*>(rows[place]);
        ahead[r] = rows[place + ahead_rows] - rows[place];
        eighths[r / 2][r % 2][0] = _mm256_setzero_ps();
    }
    for (std::int64_t g = 0; (g + 1) * kGroup <= n; ++g) {
        for (int r = 0; r < n_rows; r += 2) {
            const CodeRow now[2] = {{bytes[r], &layout}, {bytes[r + 1], &layout}};
            for (int i = 0; i < 2; ++i) CodeGroup<kType>::fetch(now[i], g, ahead[r + i]);
            add_groups<kType>(now, g, x, g, eighths[r / 2]);
        }
    }
    for (int r = 0; r < n_rows; r += 2) {
        const CodeRow now[2] = {{bytes[r], &layout}, {bytes[r + 1], &layout}};
        add_rest<kType>(now, x, n, eighths[r / 2]);
    }
    for (int i = 0; i < count; ++i) sums[i] = sum_of_eighths(eighths[i / 2][i % 2][0]);
}

// sums[t * kChosenTogether + i] = row i . input t, for i in [begin, end). in_turns: see
// rows_in_turns().
template <WeightType kType>
void multiply_listed(const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t in_turns, std::int64_t begin,
                     std::int64_t end, std::int64_t n, const ByteGroup* const* inputs, int n_tokens, float* sums) {
    const PackedRow layout = packed_row(kType, n);
    if (in_turns > 0) {
        const ByteGroup* const x[1] = {inputs[0]};
        for (std::int64_t i = begin; i < end; i += in_turns) {
            multiply_in_turns<kType>(rows + i, ahead_rows, std::min(in_turns, end - i), layout, n, x, sums + i);
        }
        return;
    }
    const auto take = [&](auto number_of_rows, auto number_of_tokens, std::int64_t i, int token) {
        constexpr int kRows = decltype(number_of_rows)::value;
        constexpr int kTokens = decltype(number_of_tokens)::value;
        CodeRow now[kRows];
        std::int64_t ahead[kRows];
        for (int r = 0; r < kRows; ++r) {
            const std::int64_t place = std::min(i + r, end - 1);
            now[r] = {reinterpret_cast<const std::uint8_t*>(rows[place]), &layout};
            ahead[r] = rows[place + ahead_rows] - rows[place];
        }
        const ByteGroup* x[kTokens];
        for (int t = 0; t < kTokens; ++t) x[t] = inputs[token + t];
        float of_rows[kRows][kTokens];
        dot_rows<kType>(now, x, n, ahead, of_rows);
        for (int r = 0; r < kRows && i + r < end; ++r) {
            for (int t = 0; t < kTokens; ++t) sums[(token + t) * kChosenTogether + i + r] = of_rows[r][t];
        }
    };
    using One = std::integral_constant<int, 1>;
    using Two = std::integral_constant<int, 2>;
    using Four = std::integral_constant<int, 4>;
    if (n_tokens == 1) {
        for (std::int64_t i = begin; i < end; i += 2) take(Two(), One(), i, 0);
        return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
        int token = 0;
        for (; n_tokens - token >= 4; token += 4) take(One(), Four(), i, token);
        for (; n_tokens - token >= 2; token += 2) take(One(), Two(), i, token);
        for (; token < n_tokens; ++token) take(One(), One(), i, token);
    }
}

// out += the columns rows[0 .. count), kNeurons of them at a time, times values[t *
// kChosenTogether + i].
template <WeightType kType>
void add_listed(const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t count, const float* values,
                std::int64_t n, int n_tokens, float* out) {
    for (std::int64_t i = 0; i < count; i += kNeurons) {
        const std::byte* columns[kNeurons];
        std::int64_t ahead[kNeurons];
        alignas(64) float activations[kMostTokens * kNeurons];
        for (int j = 0; j < kNeurons; ++j) {
            const bool there = i + j < count;
            columns[j] = rows[there ? i + j : count - 1];
            ahead[j] = rows[std::min(i, count - 1) + j + ahead_rows] - columns[j];
            for (int t = 0; t < n_tokens; ++t) {
                activations[t * kNeurons + j] = there ? values[t * kChosenTogether + i + j] : 0.0f;
            }
        }
        add_rounded_columns<kType>(columns, n, ahead, activations, n_tokens, out);
    }
}

// Rounded inputs, and products of listed rows with them, in the form that run_stretch()
// and list_chosen() take.
struct RoundedTokens {
    RoundedTokens(const std::byte* const* inputs, std::int64_t dim, int n) : n_columns(dim), n_tokens(n) {
        for (int t = 0; t < n; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    }
    void operator()(const WeightView& weight, const std::byte* const* rows, std::int64_t begin, std::int64_t end,
                    float* sums) const {
        const std::int64_t ahead_rows = fetched_ahead(weight, n_tokens);
        const std::int64_t in_turns = rows_in_turns(weight, n_tokens);
        with_packed_type(weight.type, [&](auto constant) {
            multiply_listed<decltype(constant)::value>(rows, ahead_rows, in_turns, begin, end, n_columns, x, n_tokens,
                                                       sums);
        });
    }

    const ByteGroup* x[kMostTokens];
    std::int64_t n_columns;
    int n_tokens;
};

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

std::int64_t chosen_neurons_bytes(const ExpertView& expert, const std::byte* const* inputs, int n_tokens,
                                  std::int64_t neuron_begin, std::int64_t neuron_end, std::int32_t* chosen,
                                  std::uint64_t& active) {
    return list_chosen(expert, n_tokens, neuron_begin, neuron_end, chosen, active,
                       chosen_at_once(expert.gate(), n_tokens),
                       RoundedTokens(inputs, expert.layout.hidden_dim, n_tokens));
}

void sparse_expert_ffn_bytes(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
                             std::int64_t neuron_begin, std::int64_t neuron_end, float* out, NeuronCounts& counts) {
    const std::int64_t n = expert.layout.hidden_dim;
    const float* const bias = expert.biases().down;
    for (int t = 0; bias != nullptr && neuron_begin == 0 && t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; ++i) out[t * n + i] += scale[t] * bias[i];
    }
    const RoundedTokens multiply(inputs, n, n_tokens);
    const std::int64_t at_once = chosen_at_once(expert.gate(), n_tokens);
    // Columns are prefetched as far ahead as rows of w3; the last rows of w3 prefetch the
    // first columns.
    const std::int64_t ahead_columns = n_tokens == 1 ? std::max<std::int64_t>(at_once, kNeurons) : kNeurons;
    const auto add = [&](const WeightView& weight, const std::byte* const* rows, const ChosenNeurons& chosen,
                         const float* values) {
        with_packed_type(weight.type, [&](auto constant) {
            constexpr WeightType kType = decltype(constant)::value;
            if (n_tokens == 1) return add_listed<kType>(rows, ahead_columns, chosen.count, values, n, n_tokens, out);
            // Who shares a step of rounding must not depend on the other tokens.
            for (std::int64_t begin = 0, end = 0; begin < chosen.count; begin = end) {
                const std::int64_t group = chosen.places[begin] / kNeurons;
                while (end < chosen.count && chosen.places[end] / kNeurons == group) ++end;
                add_listed<kType>(rows + begin, ahead_columns, end - begin, values + begin, n, n_tokens, out);
            }
        });
    };
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kChosenTogether) {
        run_stretch(expert, scale, n_tokens, first, std::min(kChosenTogether, neuron_end - first), counts, at_once,
                    multiply, add);
    }
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
