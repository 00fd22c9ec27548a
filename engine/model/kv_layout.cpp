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
               known.chunked == one.chunked;
    });
    const auto number = static_cast<std::size_t>(group - layout.groups.begin());
    if (group != layout.groups.end()) return {number, group->shape.n_layers++};
    layout.groups.push_back(one);
    return {number, 0};
}

}  // namespace

KvLayout kv_layout_of(const ModelSpec& spec, kernels::KvType type) {
    KvLayout layout;
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        KvLayout::Place& place = layout.layers.emplace_back();
        KvLayout::Place& of_indexer = layout.indexers.emplace_back();
        if (!layer.has_attention()) continue;
        const kernels::AttentionShape attention = spec.attention_shape(l);
        const auto* const gqa = std::get_if<GroupedQuerySpec>(&layer.attention);
        const std::int64_t kept_size = layer.kept_size();
        place = add_layer(layout, {kept_size > 0 ? kernels::kv_shape_of_states(1, kept_size)
                                                 : kernels::kv_shape_of(1, attention, type),
                                   attention.window, kept_size > 0, gqa != nullptr && gqa->chunked});
        const kernels::AttentionShape indexer = spec.indexer_shape(l);
        if (indexer.n_heads > 0)
            of_indexer = add_layer(layout, {kernels::kv_shape_of(1, indexer, type), 0, false, false});
    }
    return layout;
}

}  // namespace offstage::engine
