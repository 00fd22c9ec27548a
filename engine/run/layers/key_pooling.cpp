#include "engine/run/layers/key_pooling.h"

namespace offstage::engine {

KeyPooling::KeyPooling(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer, const KvLayout& layout,
                       std::size_t rotation, bool of_indexer)
    : sources_((of_indexer ? layout.indexer_sources : layout.sources)[static_cast<std::size_t>(layer)]),
      pooled_((of_indexer ? layout.indexers : layout.pooled)[static_cast<std::size_t>(layer)]),
      rotation_(rotation),
      values_(weights.matrix(of_indexer ? TensorRole::kIndexerPoolValues : TensorRole::kPoolValues, layer)),
      scores_(weights.matrix(of_indexer ? TensorRole::kIndexerPoolScores : TensorRole::kPoolScores, layer)) {
    const PooledSpec& of_spec = *spec.layers[static_cast<std::size_t>(layer)].pooled();
    op_.layer = sources_.layer;
    op_.pooled_layer = pooled_.layer;
    op_.position_bias =
        weights.vector(of_indexer ? TensorRole::kIndexerPoolPositions : TensorRole::kPoolPositions, layer);
    op_.norm = {kernels::NormKind::kRms,
                weights.vector(of_indexer ? TensorRole::kIndexerPoolNorm : TensorRole::kPoolNorm, layer), nullptr,
                of_indexer ? of_spec.indexer.head_dim : of_spec.head_dim, of_spec.norm_eps};
    op_.rotary_dim = of_spec.pooled_rope.dim;
}

std::int64_t KeyPooling::workspace(const PooledSpec& spec, std::int64_t key_dim) {
    return spec.key_tokens == 0 ? 0 : 2 * WorkspacePieces::rounded(spec.n_pooled_parts() * key_dim);
}

void KeyPooling::run(const StepContext& step, WorkspacePieces& pieces) const {
    ops::PoolKeys op = op_;
    const KvStep& sources = step.kv[sources_.group];
    const KvStep& pooled = step.kv[pooled_.group];
    float* const values = pieces.take(sources.shape.key_dim);
    float* const scores = pieces.take(sources.shape.key_dim);
    step.device.submit(ops::Multiply{values_, step.normalised, step.n_tokens, values});
    step.device.submit(ops::Multiply{scores_, step.normalised, step.n_tokens, scores});
    op.segments = sources.segments;
    op.sources = sources.shape;
    op.pooled_segments = pooled.segments;
    op.pooled = pooled.shape;
    op.values = values;
    op.scores = scores;
    op.cos = step.rotations[rotation_].cos;
    op.sin = step.rotations[rotation_].sin;
    step.device.submit(op);
}

}  // namespace offstage::engine
