#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void expert_ffn(const ExpertView& expert, const float* x, const float* scale, int n_tokens, std::int64_t neuron_begin,
                std::int64_t neuron_end, float* out) {
    const std::int64_t n = expert.layout.hidden_dim;
    const WeightView w1 = expert.gate();
    const WeightView w3 = expert.up();
    const WeightView w2 = expert.down();
    const ExpertBiases biases = expert.biases();
    add_output_biases(expert, scale, n_tokens, neuron_begin, out);
    for (std::int64_t j = neuron_begin; j < neuron_end; ++j) {
        for (int t = 0; t < n_tokens; ++t) {
            const float* x_t = x + t * n;
            float* out_t = out + t * n;
            const float gate = dot(w1.row(j), w1.type, x_t, n) + bias_of(biases.gate, j);
            const float up = dot(w3.row(j), w3.type, x_t, n) + bias_of(biases.up, j);
            const float weight = scale[t] * activation(expert.layout.spec, gate, up);
            for_each_stretch(w2.row(j), w2.type, n, [&](const float* weights, std::int64_t begin, std::int64_t count) {
                for (std::int64_t i = 0; i < count; ++i) out_t[begin + i] += weight * weights[i];
            });
        }
    }
}

void sparse_expert_ffn(const ExpertView& expert, const float* x, const float* scale, int n_tokens,
                       std::int64_t neuron_begin, std::int64_t neuron_end, float* out, NeuronCounts& counts) {
    const ExpertLayout& layout = expert.layout;
    const std::int64_t n = layout.hidden_dim;
    const WeightView w1 = expert.gate();
    const WeightView w3 = expert.up();
    const WeightView w2 = expert.down();
    const ExpertBiases biases = expert.biases();
    add_output_biases(expert, scale, n_tokens, neuron_begin, out);
    for (std::int64_t neuron = neuron_begin; neuron < neuron_end; ++neuron) {
        const std::int64_t j = expert.place(neuron);
        bool read = false;
        for (int t = 0; t < n_tokens; ++t) {
            const float gate = dot(w1.row(j), w1.type, x + t * n, n) + bias_of(biases.gate, j);
            if (is_left_out(activated(layout.spec, gate), layout.spec.theta)) continue;
            ++counts.active;
            read = true;
            const float up = dot(w3.row(j), w3.type, x + t * n, n) + bias_of(biases.up, j);
            const float weight = scale[t] * activation(layout.spec, gate, up);
            for_each_stretch(w2.row(j), w2.type, n, [&](const float* weights, std::int64_t begin, std::int64_t count) {
                for (std::int64_t i = 0; i < count; ++i) out[t * n + begin + i] += weight * weights[i];
            });
        }
        if (!read) counts.skipped_bytes += layout.chosen_bytes();
    }
    counts.neurons += static_cast<std::uint64_t>(n_tokens * (neuron_end - neuron_begin));
}

std::int64_t chosen_neurons(const ExpertView& expert, const float* x, int n_tokens, std::int64_t neuron_begin,
                            std::int64_t neuron_end, std::int32_t* chosen, std::uint64_t& active) {
    const std::int64_t n = expert.layout.hidden_dim;
    const WeightView w1 = expert.gate();
    return choose_neurons(expert, n_tokens, neuron_begin, neuron_end, chosen, active,
                          [&](std::int64_t j, int t) { return dot(w1.row(j), w1.type, x + t * n, n); });
}

}  // namespace offstage::kernels::scalar
