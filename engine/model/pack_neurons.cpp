#include "engine/model/pack_neurons.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cpu_kernels.h"
#include "kernels/scaled_weights.h"

namespace offstage::engine {

using kernels::Bf16;
using kernels::bytes_per_weight;
using kernels::WeightType;

namespace {

// Neurons packed together: two cache lines of adjacent 16-bit weights.
constexpr std::int64_t kNeuronBlock = 64;

// target[j * target_stride + h] = weight (begin + j, h), for n_hidden values h of neurons
// [begin, end); strides in words.
template <typename Word>
void transpose_neurons(const NeuronMatrix& from, std::int64_t n_hidden, std::int64_t begin, std::int64_t end,
                       std::byte* target, std::int64_t target_stride) {
    const auto* in = reinterpret_cast<const Word*>(from.data);
    auto* out = reinterpret_cast<Word*>(target);
    constexpr std::int64_t kRows = 32;  // a 64 x 32 tile of words stays in the first-level cache
    for (std::int64_t row = 0; row < n_hidden; row += kRows) {
        const std::int64_t last = std::min(n_hidden, row + kRows);
        for (std::int64_t j = begin; j < end; ++j) {
            Word* neuron = out + (j - begin) * target_stride;
            const Word* weights = in + j * from.neuron_stride;
            for (std::int64_t h = row; h < last; ++h) {
                std::memcpy(neuron + h, weights + h * from.hidden_stride, sizeof(Word));
            }
        }
    }
}

// Neurons [begin, end) become rows of n_hidden weights, `stride` bytes apart.
void pack_rows(const NeuronMatrix& from, std::int64_t n_hidden, std::int64_t begin, std::int64_t end, WeightType type,
               std::byte* target, std::size_t stride) {
    const std::size_t in = bytes_per_weight(from.type);
    const std::size_t out = bytes_per_weight(type);
    const auto words = static_cast<std::int64_t>(stride / out);
    if (from.hidden_stride != 1 && from.type == type) {
        if (out == 2) {
            transpose_neurons<std::uint16_t>(from, n_hidden, begin, end, target, words);
        } else {
            transpose_neurons<std::uint32_t>(from, n_hidden, begin, end, target, words);
        }
        return;
    }
    const std::int64_t together = from.hidden_stride == 1 ? n_hidden : 1;
    for (std::int64_t j = begin; j < end; ++j) {
        std::byte* const row = target + static_cast<std::size_t>(j - begin) * stride;
        for (std::int64_t h = 0; h < n_hidden; h += together) {
            const std::int64_t element = j * from.neuron_stride + h * from.hidden_stride;
            convert_weights(from.data + static_cast<std::size_t>(element) * in, from.type,
                            row + static_cast<std::size_t>(h) * out, type, together);
        }
    }
}

// Codes in the order of weights and their exponents become blocks: the exponent, then
// bytes of the codes i and i + 16.
void join_mxfp4(const NeuronMatrix& from, std::int64_t first, std::int64_t n, std::byte* blocks) {
    for (std::int64_t b = first / 32; b < (first + n) / 32; ++b, blocks += 17) {
        blocks[0] = from.exponents[b];
        const std::byte* const codes = from.data + b * 16;
        const auto code = [&](int i) { return (codes[i / 2] >> (i % 2 * 4)) & std::byte{15}; };
        for (int i = 0; i < 16; ++i) blocks[1 + i] = code(i) | code(i + 16) << 4;
    }
}

// Rows [begin, end) of n_cols weights, each `stride` bytes behind the one before: row j
// of the target is neuron j of the source.
void copy_unscaled_rows(const NeuronMatrix& from, WeightType type, std::int64_t begin, std::int64_t end,
                        std::int64_t n_cols, std::byte* target, std::size_t stride) {
    if (kernels::is_plain(type)) {
        pack_rows(from, n_cols, begin, end, type, target + static_cast<std::size_t>(begin) * stride, stride);
        return;
    }
    for (std::int64_t j = begin; j < end; ++j) {
        if (from.exponents != nullptr) {
            join_mxfp4(from, j * from.neuron_stride, n_cols, target + static_cast<std::size_t>(j) * stride);
            continue;
        }
        std::memcpy(target + static_cast<std::size_t>(j) * stride,
                    from.data + kernels::row_bytes(type, j * from.neuron_stride), kernels::row_bytes(type, n_cols));
    }
}

void copy_rows(const NeuronMatrix& from, WeightType type, std::int64_t begin, std::int64_t end, std::int64_t n_cols,
               std::byte* target, std::size_t stride) {
    copy_unscaled_rows(from, type, begin, end, n_cols, target, stride);
    for (std::int64_t j = begin; j < end && from.factor != 1.0f; ++j) {
        kernels::multiply_weights(type, target + static_cast<std::size_t>(j) * stride, n_cols, from.factor);
    }
}

// The place of one of the matrices in a block, as separate rows: if the rows of w2
// are outputs, `from` is transposed.
struct PlacedMatrix {
    WeightType type;
    std::int64_t n_rows, n_cols;
    std::size_t offset, stride;
    bool rows_are_neurons;
};

PlacedMatrix placed(int matrix, const kernels::ExpertLayout& layout) {
    if (matrix == 0) return {layout.gate, layout.ffn_dim, layout.hidden_dim, 0, layout.neuron_bytes(), true};
    if (matrix == 1) {
        return {layout.up, layout.ffn_dim, layout.hidden_dim, layout.up_offset(), layout.neuron_bytes(), true};
    }
    if (layout.down_rows_are_outputs) {
        return {layout.down, layout.hidden_dim, layout.ffn_dim, layout.down_offset(), layout.down_stride(), false};
    }
    return {layout.down, layout.ffn_dim, layout.hidden_dim, layout.down_offset(), layout.neuron_bytes(), true};
}

NeuronMatrix with_rows_of(const PlacedMatrix& place, NeuronMatrix from) {
    if (!place.rows_are_neurons) std::swap(from.neuron_stride, from.hidden_stride);
    return from;
}

}  // namespace

void convert_weights(const std::byte* source, WeightType from, std::byte* target, WeightType to, std::int64_t n) {
    const kernels::CpuKernels& k = kernels::cpu_kernels();
    if (from == to) {
        std::memcpy(target, source, kernels::row_bytes(to, n));
    } else if (to == WeightType::kF32) {
        k.widen(source, from, n, reinterpret_cast<float*>(target));
    } else {
        std::array<float, 256> widened{};
        const auto step = static_cast<std::int64_t>(widened.size());
        for (std::int64_t i = 0; i < n; i += step) {
            const std::int64_t count = std::min(n - i, step);
            k.widen(source + static_cast<std::size_t>(i) * bytes_per_weight(from), from, count, widened.data());
            k.narrow_bf16(widened.data(), count, reinterpret_cast<Bf16*>(target) + i);
        }
    }
}

void pack_matrices(const std::array<NeuronMatrix, 3>& matrices, const kernels::ExpertLayout& layout, std::byte* block,
                   kernels::ThreadPool& pool) {
    const int first = layout.spec.first_matrix();
    if (layout.down_rows_are_outputs) {
        for (int i = first; i < 3; ++i) {
            const PlacedMatrix place = placed(i, layout);
            const NeuronMatrix from = with_rows_of(place, matrices[static_cast<std::size_t>(i)]);
            pool.parallel_for(place.n_rows, kNeuronBlock, [&](std::int64_t begin, std::int64_t end, int) {
                copy_rows(from, place.type, begin, end, place.n_cols, block + place.offset, place.stride);
            });
        }
        return;
    }
    assert(layout.is_uniform() && kernels::is_plain(layout.gate));
    pool.parallel_for(layout.ffn_dim, kNeuronBlock, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t j = begin; j < end; j += kNeuronBlock) {
            const std::int64_t last = std::min(end, j + kNeuronBlock);
            for (int i = first; i < 3; ++i) {
                const PlacedMatrix place = placed(i, layout);
                copy_rows(matrices[static_cast<std::size_t>(i)], place.type, j, last, place.n_cols,
                          block + place.offset, place.stride);
            }
        }
    });
}

void pack_rows_of(const NeuronMatrix& first_rows, const MatrixRows& rows, const kernels::ExpertLayout& layout,
                  std::byte* block) {
    const PlacedMatrix place = placed(rows.matrix, layout);
    const NeuronMatrix from = with_rows_of(place, first_rows);
    const std::int64_t n = rows.end - rows.begin;
    std::byte* const target = block + place.offset;
    if (rows.by_neurons == place.rows_are_neurons) {
        const std::size_t skipped = static_cast<std::size_t>(rows.begin) * place.stride;
        copy_rows(from, place.type, 0, n, place.n_cols, target + skipped, place.stride);
        return;
    }
    // Some columns of every row: only for plain weights, because blocks run along the
    // rows.
    assert(kernels::is_plain(place.type));
    const std::size_t skipped = static_cast<std::size_t>(rows.begin) * bytes_per_weight(place.type);
    for (std::int64_t j = 0; j < place.n_rows; j += kNeuronBlock) {
        copy_rows(from, place.type, j, std::min(place.n_rows, j + kNeuronBlock), n, target + skipped, place.stride);
    }
}

void unpack_expert(const kernels::ExpertView& expert, const kernels::ExpertLayout& layout, std::byte* block,
                   kernels::ThreadPool& pool) {
    assert(layout.is_uniform() && layout.gate == WeightType::kF32);
    const kernels::CpuKernels& k = kernels::cpu_kernels();
    const auto floats = [&](std::int64_t neuron, std::size_t offset) {
        return reinterpret_cast<float*>(block + static_cast<std::size_t>(neuron) * layout.neuron_bytes() + offset);
    };
    const std::int64_t hidden = layout.hidden_dim;
    const std::int64_t ffn = layout.ffn_dim;
    const kernels::WeightView gate = expert.gate(), up = expert.up(), down = expert.down();
    pool.parallel_for(ffn, kNeuronBlock, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t j = begin; j < end; ++j) {
            if (layout.spec.has_gate()) k.widen(gate.row(j), gate.type, hidden, floats(j, 0));
            k.widen(up.row(j), up.type, hidden, floats(j, layout.up_offset()));
            if (!expert.layout.down_rows_are_outputs) {
                k.widen(down.row(j), down.type, hidden, floats(j, layout.down_offset()));
            }
        }
    });
    if (expert.layout.down_rows_are_outputs) {
        // Some rows at once: a neuron then gets a cache line of each.
        constexpr std::int64_t kRows = 16;
        std::vector<std::vector<float>> rows(static_cast<std::size_t>(pool.n_threads()));
        for (auto& row : rows) row.resize(static_cast<std::size_t>(kRows * ffn));
        pool.parallel_dynamic((hidden + kRows - 1) / kRows, [&](std::int64_t piece, int thread) {
            float* const wide = rows[static_cast<std::size_t>(thread)].data();
            const std::int64_t first = piece * kRows;
            const std::int64_t n = std::min(kRows, hidden - first);
            for (std::int64_t r = 0; r < n; ++r) k.widen(down.row(first + r), down.type, ffn, wide + r * ffn);
            for (std::int64_t j = 0; j < ffn; ++j) {
                float* const column = floats(j, layout.down_offset()) + first;
                for (std::int64_t r = 0; r < n; ++r) column[r] = wide[r * ffn + j];
            }
        });
    }
    if (layout.spec.biases) std::memcpy(block + layout.bias_offset(), expert.biases().gate, layout.bias_bytes());
}

}  // namespace offstage::engine
