#include "engine/model/weights.h"

#include <algorithm>

namespace offstage::engine {

Matrix::Matrix(Arena& host, kernels::WeightType weight_type, std::int64_t rows, std::int64_t cols,
               const std::string& purpose)
    : memory(host.allocate(static_cast<std::size_t>(rows) * kernels::row_bytes(weight_type, cols), MemoryUse::kDense,
                           purpose)),
      type(weight_type),
      n_rows(rows),
      n_cols(cols) {}

namespace {

std::uint64_t bytes_of(const Matrix& matrix) {
    return static_cast<std::uint64_t>(matrix.n_rows) * kernels::row_bytes(matrix.type, matrix.n_cols);
}

std::uint64_t bytes_of(const LayerWeights& layer) {
    return bytes_of(layer.qkv) + bytes_of(layer.output) +
           (layer.attention_norm.size() + layer.moe_norm.size() + layer.gate.size()) * sizeof(float);
}

}  // namespace

std::uint64_t DenseWeights::bytes() const {
    std::uint64_t bytes = bytes_of(embedding) + bytes_of(lm_head) + final_norm.size() * sizeof(float);
    for (const LayerWeights& layer : layers) bytes += bytes_of(layer);
    return bytes;
}

std::optional<Fingerprint> WeightSource::expert_fingerprint(LayerIndex, ExpertIndex, kernels::ThreadPool&) {
    return {};
}

std::optional<Fingerprint> WeightSource::model_fingerprint() {
    return {};
}

std::uint64_t dense_bytes_in(const ModelConfig& config, kernels::WeightType type) {
    const std::int64_t vectors =
        config.n_layers * (2 + config.n_experts) * config.hidden_dim + config.hidden_dim;  // norms and gates
    const std::int64_t experts = config.n_layers * config.n_experts * config.expert_weights();
    return static_cast<std::uint64_t>(config.total_weights() - experts - vectors) * kernels::bytes_per_weight(type) +
           static_cast<std::uint64_t>(vectors) * sizeof(float);
}

std::uint64_t dense_bytes_read(const ModelConfig& config, std::uint64_t dense_bytes, kernels::WeightType embedding) {
    if (config.tied_embeddings) return dense_bytes;
    const auto other_rows = static_cast<std::uint64_t>(config.vocab_size - 1);
    return dense_bytes - std::min(dense_bytes, other_rows * kernels::row_bytes(embedding, config.hidden_dim));
}

}  // namespace offstage::engine
