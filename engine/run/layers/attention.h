#pragma once

#include <cstdint>
#include <memory>

#include "engine/model/model_spec.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// The module that a layer's AttentionSpec asks for. The spec must outlive it.
std::unique_ptr<AttentionModule> make_attention(const ModelSpec& spec, const DeviceWeights& weights,
                                                std::int64_t layer);
// Floats of workspace for one token.
std::int64_t attention_workspace(const ModelSpec& spec, std::int64_t layer);

}  // namespace offstage::engine
