#include "engine/run/layers/indexer.h"

namespace offstage::engine {

Indexer::Indexer(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer, const KvLayout& layout,
                 std::size_t rotation, std::size_t pooled_rotation)
    : place_(layout.indexers[static_cast<std::size_t>(layer)]),
      rotation_(rotation),
      shape_(spec.indexer_shape(layer)),
      query_(weights.matrix(TensorRole::kIndexerQuery, layer)),
      key_(weights.matrix(TensorRole::kIndexerKey, layer)),
      weights_(weights.matrix(TensorRole::kIndexerWeights, layer)) {
    const LayerSpec& of_spec = spec.layers[static_cast<std::size_t>(layer)];
    if (of_spec.pooled() != nullptr) {
        pooling_.emplace(spec, weights, layer, layout, pooled_rotation, true);
        return;
    }
    const IndexerSpec& indexer = *of_spec.indexer();
    key_norm_ = {kernels::NormKind::kLayer, weights.vector(TensorRole::kIndexerKeyNorm, layer),
                 weights.vector(TensorRole::kIndexerKeyNormBias, layer), indexer.head_dim, indexer.norm_eps};
    if (!indexer.by_head) return;
    key_norm_.kind = kernels::NormKind::kRms;
    query_norm_ = key_norm_;
    query_norm_.weight = weights.vector(TensorRole::kIndexerQueryNorm, layer);
}

std::int64_t Indexer::workspace(const IndexerSpec& indexer) {
    if (!indexer.is_own()) return 0;
    return WorkspacePieces::rounded(indexer.n_heads * indexer.head_dim) +
           2 * WorkspacePieces::rounded(indexer.head_dim) + WorkspacePieces::rounded(indexer.n_heads);
}

// And rotates the queries; nullptr: there are none.
void Indexer::store_key(const StepContext& step, float* queries, WorkspacePieces& pieces) const {
    const KvStep& kv = step.kv[place_.group];
    const Rotation& rotation = step.rotations[rotation_];
    if (pooling_) {
        pooling_->run(step, pieces);
        if (queries == nullptr) return;
        step.device.submit(ops::RotatePairs{.n = step.n_tokens,
                                            .n_heads = shape_.n_heads,
                                            .head_dim = shape_.key_dim,
                                            .first = shape_.rotary_first,
                                            .dim = shape_.rotary_dim,
                                            .cos = rotation.cos,
                                            .sin = rotation.sin,
                                            .x = queries});
        return;
    }
    float* const projected = pieces.take(shape_.key_dim);
    float* const key = pieces.take(shape_.key_dim);
    step.device.submit(ops::Multiply{key_, step.normalised, step.n_tokens, projected});
    step.device.submit(ops::Norm{key_norm_, projected, step.n_tokens, key});
    kernels::AttentionShape rotated = shape_;
    if (queries == nullptr) rotated.n_heads = 0;  // the key alone
    step.device.submit(ops::RotateAndStoreLatent{.layer = place_.layer,
                                                 .shape = rotated,
                                                 .segments = kv.segments,
                                                 .cos = rotation.cos,
                                                 .sin = rotation.sin,
                                                 .q = queries,
                                                 .nope_dim = 0,
                                                 .latent = key,
                                                 .queries = queries,
                                                 .kv = kv.shape});
}

void Indexer::run(const StepContext& step, const float* query_input, WorkspacePieces& pieces) const {
    Backend& device = step.device;
    const std::int64_t n = step.n_tokens;
    const KvStep& kv = step.kv[place_.group];
    float* const queries = pieces.take(shape_.query_width());
    float* const weights = pieces.take(shape_.n_heads);
    const bool chooses = kernels::ops::any_row_chooses(kv.segments, shape_.top_k, kv.shape.key_tokens);

    if (chooses) device.submit(ops::Multiply{query_, query_input, n, queries});
    if (chooses && query_norm_.dim > 0) {
        device.submit(ops::NormPieces{query_norm_, n, shape_.query_width(), shape_.n_heads, queries});
    }
    store_key(step, chooses ? queries : nullptr, pieces);
    if (!chooses) return;
    const bool weighs = weights_.data != nullptr;
    if (weighs) device.submit(ops::Multiply{weights_, step.normalised, n, weights});
    device.submit(ops::ChooseKeys{.layer = place_.layer,
                                  .shape = shape_,
                                  .segments = kv.segments,
                                  .queries = queries,
                                  .weights = weighs ? weights : nullptr,
                                  .kv = kv.shape,
                                  .chosen = step.chosen});
}

}  // namespace offstage::engine
