#include "engine/model/kv_layout.h"

#include <algorithm>

namespace offstage::engine {
namespace {

// Of one more layer whose keys and values, or whose state, are so.
KvLayout::Place add_layer(KvLayout& layout, const KvGroup& one) {
    const auto group = std::find_if(layout.groups.begin(), layout.groups.end(), [&](const KvGroup& known) {
        kernels::KvShape alike = known.shape;
        alike.n_layers = 1;
        return alike == one.shape && known.window == one.window && known.is_state == one.is_state &&
               known.chunked == one.chunked && known.is_exact == one.is_exact;
    });
    const auto number = static_cast<std::size_t>(group - layout.groups.begin());
    if (group != layout.groups.end()) return {number, group->shape.n_layers++};
    layout.groups.push_back(one);
    return {number, 0};
}

// Rows of values and of scores for the last keys: a token's are read until the last key
// that it is a part of is made.
KvGroup sources_of(const PooledSpec& pooled, std::int64_t key_dim) {
    const std::int64_t width = pooled.n_pooled_parts() * key_dim;
    return {.shape = {1, 1, width, width, false, kernels::KvType::kF32},
            .window = pooled.n_pooled_parts() * pooled.key_tokens,
            .is_exact = true};
}

}  // namespace

KvLayout kv_layout_of(const ModelSpec& spec, kernels::KvType type) {
    KvLayout layout;
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        KvLayout::Place& place = layout.layers.emplace_back();
        KvLayout::Place& of_indexer = layout.indexers.emplace_back();
        KvLayout::Place& of_pooled = layout.pooled.emplace_back();
        KvLayout::Place& of_sources = layout.sources.emplace_back();
        KvLayout::Place& of_indexer_sources = layout.indexer_sources.emplace_back();
        if (!layer.has_attention()) continue;
        const kernels::AttentionShape attention = spec.attention_shape(l);
        const auto* const gqa = std::get_if<GroupedQuerySpec>(&layer.attention);
        const std::int64_t kept_size = layer.kept_size();
        place = add_layer(layout, {kept_size > 0 ? kernels::kv_shape_of_states(1, kept_size)
                                                 : kernels::kv_shape_of(1, attention, type),
                                   attention.window, kept_size > 0, gqa != nullptr && gqa->chunked});
        const kernels::AttentionShape indexer = spec.indexer_shape(l);
        const PooledSpec* const pooled = layer.pooled();
        const bool pools = pooled != nullptr && pooled->key_tokens > 0;
        const auto add_keys = [&](const kernels::AttentionShape& shape) {
            kernels::KvShape keys = kernels::kv_shape_of(1, shape, type);
            if (pools) keys.key_tokens = pooled->key_tokens;
            return add_layer(layout, {.shape = keys});
        };
        if (pools) of_pooled = add_keys(attention);
        if (pools) of_sources = add_layer(layout, sources_of(*pooled, attention.key_dim));
        if (indexer.n_heads > 0) of_indexer = add_keys(indexer);
        if (pools && indexer.n_heads > 0) of_indexer_sources = add_layer(layout, sources_of(*pooled, indexer.key_dim));
    }
    return layout;
}

}  // namespace offstage::engine
