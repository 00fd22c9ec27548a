#include "engine/run/layers/network.h"

#include <cassert>

namespace offstage::engine {
namespace {

float* network_output(const StepContext& step, std::int64_t hidden_dim) {
    return WorkspacePieces(step).take(hidden_dim);
}

}  // namespace

NetworkModule::NetworkModule(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer)
    : weights_(weights.network(layer)), gate_(weights.vector(TensorRole::kSharedGate, layer)) {
    const MoeSpec* const moe = spec.layers[static_cast<std::size_t>(layer)].moe();
    if (moe != nullptr && moe->own_norms) input_norm_ = rms_norm_of(spec, weights, TensorRole::kFfnNorm, layer);
    assert(gate_ == nullptr || input_norm_.weight == nullptr);  // the gate reads `normalised`
    const TensorRole norm = moe != nullptr ? TensorRole::kNetworkOutputNorm : TensorRole::kFfnOutputNorm;
    output_ = {rms_norm_of(spec, weights, norm, layer), spec.residual_scale};
}

void NetworkModule::compute(const StepContext& step) const {
    const std::int64_t hidden_dim = weights_.layout.hidden_dim;
    const float* input = step.normalised;
    if (input_norm_.weight != nullptr) {
        step.device.submit(ops::Norm{input_norm_, step.x, step.n_tokens, step.further});
        input = step.further;
    }
    float* const out = network_output(step, hidden_dim);
    const ExpertCall call{weights_, 0, step.n_tokens};
    step.device.submit(ops::Experts{{&call, 1}, input, step.identity, out});
    output_.normalise(step, out);
}

void NetworkModule::add(const StepContext& step, float* to) const {
    const std::int64_t hidden_dim = weights_.layout.hidden_dim;
    float* const out = network_output(step, hidden_dim);
    if (gate_ != nullptr) {
        step.device.submit(ops::AddGated{gate_, step.normalised, out, step.n_tokens, hidden_dim, to});
    } else {
        step.device.submit(ops::Add{out, step.n_tokens * hidden_dim, to, output_.factor});
    }
}

void NetworkModule::set_shared(const StepContext& step, ops::DecodeExperts& op) const {
    op.shared = weights_;
    op.shared_gate = gate_;
    op.shared_factor = output_.factor;
    op.shared_output = network_output(step, weights_.layout.hidden_dim);
}

}  // namespace offstage::engine
