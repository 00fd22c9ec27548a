#include "engine/run/layers/network.h"

namespace offstage::engine {

NetworkModule::NetworkModule(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer)
    : gate_(weights.vector(TensorRole::kSharedGate, layer)), scale_(spec.residual_scale) {
    const kernels::WeightView rows = weights.matrix(TensorRole::kNetwork, layer);
    if (rows.data == nullptr) return;
    weights_ = {rows.data, kernels::expert_layout(rows.type, spec.hidden_dim, rows.n_rows / 3, spec.experts.expert)};
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
