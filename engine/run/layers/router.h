#pragma once

#include <cstdint>

#include "engine/model/model_spec.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// The router of a layer with experts. Addresses of the device's memory.
struct RouterWeights {
    kernels::RouterSpec spec;
    kernels::RouterArrays arrays;
    NormWeights norm;                      // of its input; without weights it reads the experts' input
    bool weighs_inputs = false;            // MoeSpec::weighs_inputs
    kernels::WeightView latent_down = {};  // MoeSpec::latent; otherwise without data

    kernels::RouterArrays arrays_in(const StepContext& step) const {
        kernels::RouterArrays own = arrays;
        own.tokens = step.tokens;
        return own;
    }
    // StepContext::latent of `normalised`.
    void make_latent(const StepContext& step) const {
        if (latent_down.data == nullptr) return;
        step.device.submit(ops::Multiply{latent_down, step.normalised, step.n_tokens, step.latent});
    }
    // The router's input in this step; valid until StepContext::further is overwritten.
    const float* input(const StepContext& step) const {
        if (norm.weight == nullptr) return step.normalised;
        step.device.submit(ops::Norm{norm, step.x, step.n_tokens, step.further});
        return step.further;
    }
};

// moe_layer counts the layers with experts.
inline RouterWeights router_of(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t moe_layer) {
    const std::int64_t layer = spec.layer_of(moe_layer);
    const MoeSpec& moe = *spec.layers[static_cast<std::size_t>(layer)].moe();
    return {moe.router,
            {weights.vector(TensorRole::kRouter, layer), weights.vector(TensorRole::kSelectionBias, layer),
             weights.vector(TensorRole::kExpertScale, layer), weights.vector(TensorRole::kExpertsByToken, layer),
             moe.router.n_active},
            rms_norm_of(spec, weights, TensorRole::kRouterNorm, layer),
            moe.weighs_inputs,
            weights.matrix(TensorRole::kExpertLatentDown, layer)};
}

}  // namespace offstage::engine
