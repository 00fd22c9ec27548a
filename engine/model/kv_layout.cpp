#include "engine/model/kv_layout.h"

#include <algorithm>

namespace offstage::engine {

KvLayout kv_layout_of(const ModelSpec& spec, kernels::KvType type) {
    KvLayout layout;
    for (std::int64_t layer = 0; layer < spec.n_layers(); ++layer) {
        if (!spec.layers[static_cast<std::size_t>(layer)].has_attention()) {
            layout.layers.emplace_back();
            continue;
        }
        const kernels::AttentionShape attention = spec.attention_shape(layer);
        const auto* const gqa = std::get_if<GroupedQuerySpec>(&spec.layers[static_cast<std::size_t>(layer)].attention);
        const bool chunked = gqa != nullptr && gqa->chunked;
        const std::int64_t kept_size = spec.layers[static_cast<std::size_t>(layer)].kept_size();
        const bool is_state = kept_size > 0;
        const kernels::KvShape one =
            is_state ? kernels::kv_shape_of_states(1, kept_size) : kernels::kv_shape_of(1, attention, type);
        const auto group = std::find_if(layout.groups.begin(), layout.groups.end(), [&](const KvGroup& known) {
            kernels::KvShape alike = known.shape;
            alike.n_layers = 1;
            return alike == one && known.window == attention.window && known.chunked == chunked &&
                   known.is_state == is_state;
        });
        layout.layers.push_back({static_cast<std::size_t>(group - layout.groups.begin()),
                                 group == layout.groups.end() ? 0 : group->shape.n_layers++});
        if (group == layout.groups.end()) layout.groups.push_back({one, attention.window, is_state, chunked});
    }
    return layout;
}

}  // namespace offstage::engine
