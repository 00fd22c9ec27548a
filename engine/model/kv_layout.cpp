#include "engine/model/kv_layout.h"

#include <algorithm>

namespace offstage::engine {

KvLayout kv_layout_of(const ModelSpec& spec, kernels::KvType type) {
    KvLayout layout;
    for (std::int64_t layer = 0; layer < spec.n_layers(); ++layer) {
        const kernels::AttentionShape attention = spec.attention_shape(layer);
        const DeltaNetSpec* const delta_net = spec.layers[static_cast<std::size_t>(layer)].delta_net();
        const bool is_state = delta_net != nullptr;
        const kernels::KvShape one =
            is_state ? kernels::kv_shape_of(1, delta_net->shape()) : kernels::kv_shape_of(1, attention, type);
        const auto group = std::find_if(layout.groups.begin(), layout.groups.end(), [&](const KvGroup& known) {
            kernels::KvShape alike = known.shape;
            alike.n_layers = 1;
            return alike == one && known.window == attention.window && known.is_state == is_state;
        });
        layout.layers.push_back({static_cast<std::size_t>(group - layout.groups.begin()),
                                 group == layout.groups.end() ? 0 : group->shape.n_layers++});
        if (group == layout.groups.end()) layout.groups.push_back({one, attention.window, is_state});
    }
    return layout;
}

}  // namespace offstage::engine
