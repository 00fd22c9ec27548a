#pragma once

#include <cstdint>

#include "engine/model/model_spec.h"
#include "engine/run/device_weights.h"

namespace offstage::engine {

// The router of a layer with experts. Addresses of the device's memory.
struct RouterWeights {
    kernels::RouterSpec spec;
    const float* gate = nullptr;            // (n_experts, hidden_dim)
    const float* selection_bias = nullptr;  // (n_experts), or nullptr
};

// moe_layer counts the layers with experts.
inline RouterWeights router_of(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t moe_layer) {
    const std::int64_t layer = spec.layer_of(moe_layer);
    return {spec.layers[static_cast<std::size_t>(layer)].moe()->router, weights.vector(TensorRole::kRouter, layer),
            weights.vector(TensorRole::kSelectionBias, layer)};
}

}  // namespace offstage::engine
