#include "engine/run/layers/network.h"

namespace offstage::engine {

NetworkModule::NetworkModule(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer)
    : weights_(weights.network(layer)),
      gate_(weights.vector(TensorRole::kSharedGate, layer)),
      scale_(spec.residual_scale) {
    weights_.layout.spec = spec.experts.expert;
    weights_.layout.spec.biases = false;  // no family has any here
}

void NetworkModule::run(const StepContext& step) const {
    WorkspacePieces pieces(step);
    float* const out = pieces.take(weights_.layout.hidden_dim);
    const ExpertCall call{weights_, 0, step.n_tokens};
    step.device.experts({&call, 1}, step.normalised, step.identity, out);
    if (gate_ != nullptr) {
        step.device.add_gated(gate_, step.normalised, out, step.n_tokens, weights_.layout.hidden_dim, step.x);
    } else {
        step.device.add(out, step.n_tokens * weights_.layout.hidden_dim, step.x, scale_);
    }
}

}  // namespace offstage::engine
