#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/block_parts.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"
#include "kernels/interleaved.h"
#include "kernels/packed.h"

namespace offstage::kernels::scalar {
namespace {

constexpr std::int64_t kInputsPerScale = 32;
constexpr std::int64_t kGroup = 256;

// As quantized_dots_simd.cpp has them, in their own order and without sums.
struct RoundedInputs {
    const std::int8_t* codes;
    const std::byte* scales;

    RoundedInputs(const std::byte* bytes, std::int64_t n)
        : codes(reinterpret_cast<const std::int8_t*>(bytes)), scales(bytes + (n + kGroup - 1) / kGroup * kGroup) {}
    float scale(std::int64_t part) const {
        float value = 0.0f;
        std::memcpy(&value, scales + part * 4, sizeof value);
        return value;
    }
};

template <WeightType kType>
float dot_parts(const std::uint8_t* row, std::int64_t n, const RoundedInputs& x) {
    constexpr int kWeights = traits_of(kType).group;
    constexpr int kBytes = traits_of(kType).block_bytes;
    float sum = 0.0f;
    for (std::int64_t i = 0; i < n; i += kPartWeights) {
        BlockPart part;
        read_part<kType>(row + i / kWeights * kBytes, static_cast<int>(i % kWeights) / kPartWeights, kBlockCodebooks,
                         part);
        int products = 0;
        int inputs = 0;
        for (int j = 0; j < kPartWeights; ++j) {
            const int input = x.codes[i + j];
            products += part.codes[j] * input;
            inputs += input;
        }
        const float scale = x.scale(i / kPartWeights);
        sum += part.scale * scale * static_cast<float>(products);
        if (has_bias(kType)) sum += part.bias * scale * static_cast<float>(inputs);
    }
    return sum;
}

// Code of weight i of a packed row.
int code_of(WeightType type, const std::byte* row, const PackedRow& layout, std::int64_t i) {
    const std::byte* const block = row + layout.codes + i / kPackedBlock * layout.block_bytes;
    const auto w = static_cast<int>(i % kPackedBlock);
    return type == WeightType::kInt8 ? static_cast<std::int8_t>(block[w]) : packed_code(type, block, w);
}

float dot_packed(WeightType type, const std::byte* row, std::int64_t n, const RoundedInputs& x) {
    const PackedRow layout = packed_row(type, n);
    float sum = 0.0f;
    for (std::int64_t i = 0; i < n; i += kPartWeights) {
        float scale = 0.0f;
        float zero = 0.0f;
        packed_group(type, row, layout, i / layout.group, scale, zero);
        int products = 0;
        int inputs = 0;
        for (std::int64_t j = i; j < i + kPartWeights; ++j) {
            products += code_of(type, row, layout, j) * x.codes[j];
            inputs += x.codes[j];
        }
        const float step = x.scale(i / kPartWeights);
        sum += scale * step * static_cast<float>(products) - scale * zero * step * static_cast<float>(inputs);
    }
    return sum;
}

float dot_rounded(const WeightView& weight, std::int64_t row, const RoundedInputs& x) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(weight.row(row));
    if (is_packed(weight.type)) {
        return dot_packed(weight.type, reinterpret_cast<const std::byte*>(bytes), weight.n_cols, x);
    }
    float sum = 0.0f;
    with_block_type(weight.type,
                    [&](auto constant) { sum = dot_parts<decltype(constant)::value>(bytes, weight.n_cols, x); });
    return sum;
}

// out += the columns of a group of `count` neurons times their activations, rounded for
// each group of columns.
void add_rounded_columns(const WeightView& columns, const float* activations, const std::int64_t* neurons,
                         std::int64_t count, float* out) {
    const WeightType type = columns.type;
    const PackedRow layout = packed_row(type, columns.n_cols);
    for (std::int64_t g = 0; g < layout.n_groups; ++g) {
        float factors[kRoundedNeurons] = {};
        float most = 0.0f;
        float bias = 0.0f;
        for (std::int64_t j = 0; j < count; ++j) {
            float scale = 0.0f;
            float zero = 0.0f;
            packed_group(type, reinterpret_cast<const std::byte*>(columns.row(neurons[j])), layout, g, scale, zero);
            factors[j] = activations[j] * scale;
            most = std::max(most, std::fabs(factors[j]));
            bias -= activations[j] * (scale * zero);
        }
        const float to_code = most > 0.0f ? 127.0f / most : 0.0f;
        const float step = most / 127.0f;
        for (std::int64_t i = g * layout.group; i < (g + 1) * layout.group; ++i) {
            int sum = 0;
            for (std::int64_t j = 0; j < count; ++j) {
                const auto* const row = reinterpret_cast<const std::byte*>(columns.row(neurons[j]));
                sum += static_cast<int>(std::nearbyint(factors[j] * to_code)) * code_of(type, row, layout, i);
            }
            out[i] += step * static_cast<float>(sum) + bias;
        }
    }
}

}  // namespace

void round_inputs(WeightType /*type*/, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t n,
                  std::byte* to) {
    for (int t = 0; t < n_tokens; ++t, x += x_stride, to += rounded_input_bytes(n)) {
        std::byte* scales = to + (n + kGroup - 1) / kGroup * kGroup;
        for (std::int64_t i = 0; i < n; i += kInputsPerScale) {
            float most = 0.0f;
            for (std::int64_t j = i; j < i + kInputsPerScale; ++j) most = std::max(most, std::fabs(x[j]));
            const float factor = most > 0.0f ? 127.0f / most : 0.0f;
            for (std::int64_t j = i; j < i + kInputsPerScale; ++j) {
                to[j] = static_cast<std::byte>(static_cast<std::int8_t>(std::nearbyint(x[j] * factor)));
            }
            const float scale = most / 127.0f;
            for (std::int64_t part = 0; part < kInputsPerScale / kPartWeights; ++part, scales += sizeof scale) {
                std::memcpy(scales, &scale, sizeof scale);
            }
        }
    }
}

void matvec_bytes(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride, std::byte* scratch) {
    const std::int64_t n = weight.n_cols;
    if (weight.interleaved) {
        for (std::int64_t row = row_begin; row < row_end; row += kInterleavedRows) {
            interleave_rows(weight.type, n, weight.row(row), scratch, true);
            const WeightView rows{scratch, weight.type, kInterleavedRows, n};
            matvec_bytes(rows, inputs, n_tokens, 0, kInterleavedRows, y + row, y_stride, nullptr);
        }
        return;
    }
    for (int t = 0; t < n_tokens; ++t) {
        const RoundedInputs rounded(inputs[t], n);
        for (std::int64_t r = row_begin; r < row_end; ++r) {
            y[t * y_stride + r] = dot_rounded(weight, r, rounded);
        }
    }
}

void expert_ffn_bytes(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
                      std::int64_t neuron_begin, std::int64_t neuron_end, float* out, std::byte* /*scratch*/) {
    const std::int64_t n = expert.layout.hidden_dim;
    const WeightView w1 = expert.gate();
    const WeightView w3 = expert.up();
    const ExpertBiases biases = expert.biases();
    add_output_biases(expert, scale, n_tokens, neuron_begin, out);
    for (int t = 0; t < n_tokens; ++t, out += n) {
        const RoundedInputs rounded(inputs[t], n);
        for (std::int64_t first = neuron_begin; first < neuron_end; first += kRoundedNeurons) {
            const std::int64_t count = std::min(kRoundedNeurons, neuron_end - first);
            float activations[kRoundedNeurons] = {};
            std::int64_t neurons[kRoundedNeurons] = {};
            for (std::int64_t j = 0; j < count; ++j) {
                neurons[j] = first + j;
                const float gate = dot_rounded(w1, first + j, rounded) + bias_of(biases.gate, first + j);
                const float up = dot_rounded(w3, first + j, rounded) + bias_of(biases.up, first + j);
                activations[j] = scale[t] * activation(expert.layout.spec, gate, up);
            }
            add_rounded_columns(expert.down(), activations, neurons, count, out);
        }
    }
}

void sparse_expert_ffn_bytes(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
                             std::int64_t neuron_begin, std::int64_t neuron_end, float* out, NeuronCounts& counts) {
    const ExpertLayout& layout = expert.layout;
    const std::int64_t n = layout.hidden_dim;
    const WeightView w1 = expert.gate();
    const WeightView w3 = expert.up();
    const ExpertBiases biases = expert.biases();
    std::vector<bool> read(static_cast<std::size_t>(neuron_end - neuron_begin));
    counts.neurons += static_cast<std::uint64_t>(n_tokens) * read.size();
    add_output_biases(expert, scale, n_tokens, neuron_begin, out);
    for (int t = 0; t < n_tokens; ++t, out += n) {
        const RoundedInputs rounded(inputs[t], n);
        for (std::int64_t first = neuron_begin; first < neuron_end; first += kChosenTogether) {
            const std::int64_t end = std::min(first + kChosenTogether, neuron_end);
            float activations[kRoundedNeurons] = {};
            std::int64_t neurons[kRoundedNeurons] = {};
            std::int64_t count = 0;
            const auto flush = [&] {
                if (count == 0) return;
                add_rounded_columns(expert.down(), activations, neurons, count, out);
                count = 0;
            };
            for (std::int64_t neuron = first; neuron < end; ++neuron) {
                const std::int64_t j = expert.place(neuron);
                const float gate = dot_rounded(w1, j, rounded) + bias_of(biases.gate, j);
                const bool active = !is_left_out(activated(layout.spec, gate), layout.spec.theta);
                if (active) {
                    read[static_cast<std::size_t>(neuron - neuron_begin)] = true;
                    ++counts.active;
                    const float up = dot_rounded(w3, j, rounded) + bias_of(biases.up, j);
                    activations[count] = scale[t] * activation(layout.spec, gate, up);
                    neurons[count++] = j;
                }
                // With several tokens, neurons at fixed places share a step of rounding,
                // active or not.
                const bool whole =
                    n_tokens == 1 ? count == kRoundedNeurons : (neuron - first + 1) % kRoundedNeurons == 0;
                if (whole) flush();
            }
            flush();
        }
    }
    counts.skipped_bytes +=
        static_cast<std::uint64_t>(std::count(read.begin(), read.end(), false)) * layout.chosen_bytes();
}

std::int64_t chosen_neurons_bytes(const ExpertView& expert, const std::byte* const* inputs, int n_tokens,
                                  std::int64_t neuron_begin, std::int64_t neuron_end, std::int32_t* chosen,
                                  std::uint64_t& active) {
    const WeightView w1 = expert.gate();
    return choose_neurons(expert, n_tokens, neuron_begin, neuron_end, chosen, active, [&](std::int64_t j, int t) {
        return dot_rounded(w1, j, RoundedInputs(inputs[t], expert.layout.hidden_dim));
    });
}

}  // namespace offstage::kernels::scalar
