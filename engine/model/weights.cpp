#include "engine/model/weights.h"

#include <algorithm>

namespace offstage::engine {

Matrix::Matrix(Arena& host, kernels::WeightType weight_type, std::int64_t rows, std::int64_t cols,
               const MessageArgument& purpose)
    : memory(host.allocate(static_cast<std::size_t>(rows) * kernels::row_bytes(weight_type, cols), MemoryUse::kDense,
                           purpose)),
      type(weight_type),
      n_rows(rows),
      n_cols(cols) {}

Matrix::Matrix(Arena& host, const kernels::ExpertLayout& layout, const MessageArgument& purpose)
    : memory(host.allocate(layout.bytes(), MemoryUse::kDense, purpose)),
      type(layout.gate),
      n_rows(layout.n_rows()),
      n_cols(layout.hidden_dim) {
    if (layout.is_uniform()) return;
    network = layout;
    for (const kernels::WeightType other : {layout.up, layout.down}) {
        if (kernels::is_plain(type)) type = other;
    }
}

std::uint64_t DenseWeight::bytes() const {
    return values.empty() ? matrix.bytes() : values.size() * sizeof(float);
}

kernels::WeightView DenseWeight::view() const {
    if (values.empty()) return matrix.view();
    return {values.data(), kernels::WeightType::kF32, what.n_rows, what.n_cols};
}

std::uint64_t DenseWeights::bytes() const {
    std::uint64_t bytes = 0;
    for (const DenseWeight& tensor : tensors) bytes += tensor.bytes();
    return bytes;
}

std::uint64_t DenseWeights::decode_bytes() const {
    std::uint64_t bytes = 0;
    for (const DenseWeight& tensor : tensors) {
        bytes += tensor.what.unused_in_decode ? tensor.bytes() / static_cast<std::uint64_t>(tensor.what.n_rows)
                                              : tensor.bytes();
    }
    return bytes;
}

const DenseWeight* DenseWeights::find(TensorRole role, std::int64_t layer) const {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const DenseWeight& tensor) {
        return tensor.what.role == role && tensor.what.layer == layer;
    });
    return found == tensors.end() ? nullptr : &*found;
}

std::optional<Fingerprint> WeightSource::expert_fingerprint(LayerIndex, ExpertIndex, kernels::ThreadPool&) {
    return {};
}

std::optional<Fingerprint> WeightSource::model_fingerprint() {
    return {};
}

std::unique_ptr<PredictionLayer> WeightSource::open_prediction_layer(kernels::ThreadPool& /*pool*/) {
    return nullptr;
}

std::uint64_t dense_bytes_in(const ModelSpec& spec, kernels::WeightType type) {
    std::uint64_t bytes = 0;
    for (const DenseTensor& tensor : dense_tensors(spec)) bytes += tensor.stored_bytes(type);
    return bytes;
}

std::uint64_t dense_bytes_read(const ModelSpec& spec, std::uint64_t dense_bytes, kernels::WeightType embedding) {
    if (spec.tied_embeddings) return dense_bytes;
    const auto other_rows = static_cast<std::uint64_t>(spec.vocab_size - 1);
    if (!spec.stored.empty()) embedding = spec.stored.front().type;
    return dense_bytes - std::min(dense_bytes, other_rows * kernels::row_bytes(embedding, spec.hidden_dim));
}

}  // namespace offstage::engine
