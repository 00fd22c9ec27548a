#pragma once

#include <cstdint>

#include "engine/model/model_spec.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// A network that every token passes: a dense layer's, or a layer's shared experts. x +=
// residual_scale network(normalised), or with a gate sigmoid(gate . normalised)
// network(normalised), by the kernels of the experts: it is one expert whose rows are the
// step's tokens.
class NetworkModule {
  public:
    // Without a network where the layer has none.
    NetworkModule(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer);

    explicit operator bool() const { return weights_.data != nullptr; }
    void run(const StepContext& step) const;

  private:
    kernels::ExpertView weights_;
    const float* gate_ = nullptr;  // (hidden_dim): of the shared experts; nullptr: none
    float scale_;
};

}  // namespace offstage::engine
