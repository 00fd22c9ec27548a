// sparse_expert_ffn over Vector: for each stretch of neurons all of w1, then the rows of
// w3 and the columns of w2 of the chosen ones.
//
// A sum is formed in the same order whichever rows are taken together with it, and
// columns are added one after the other.

#include <algorithm>

#include "kernels/cpu/chosen_neurons_simd.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/packed_simd.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels {
namespace {

// The number of rows that share a pass over the inputs, and of columns that share one
// over the outputs. For one token many rows: memory delivers more in several streams. For
// several tokens as many as the registers hold. Eight rows were measured on a processor
// without CpuFeatures::rows_in_turn: they are 1.03 to 1.08 times as fast as four.
template <typename Rows>
constexpr int rows_together(int n_tokens, bool rows_in_turn = false) {
    if (n_tokens > 1 || Rows::kPacked) return 2;
    return kRegisters >= 32 && !rows_in_turn ? 8 : 4;
}
template <typename Rows>
constexpr int columns_together(int n_tokens) {
    return n_tokens == 1 && !Rows::kPacked ? 8 : 4;
}
constexpr std::int64_t kLeastAhead = 16;  // rows: those of the next two steps
constexpr std::int64_t kAtOnce = 16;      // neurons: see run_stretch()

// The row that begins at `place`, of the same kind as the others.
template <typename Weight>
const Weight* row_at(const PlainRows<Weight>& /*rows*/, const std::byte* place) {
    return reinterpret_cast<const Weight*>(place);
}
template <WeightType kType>
PackedRef<kType> row_at(const PackedRows<kType>& rows, const std::byte* place) {
    return {place, rows.layout};
}
inline DecodedRef row_at(const DecodedRows& rows, const std::byte* place) {
    DecodedRef row = rows.first;
    row.bytes = reinterpret_cast<const std::uint8_t*>(place);
    return row;
}

// Calls body(std::integral_constant<int, n>(), first) for tokens that are taken together.
template <typename Body>
__attribute__((always_inline)) inline void for_tokens(int n_tokens, const Body& body) {
    int token = 0;
    for (; n_tokens - token >= 4; token += 4) body(std::integral_constant<int, 4>(), token);
    for (; n_tokens - token >= 2; token += 2) body(std::integral_constant<int, 2>(), token);
    for (; token < n_tokens; ++token) body(std::integral_constant<int, 1>(), token);
}

// sums[t * kChosenTogether + i] = row i . x[t], for i in [begin, end).
template <int kRowsTogether, typename Rows>
void multiply_listed(const Rows& kind, const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t begin,
                     std::int64_t end, const float* x, std::int64_t n, int n_tokens, float* sums) {
    using Row = typename Rows::Row;
    for (std::int64_t i = begin; i < end; i += kRowsTogether) {
        Row now[kRowsTogether];
        Row ahead[kRowsTogether];
        for (int r = 0; r < kRowsTogether; ++r) {
            // Beyond the last row it is taken again: every sum is formed alike.
            const std::int64_t place = std::min(i + r, end - 1);
            now[r] = row_at(kind, rows[place]);
            ahead[r] = row_at(kind, rows[place + ahead_rows]);
        }
        for_tokens(n_tokens, [&](auto number, int first) {
            constexpr int kTokens = decltype(number)::value;
            float of_rows[kRowsTogether][kTokens];
            dot_products<kRowsTogether, kTokens>(now, ahead, x + first * n, n, n, of_rows);
            for (int r = 0; r < kRowsTogether && i + r < end; ++r) {
                for (int t = 0; t < kTokens; ++t) sums[(first + t) * kChosenTogether + i + r] = of_rows[r][t];
            }
        });
    }
}

template <int kNeurons, int kTokens, typename Weight>
__attribute__((always_inline)) inline void add_with_ahead(const Weight* const (&columns)[kNeurons],
                                                          const Weight* const (&ahead)[kNeurons],
                                                          const float (&activations)[kNeurons * kTokens],
                                                          std::int64_t n, float* out) {
    add_plain_columns<kNeurons, kTokens>(
        columns, activations, n, [&](int j) __attribute__((always_inline)) { return ahead[j]; }, out);
}

template <int kNeurons, int kTokens, PackedOrBlock Ref>
__attribute__((always_inline)) inline void add_with_ahead(const Ref (&columns)[kNeurons], const Ref (&ahead)[kNeurons],
                                                          const float (&activations)[kNeurons * kTokens],
                                                          std::int64_t n, float* out) {
    if constexpr (kTokens == 1) {
        for (int j = 0; j < kNeurons; ++j) {
            add_column(columns[j], n, ahead[j].bytes - columns[j].bytes, activations[j], out);
        }
    } else {
        for_each_unpacked(columns, ahead, n, [&](const float* weights, std::int64_t begin, std::int64_t count) {
            add_unpacked<kNeurons, kTokens>(weights, activations, count, out + begin, n);
        });
    }
}

// out[t] += sum over i of activations[t * kChosenTogether + i] * column i.
template <int kColumnsTogether, typename Rows>
void add_listed(const Rows& kind, const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t count,
                const float* activations, std::int64_t n, int n_tokens, float* out) {
    using Row = typename Rows::Row;
    const auto add = [&](auto together, std::int64_t i) {
        constexpr int kNeurons = decltype(together)::value;
        Row now[kNeurons];
        Row ahead[kNeurons];
        for (int j = 0; j < kNeurons; ++j) {
            now[j] = row_at(kind, rows[i + j]);
            ahead[j] = row_at(kind, rows[i + j + ahead_rows]);
        }
        for_tokens(n_tokens, [&](auto number, int first) {
            constexpr int kTokens = decltype(number)::value;
            float factors[kNeurons * kTokens];
            for (int j = 0; j < kNeurons; ++j) {
                for (int t = 0; t < kTokens; ++t) {
                    factors[j * kTokens + t] = activations[(first + t) * kChosenTogether + i + j];
                }
            }
            add_with_ahead<kNeurons, kTokens>(now, ahead, factors, n, out + first * n);
        });
    };
    std::int64_t i = 0;
    const auto add_all = [&](auto together) {
        constexpr int kNeurons = decltype(together)::value;
        for (; i + kNeurons <= count; i += kNeurons) add(together, i);
    };
    add_all(std::integral_constant<int, kColumnsTogether>());
    if constexpr (kColumnsTogether == 8) add_all(std::integral_constant<int, 4>());
    add_all(std::integral_constant<int, 2>());
    add_all(std::integral_constant<int, 1>());
}

// Products with these inputs, in the form that run_stretch() and list_chosen() take.
auto multiply_by(const float* x, std::int64_t n, int n_tokens) {
    return
        [=](const WeightView& weight, const std::byte* const* rows, std::int64_t begin, std::int64_t end, float* sums) {
            const std::int64_t ahead_rows = n_ahead(weight, kLeastAhead);
            with_rows(weight.data, weight.type, n, weight.stride_bytes(), [&](const auto& kind) {
                using Rows = std::decay_t<decltype(kind)>;
                const auto of_one = cpu_features().rows_in_turn ? multiply_listed<rows_together<Rows>(1, true), Rows>
                                                                : multiply_listed<rows_together<Rows>(1), Rows>;
                const auto run = n_tokens == 1 ? of_one : multiply_listed<rows_together<Rows>(2), Rows>;
                run(kind, rows, ahead_rows, begin, end, x, n, n_tokens, sums);
            });
        };
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

std::int64_t chosen_neurons(const ExpertView& expert, const float* x, int n_tokens, std::int64_t neuron_begin,
                            std::int64_t neuron_end, std::int32_t* chosen, std::uint64_t& active) {
    return list_chosen(expert, n_tokens, neuron_begin, neuron_end, chosen, active, kAtOnce,
                       multiply_by(x, expert.layout.hidden_dim, n_tokens));
}

void sparse_expert_ffn(const ExpertView& expert, const float* x, const float* scale, int n_tokens,
                       std::int64_t neuron_begin, std::int64_t neuron_end, float* out, NeuronCounts& counts) {
    const std::int64_t n = expert.layout.hidden_dim;
    const float* const bias = expert.biases().down;
    for (int t = 0; bias != nullptr && neuron_begin == 0 && t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; ++i) out[t * n + i] += scale[t] * bias[i];
    }
    const auto multiply = multiply_by(x, n, n_tokens);
    const auto add = [&](const WeightView& weight, const std::byte* const* rows, const ChosenNeurons& chosen,
                         const float* values) {
        const std::int64_t ahead_rows = n_ahead(weight, kLeastAhead);
        with_rows(weight.data, weight.type, n, weight.stride_bytes(), [&](const auto& kind) {
            using Rows = std::decay_t<decltype(kind)>;
            const auto run = n_tokens == 1 ? add_listed<columns_together<Rows>(1), Rows>
                                           : add_listed<columns_together<Rows>(2), Rows>;
            run(kind, rows, ahead_rows, chosen.count, values, n, n_tokens, out);
        });
    };
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kChosenTogether) {
        run_stretch(expert, scale, n_tokens, first, std::min(kChosenTogether, neuron_end - first), counts, kAtOnce,
                    multiply, add);
    }
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
