#include "engine/model/pack_neurons.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu_kernels.h"

namespace offstage::engine {

using kernels::Bf16;
using kernels::bytes_per_weight;
using kernels::WeightType;

namespace {

constexpr std::int64_t kNeuronBlock = 64;  // neurons packed together: 128 bytes of each row of down, two cache lines

// target[j * target_stride + h] = source[h * n_cols + j] for h in [0, n_rows), j in
// [begin, end).
template <typename Word>
void transpose_columns(const std::byte* source, std::int64_t n_rows, std::int64_t n_cols, std::int64_t begin,
                       std::int64_t end, std::byte* target, std::int64_t target_stride) {
    const auto* in = reinterpret_cast<const Word*>(source);
    auto* out = reinterpret_cast<Word*>(target);
    constexpr std::int64_t kRows = 32;  // a 64 x 32 tile of words stays in the first-level cache
    for (std::int64_t row = 0; row < n_rows; row += kRows) {
        const std::int64_t last = std::min(n_rows, row + kRows);
        for (std::int64_t j = begin; j < end; ++j) {
            Word* neuron = out + (j - begin) * target_stride;
            for (std::int64_t h = row; h < last; ++h) std::memcpy(neuron + h, in + h * n_cols + j, sizeof(Word));
        }
    }
}

// Columns [begin, end) of down become the third rows of these neurons.
void pack_down(const TensorView& down, std::int64_t begin, std::int64_t end, std::byte* block, WeightType type) {
    const std::int64_t hidden = down.shape[0];
    const std::int64_t ffn = down.shape[1];
    const std::size_t weight_bytes = bytes_per_weight(type);
    std::byte* target =
        block + static_cast<std::size_t>(begin * 3 + 2) * static_cast<std::size_t>(hidden) * weight_bytes;
    if (down.type == type && weight_bytes == 2) {
        transpose_columns<std::uint16_t>(down.bytes.data(), hidden, ffn, begin, end, target, 3 * hidden);
    } else if (down.type == type) {
        transpose_columns<std::uint32_t>(down.bytes.data(), hidden, ffn, begin, end, target, 3 * hidden);
    } else {
        const std::size_t source_bytes = bytes_per_weight(down.type);
        for (std::int64_t h = 0; h < hidden; ++h) {
            for (std::int64_t j = begin; j < end; ++j) {
                convert_weights(down.bytes.data() + static_cast<std::size_t>(h * ffn + j) * source_bytes, down.type,
                                target + static_cast<std::size_t>((j - begin) * 3 * hidden + h) * weight_bytes, type,
                                1);
            }
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

void pack_neurons(const TensorView& gate, const TensorView& up, const TensorView& down, WeightType type,
                  std::byte* block, kernels::ThreadPool& pool) {
    const std::int64_t ffn = gate.shape[0];
    const std::int64_t hidden = gate.shape[1];
    const std::size_t row_bytes = static_cast<std::size_t>(hidden) * bytes_per_weight(type);
    pool.parallel_for(ffn, kNeuronBlock, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t j = begin; j < end; ++j) {
            std::byte* neuron = block + static_cast<std::size_t>(j) * 3 * row_bytes;
            const auto row = static_cast<std::size_t>(j * hidden);
            convert_weights(gate.bytes.data() + row * bytes_per_weight(gate.type), gate.type, neuron, type, hidden);
            convert_weights(up.bytes.data() + row * bytes_per_weight(up.type), up.type, neuron + row_bytes, type,
                            hidden);
        }
        for (std::int64_t j = begin; j < end; j += kNeuronBlock) {
            pack_down(down, j, std::min(end, j + kNeuronBlock), block, type);
        }
    });
}

}  // namespace offstage::engine
