// expert_ffn_bytes: w1 and w3 by the products of quantized_row_dots_simd.h, w2 by those
// of quantized_columns_simd.h.

#include <algorithm>

#include "kernels/cpu/activation_simd.h"
#include "kernels/cpu/lines_ahead.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/quantized_columns_simd.h"

namespace offstage::kernels {
namespace {

// The same for up to kByteTileNeurons columns and any number of tokens, whose activations
// lie kByteTileNeurons apart: all of them for 64 columns of the output, which stay in the
// first-level cache. sums: (n / kPackedBlock, n_tokens, kPackedBlock); room:
// (kByteTileNeurons / kNeurons, groups of a batch, n_tokens). Prefetches n_bytes from
// `next` on.
template <WeightType kType, typename Ahead>
void add_tile_columns(const WeightView& w2, std::int64_t first_neuron, int count, std::int64_t n,
                      const float* activations, int n_tokens, float* sums, RoundedGroup* room, const Ahead& ahead,
                      const std::byte* next, std::int64_t n_bytes) {
    constexpr int kGroups = GroupScales<kType>::kGroups;
    constexpr int kGroupsPerBlock = GroupScales<kType>::kGroupsPerBlock;
    const PackedRow layout = packed_row(kType, n);
    const std::byte* columns[kByteTileNeurons];
    const int n_sixteens = (count + kNeurons - 1) / kNeurons;
    for (int j = 0; j < n_sixteens * kNeurons; ++j) {
        columns[j] = reinterpret_cast<const std::byte*>(w2.row(first_neuron + std::min(j, count - 1)));
    }
    LinesAhead lines(next, n_bytes, n_sixteens * layout.n_blocks);
    GroupScales<kType> scales[kNeurons];
    for (std::int64_t first = 0; first < layout.n_blocks; first += kBatchBlocks) {
        const int n_blocks = static_cast<int>(std::min<std::int64_t>(kBatchBlocks, layout.n_blocks - first));
        for (int s = 0; s < n_sixteens; ++s) {
            read_scales<kType>(columns + s * kNeurons, layout, first, n_blocks, ahead, scales);
            for (int t = 0; t < n_tokens; ++t) {
                round_groups<kType>(scales, activations + t * kByteTileNeurons + s * kNeurons,
                                    n_blocks * kGroupsPerBlock, room + s * kGroups * n_tokens + t, n_tokens);
            }
        }
        for (int b = 0; b < n_blocks; ++b) {
            float* const of_block = sums + (first + b) * n_tokens * kPackedBlock;
            for (int s = 0; s < n_sixteens; ++s) {
                lines.step();
                Bytes fours[kFours][kColumnVectors];
                gather_fours<kType>(columns + s * kNeurons, layout, first + b, ahead, fours);
                const RoundedGroup* rounded = room + (s * kGroups + b * kGroupsPerBlock) * n_tokens;
                for (int t = 0; t < n_tokens; ++t, ++rounded) {
                    add_block<kType>(fours, RoundedGroups{rounded, n_tokens}, 0, of_block + t * kPackedBlock);
                }
            }
        }
    }
}

// gates[t * kNeurons + j], and ups: `count` neurons from `first` on. One place for both:
// w1 and w3 are one matrix.
template <WeightType kType>
void multiply_neurons(const WeightView& w1, const WeightView& w3, const ByteGroup* const* inputs, int n_tokens,
                      std::int64_t first, int count, std::int64_t ahead, float* gates, float* ups) {
    const PackedRow layout = packed_row(kType, w1.n_cols);
    const auto row = [&](const WeightView& weight, int j) {
        return CodeRow{reinterpret_cast<const std::uint8_t*>(weight.row(first + j)), &layout};
    };
    if (n_tokens == 1 && gates != ups) {
        const ByteGroup* const x[1] = {inputs[0]};
        for (int j = 0; j < count; ++j) {
            const CodeRow rows[2] = {row(w1, j), row(w3, j)};
            float sums[2][1];
            if constexpr (kType == WeightType::kInt8) {  // others take longer to unpack than memory takes
                dot_rows<kType>(rows, x, w1.n_cols, FarAndNear{ahead, static_cast<std::int64_t>(w1.stride_bytes())},
                                sums);
            } else {
                dot_rows<kType>(rows, x, w1.n_cols, ahead, sums);
            }
            gates[j] = sums[0][0];
            ups[j] = sums[1][0];
        }
        return;
    }
    int token = 0;
    const auto take = [&](auto number) {
        constexpr int kTokens = decltype(number)::value;
        for (; n_tokens - token >= kTokens; token += kTokens) {
            const ByteGroup* x[kTokens];
            for (int t = 0; t < kTokens; ++t) x[t] = inputs[token + t];
            for (int j = 0; j < count; ++j) {
                for (const bool is_gate : {true, false}) {
                    if (is_gate && gates == ups) continue;
                    const CodeRow rows[1] = {row(is_gate ? w1 : w3, j)};
                    float sums[1][kTokens];
                    dot_rows<kType>(rows, x, w1.n_cols, ahead, sums);
                    float* const to = (is_gate ? gates : ups) + token * kNeurons + j;
                    for (int t = 0; t < kTokens; ++t) to[t * kNeurons] = sums[0][t];
                }
            }
        }
    };
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 3>());
    take(std::integral_constant<int, 2>());
    take(std::integral_constant<int, 1>());
}

// The scratch memory of expert_ffn_bytes().
struct TileRoom {
    float* gates;  // (n_tokens, kByteTileNeurons); the same as ups where w1 and w3 are one matrix
    float* ups;
    float* sums;  // see add_tile_columns()
    RoundedGroup* rounded;

    TileRoom(std::byte* scratch, std::int64_t n, int n_tokens, bool has_gate) {
        void* const aligned = scratch + (64 - reinterpret_cast<std::uintptr_t>(scratch) % 64) % 64;
        gates = static_cast<float*>(aligned);
        ups = has_gate ? gates + n_tokens * kByteTileNeurons : gates;
        sums = ups + n_tokens * kByteTileNeurons;
        void* const behind = sums + n_tokens * n;
        rounded = static_cast<RoundedGroup*>(behind);
    }
};

// Between rows of sums, and (blocks, tokens).
template <bool kIntoBlocks>
void move_sums(float* rows, std::int64_t n, int n_tokens, float* blocks) {
    for (int t = 0; t < n_tokens; ++t) {
        for (std::int64_t b = 0; b * kPackedBlock < n; ++b) {
            float* const row = rows + t * n + b * kPackedBlock;
            float* const block = blocks + (b * n_tokens + t) * kPackedBlock;
            std::memcpy(kIntoBlocks ? block : row, kIntoBlocks ? row : block, kPackedBlock * sizeof(float));
        }
    }
}

// Neurons [first, first + count) of an expert, at most kByteTileNeurons, for many tokens;
// n_next of them follow.
void run_tile(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
              std::int64_t first, int count, std::int64_t n_next, const TileRoom& room, std::byte* product_scratch) {
    // A neuron's weights are contiguous: each of the two or three products prefetches its
    // share of the following bytes, in order.
    const std::byte* next = expert.gate().row(first + count);
    const auto share =
        static_cast<std::int64_t>(expert.layout.neuron_bytes()) * n_next / expert.layout.spec.n_matrices();
    const auto multiply_rows_of = [&](const WeightView& all, float* to) {
        WeightView some = all;
        some.data = all.row(first);
        some.n_rows = count;
        OFFSTAGE_INSTRUCTION_SET::matvec_bytes_ahead(some, inputs, n_tokens, 0, count, to, kByteTileNeurons,
                                                     product_scratch, next, share);
        next += share;
    };
    if (expert.layout.spec.has_gate()) multiply_rows_of(expert.gate(), room.gates);
    multiply_rows_of(expert.up(), room.ups);
    const ExpertBiases biases = expert.biases();
    for (int t = 0; t < n_tokens; ++t) {
        float* const gate = room.gates + t * kByteTileNeurons;
        float* const up = room.ups + t * kByteTileNeurons;
        for (int j = count; j < kByteTileNeurons; ++j) gate[j] = up[j] = 0.0f;
        for (int j = 0; biases.gate != nullptr && j < count; ++j) {
            gate[j] += biases.gate[first + j];
            up[j] += biases.up[first + j];
        }
        const Vector factor = broadcast(scale[t]);
        for (int j = 0; j < kByteTileNeurons; j += kLanes) {
            store(gate + j, multiply(factor, activation(expert.layout.spec, load(gate + j), load(up + j))));
        }
        // Missing neurons get 0, even where the activation is not finite.
        for (int j = count; j < kByteTileNeurons; ++j) gate[j] = 0.0f;
    }
    const WeightView w2 = expert.down();
    with_packed_type(w2.type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        const auto add_columns = [&](const auto& ahead, std::int64_t n_bytes) {
            add_tile_columns<kType>(w2, first, count, expert.layout.hidden_dim, room.gates, n_tokens, room.sums,
                                    room.rounded, ahead, next, n_bytes);
        };
        constexpr bool kAlwaysPanels = takes_panels(kType, kFewByteExpertTokens + 1);
        if constexpr (kFetchesBesideProducts) {
            if (kAlwaysPanels || takes_panels(kType, n_tokens)) return add_columns(FetchedByOthers{}, share);
        }
        if constexpr (!kFetchesBesideProducts || !kAlwaysPanels) {
            add_columns(static_cast<std::int64_t>(w2.stride_bytes()) * kByteTileNeurons, 0);
        }
    });
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

void expert_ffn_bytes(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
                      std::int64_t neuron_begin, std::int64_t neuron_end, float* out, std::byte* scratch) {
    const std::int64_t n = expert.layout.hidden_dim;
    const WeightView w1 = expert.gate();
    const WeightView w3 = expert.up();
    const WeightView w2 = expert.down();
    const ExpertBiases biases = expert.biases();
    for (int t = 0; biases.down != nullptr && neuron_begin == 0 && t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; ++i) out[t * n + i] += scale[t] * biases.down[i];
    }
    if (n_tokens > kFewByteExpertTokens) {
        const TileRoom room(scratch + byte_product_scratch(n), n, n_tokens, expert.layout.spec.has_gate());
        move_sums<true>(out, n, n_tokens, room.sums);
        for (std::int64_t first = neuron_begin; first < neuron_end; first += kByteTileNeurons) {
            const int count = static_cast<int>(std::min(kByteTileNeurons, neuron_end - first));
            const std::int64_t n_next = std::min(kByteTileNeurons, neuron_end - first - count);
            run_tile(expert, inputs, scale, n_tokens, first, count, n_next, room, scratch);
        }
        move_sums<false>(out, n, n_tokens, room.sums);
        return;
    }
    const ByteGroup* x[kMostTokens];
    for (int t = 0; t < n_tokens; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    // The next group of neurons.
    const auto ahead = static_cast<std::int64_t>(expert.layout.neuron_bytes()) * kNeurons;
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kNeurons) {
        const int count = static_cast<int>(std::min<std::int64_t>(kNeurons, neuron_end - first));
        alignas(64) float own_gates[kMostTokens * kNeurons] = {};
        alignas(64) float ups[kMostTokens * kNeurons] = {};
        float* const gates = expert.layout.spec.has_gate() ? own_gates : ups;
        with_packed_type(w1.type, [&](auto constant) {
            multiply_neurons<decltype(constant)::value>(w1, w3, x, n_tokens, first, count, ahead, gates, ups);
        });
        for (int t = 0; t < n_tokens; ++t) {
            float* const gate = gates + t * kNeurons;
            float* const up = ups + t * kNeurons;
            for (int j = 0; biases.gate != nullptr && j < count; ++j) {
                gate[j] += biases.gate[first + j];
                up[j] += biases.up[first + j];
            }
            for (int j = 0; j < kNeurons; j += kLanes) {
                store(gate + j, activation(expert.layout.spec, load(gate + j), load(up + j)));
            }
            // Missing neurons get 0, even where the activation is not finite.
            for (int j = 0; j < kNeurons; ++j) gate[j] = j < count ? scale[t] * gate[j] : 0.0f;
        }
        const std::byte* columns[kNeurons];
        for (int j = 0; j < kNeurons; ++j) {
            columns[j] = reinterpret_cast<const std::byte*>(w2.row(first + std::min(j, count - 1)));
        }
        with_packed_type(w2.type, [&](auto constant) {
            add_rounded_columns<decltype(constant)::value>(columns, n, ahead, gates, n_tokens, out);
        });
    }
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
