#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/run/loaded_model.h"

namespace offstage::engine {

// The neurons of an expert after its activation function alone, computed again on the
// CPU, in the number format of the model's products, because the experts' kernels keep no
// neuron's value. silu or gelu of w1 . x; for gpt-oss's experts g sigmoid(alpha g) with g
// at most their limit. Includes biases of w1. One thread.
class GateActivations {
  public:
    // For up to max_rows rows. The model must outlive this object.
    GateActivations(LoadedModel& model, std::int64_t max_rows);
    // Gate activations (rows.size(), ffn_dim) of the rows of inputs (n, hidden_dim), on
    // the host. Valid until the next call. An expert without a copy in RAM is packed
    // again.
    std::span<float> of(std::int64_t layer, std::int64_t expert, const float* inputs,
                        std::span<const std::int64_t> rows);
    // The inputs of these rows, (rows.size(), hidden_dim): as valid.
    const float* gathered() const { return gathered_.data(); }
    // The expert with its rows one after the other: if they are interleaved, a copy that
    // is valid until the next call.
    kernels::ExpertView with_rows_apart(const kernels::ExpertView& expert);

  private:
    LoadedModel& model_;
    const ExpertGrid& grid_;
    std::vector<std::byte> block_;  // an expert's block, if its rows are interleaved
    std::vector<float> gathered_;   // (rows, hidden_dim)
    std::vector<float> values_;     // (rows, ffn_dim)
    std::vector<float> ups_;        // (ffn_dim)
};

}  // namespace offstage::engine
