#include "engine/model/pack_neurons.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "kernels/cpu_kernels.h"

namespace offstage::engine {

using kernels::Bf16;
using kernels::bytes_per_weight;
using kernels::WeightType;

namespace {

// Neurons packed together: of 16-bit weights that lie side by side, two cache lines.
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

}  // namespace

void convert_weights(const std::byte* source, WeightType from, std::byte* target, WeightType to, std::int64_t n) {
    const kernels::CpuKernels& k = kernels::cpu_kernels();
    if (from == to) {
        std::memcpy(target, source, static_cast<std::size_t>(n) * bytes_per_weight(to));
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

void pack_neurons(const NeuronMatrix& gate, const NeuronMatrix& up, const NeuronMatrix& down,
                  const kernels::ExpertLayout& layout, std::byte* block, kernels::ThreadPool& pool) {
    assert(layout.is_uniform() && !is_packed(layout.gate));
    const std::size_t stride = layout.neuron_bytes();
    pool.parallel_for(layout.ffn_dim, kNeuronBlock, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t j = begin; j < end; j += kNeuronBlock) {
            const std::int64_t last = std::min(end, j + kNeuronBlock);
            std::byte* const neuron = block + static_cast<std::size_t>(j) * stride;
            pack_rows(gate, layout.hidden_dim, j, last, layout.gate, neuron, stride);
            pack_rows(up, layout.hidden_dim, j, last, layout.up, neuron + layout.up_offset(), stride);
            pack_rows(down, layout.hidden_dim, j, last, layout.down, neuron + layout.down_offset(), stride);
        }
    });
}

}  // namespace offstage::engine
