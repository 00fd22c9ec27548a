#pragma once

#include <cstdint>

#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// Looks at the layers with experts of each step, for measurement; it changes nothing.
// Given to Forward::set_probe(), which calls it. One thread, the engine's; nothing
// throws.
class StepProbe {
  public:
    virtual ~StepProbe() = default;
    virtual void begin_step(std::int64_t n_tokens) = 0;
    // Before the experts of `layer`, which counts the layers with experts; they take
    // step.expert_inputs(), a router RouterWeights::input().
    virtual void submit(std::int64_t layer, const DeviceWeights& weights, const StepContext& step) = 0;
    // After them: the host has waited for what submit() submitted. The experts of token t
    // are routing[t * stride + 0 .. n_active), best first.
    virtual void collect(std::int64_t layer, const std::int32_t* routing, std::int64_t stride) = 0;
};

}  // namespace offstage::engine
