#pragma once

#include <cstdint>

#include "engine/model/model_spec.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// A network that every token passes: a dense layer's, or a layer's shared experts.
// Computed by the experts' kernels: it is one expert whose rows are the step's tokens.
class NetworkModule {
  public:
    // Without a network where the layer has none.
    NetworkModule(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer);

    explicit operator bool() const { return weights_.data != nullptr; }
    // Its output, normed if the layer has that norm, into the workspace.
    void compute(const StepContext& step) const;
    // to (n_tokens, hidden_dim) += residual_scale times what compute() made of the step,
    // or with a gate sigmoid(gate . normalised) times that.
    void add(const StepContext& step, float* to) const;
    // Whether both together, of one token, are what ops::DecodeExperts does with shared
    // experts; then set_shared() says which.
    bool is_plain() const { return input_norm_.weight == nullptr && output_.norm.weight == nullptr; }
    void set_shared(const StepContext& step, ops::DecodeExperts& op) const;

  private:
    kernels::ExpertView weights_;
    const float* gate_ = nullptr;  // (hidden_dim): of the shared experts; nullptr: none
    NormWeights input_norm_;       // of the residual stream; without weights it reads `normalised`
    OutputRule output_;
};

}  // namespace offstage::engine
