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

// Streams that matrices mix whose rows and columns sum to one (DeepSeek-V4, section 2.2).
class BalancedStreams final : public StreamMixer {
  public:
    BalancedStreams(const ModelSpec& spec, const DeviceWeights& weights, StreamPart part, std::int64_t layer)
        : dim_(spec.hidden_dim),
          eps_(spec.norm.eps),
          products_(weights.matrix(role_of_part(TensorRole::kAttentionMix, part), layer)) {
        op_.n_streams = spec.streams.n;
        op_.n_steps = part == StreamPart::kHead ? 0 : spec.streams.n_sinkhorn;
        op_.eps = spec.streams.eps;
        op_.scale = weights.vector(role_of_part(TensorRole::kAttentionMixScale, part), layer);
        op_.base = weights.vector(role_of_part(TensorRole::kAttentionMixBase, part), layer);
    }

    static std::int64_t workspace(const ModelSpec& spec) {
        return WorkspacePieces::rounded(spec.streams.n * spec.hidden_dim);
    }

    void read(const StepContext& step, const NormWeights& norm, float* out) const override {
        Backend& device = step.device;
        const std::int64_t n = step.n_tokens, n_streams = op_.n_streams, width = n_streams * dim_;
        float* const normed = WorkspacePieces(step).take(width);
        device.submit(ops::Norm{{kernels::NormKind::kRms, nullptr, nullptr, width, eps_}, step.streams, n, normed});
        device.submit(ops::Multiply{products_, normed, n, step.coefficients});
        ops::SinkhornCoefficients op = op_;
        op.n = n;
        op.x = step.coefficients;
        device.submit(op);
        device.submit(ops::ReadStreams{step.streams, n_streams, n, dim_, step.coefficients, op.width(), step.x});
        device.submit(ops::Norm{norm, step.x, n, out});
    }

    void write(const StepContext& step) const override {
        step.device.submit(ops::WriteStreams{.y = step.x,
                                             .n_streams = op_.n_streams,
                                             .n = step.n_tokens,
                                             .dim = dim_,
                                             .weights = step.coefficients + op_.n_streams,
                                             .mix = step.coefficients + 2 * op_.n_streams,
                                             .stride = op_.width(),
                                             .streams = step.streams});
    }

  private:
    const std::int64_t dim_;
    const float eps_;
    const kernels::WeightView products_;
    ops::SinkhornCoefficients op_;  // but for what a step has
};

}  // namespace

std::unique_ptr<StreamMixer> make_stream_mixer(const ModelSpec& spec, const DeviceWeights& weights, StreamPart part,
                                               std::int64_t layer) {
    if (!spec.streams.many()) return nullptr;
    if (spec.streams.gate_rank == 0) return std::make_unique<BalancedStreams>(spec, weights, part, layer);
    return std::make_unique<GatedStreams>(spec, weights, part, layer);
}

std::int64_t stream_workspace(const ModelSpec& spec) {
    if (!spec.streams.many()) return 0;
    return spec.streams.gate_rank == 0 ? BalancedStreams::workspace(spec) : GatedStreams::workspace(spec);
}

}  // namespace offstage::engine
