#include "engine/model/weights.h"

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

std::uint64_t active_bytes(const ModelConfig& config, const DenseWeights& dense, kernels::WeightType expert_type) {
    const bool tied = dense.lm_head.n_rows == 0;
    const std::uint64_t unused_embedding =
        tied ? 0
             : bytes_of(dense.embedding) - bytes_of(dense.embedding) / static_cast<std::uint64_t>(config.vocab_size);
    const std::uint64_t tied_row = tied ? bytes_of(dense.embedding) / static_cast<std::uint64_t>(config.vocab_size) : 0;
    return dense.bytes() - unused_embedding + tied_row +
           static_cast<std::uint64_t>(config.n_layers * config.n_active) *
               kernels::expert_bytes(expert_type, config.hidden_dim, config.ffn_dim);
}

}  // namespace offstage::engine
