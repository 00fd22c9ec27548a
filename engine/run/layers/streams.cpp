#include "engine/run/layers/streams.h"

namespace offstage::engine {
namespace {

// Gates of each value of each stream, of low rank, and one number of each stream for the
// part's output (Qwen4).
class GatedStreams final : public StreamMixer {
  public:
    GatedStreams(const ModelSpec& spec, const DeviceWeights& weights, StreamPart part, std::int64_t layer)
        : n_(spec.streams.n),
          norm_{kernels::NormKind::kRms, weights.vector(role_of_part(TensorRole::kAttentionStreamsNorm, part), layer),
                nullptr, spec.hidden_dim, spec.norm.eps},
          down_(weights.matrix(role_of_part(TensorRole::kAttentionStreamsDown, part), layer)),
          up_(weights.matrix(role_of_part(TensorRole::kAttentionStreamsUp, part), layer)) {
        if (part != StreamPart::kHead) {
            inject_ = weights.matrix(role_of_part(TensorRole::kAttentionStreamsInject, part), layer);
        }
    }

    static std::int64_t workspace(const ModelSpec& spec) {
        return 2 * WorkspacePieces::rounded(spec.streams.n * spec.hidden_dim) +
               WorkspacePieces::rounded(spec.streams.gate_rank);
    }

    void read(const StepContext& step, const NormWeights&, float* out) const override {
        Backend& device = step.device;
        const std::int64_t n = step.n_tokens;
        const float share = 1.0f / static_cast<float>(n_);
        WorkspacePieces pieces(step);
        float* const normed = pieces.take(n_ * norm_.dim);
        float* const gates = pieces.take(n_ * norm_.dim);
        float* const low = pieces.take(down_.n_rows);
        device.submit(ops::Norm{norm_, step.streams, n * n_, normed, n_});
        device.submit(ops::Multiply{down_, normed, n, low});
        device.submit(ops::Activate{share, 1, true, n * down_.n_rows, low});
        device.submit(ops::Multiply{up_, low, n, gates});
        device.submit(ops::ReadGatedStreams{normed, gates, n_, n, norm_.dim, out});
        if (inject_.data == nullptr) return;
        device.submit(ops::Multiply{inject_, normed, n, step.coefficients});
        device.submit(ops::Activate{share, 2, false, n * n_, step.coefficients});
    }

    void write(const StepContext& step) const override {
        step.device.submit(ops::WriteStreams{.y = step.x,
                                             .n_streams = n_,
                                             .n = step.n_tokens,
                                             .dim = norm_.dim,
                                             .weights = step.coefficients,
                                             .stride = n_,
                                             .streams = step.streams});
    }

  private:
    const std::int64_t n_;
    const NormWeights norm_;
    const kernels::WeightView down_, up_;
    kernels::WeightView inject_;
};

}  // namespace

std::unique_ptr<StreamMixer> make_stream_mixer(const ModelSpec& spec, const DeviceWeights& weights, StreamPart part,
                                               std::int64_t layer) {
    if (spec.streams.gate_rank == 0) return nullptr;
    return std::make_unique<GatedStreams>(spec, weights, part, layer);
}

std::int64_t stream_workspace(const ModelSpec& spec) {
    return spec.streams.gate_rank == 0 ? 0 : GatedStreams::workspace(spec);
}

}  // namespace offstage::engine
