#include "engine/eval/gate_activations.h"

#include <cstring>

#include "engine/as_size.h"
#include "engine/experts/interleave_expert.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {

GateActivations::GateActivations(LoadedModel& model, std::int64_t max_rows)
    : model_(model), grid_(model.spec().experts) {
    gathered_.resize(as_size(max_rows * grid_.hidden_dim));
    values_.resize(as_size(max_rows * grid_.ffn_dim));
    // Up factors that reduce a neuron's value to its activation function.
    const bool adds_one = grid_.expert.activation == kernels::Activation::kClamped;
    ups_.assign(as_size(grid_.ffn_dim), adds_one ? 0.0f : 1.0f);
}

std::span<float> GateActivations::of(std::int64_t layer, std::int64_t expert, const float* inputs,
                                     std::span<const std::int64_t> rows) {
    const auto n = static_cast<std::int64_t>(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::memcpy(gathered_.data() + as_size(grid_.hidden_dim) * r, inputs + rows[r] * grid_.hidden_dim,
                    as_size(grid_.hidden_dim) * sizeof(float));
    }
    const kernels::ExpertView view = with_rows_apart(model_.experts().on_host(layer, expert));
    model_.host().run(ops::Multiply{view.gate(), gathered_.data(), n, values_.data()});
    if (view.biases().gate != nullptr) {
        model_.host().run(ops::AddBias{view.biases().gate, n, grid_.ffn_dim, values_.data()});
    }
    for (std::int64_t r = 0; r < n; ++r) {
        float* const row = values_.data() + r * grid_.ffn_dim;
        kernels::cpu_kernels().activate(view.layout.spec, row, ups_.data(), grid_.ffn_dim, row);
    }
    return {values_.data(), as_size(n * grid_.ffn_dim)};
}

kernels::ExpertView GateActivations::with_rows_apart(const kernels::ExpertView& expert) {
    if (!expert.layout.interleaves_gate_and_up()) return expert;
    block_.resize(expert.layout.bytes());
    std::memcpy(block_.data(), expert.data, block_.size());
    interleave_expert(expert.layout, block_.data(), model_.pool(), true);
    kernels::ExpertLayout layout = expert.layout;
    layout.interleaved = false;
    return {block_.data(), layout};
}

}  // namespace offstage::engine
