#include "engine/model/weights.h"

namespace offstage::engine {

Matrix::Matrix(kernels::WeightType weight_type, std::int64_t rows, std::int64_t cols, const std::string& purpose)
    : memory(static_cast<std::size_t>(rows * cols) * kernels::bytes_per_weight(weight_type), purpose),
      type(weight_type),
      n_rows(rows),
      n_cols(cols) {}

namespace {

std::uint64_t small_bytes(const LayerWeights& layer) {
    return (layer.attention_norm.size() + layer.moe_norm.size() + layer.gate.size()) * sizeof(float);
}

}  // namespace

std::uint64_t ModelWeights::total_bytes() const {
    std::uint64_t bytes = embedding.memory.size() + lm_head.memory.size() + final_norm.size() * sizeof(float);
    for (const LayerWeights& layer : layers) {
        bytes += layer.qkv.memory.size() + layer.output.memory.size() + small_bytes(layer);
    }
    return bytes + experts.total_bytes();
}

std::uint64_t ModelWeights::active_bytes(const ModelConfig& config) const {
    const kernels::WeightView logits = logits_weight();
    std::uint64_t bytes = embedding.memory.size() / static_cast<std::uint64_t>(embedding.n_rows) +
                          static_cast<std::uint64_t>(logits.n_rows * logits.n_cols) * bytes_per_weight(logits.type) +
                          final_norm.size() * sizeof(float);
    for (const LayerWeights& layer : layers) {
        bytes += layer.qkv.memory.size() + layer.output.memory.size() + small_bytes(layer) +
                 static_cast<std::uint64_t>(config.n_active) * experts.expert_bytes();
    }
    return bytes;
}

}  // namespace offstage::engine
