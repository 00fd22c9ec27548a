#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/model/kv_layout.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// The module for a layer's AttentionSpec, with its keys and values where the layout has
// them and the positions StepContext::rotations[rotation], those of its pooled keys at
// pooled_rotation; nullptr for NoAttentionSpec. The spec must outlive it.
std::unique_ptr<AttentionModule> make_attention(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer,
                                                const KvLayout& layout, std::size_t rotation,
                                                std::size_t pooled_rotation);
// Floats of workspace for one token.
std::int64_t attention_workspace(const ModelSpec& spec, std::int64_t layer);

}  // namespace offstage::engine
