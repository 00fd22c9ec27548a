#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/dispatch/routed_rows.h"
#include "engine/model/model_spec.h"
#include "engine/run/device_weights.h"
#include "kernels/types.h"

namespace offstage::engine {

// One step in the KV cache of a group of layers.
struct KvStep {
    kernels::KvShape shape;
    std::vector<AttentionSegment> segments;
};

// cos and sin of the tokens' positions, (n_tokens, rotary_dim / 2) each, in the device's
// memory.
struct Rotation {
    const float* cos = nullptr;
    const float* sin = nullptr;
};

// Pieces of a module's workspace begin at multiples of 16 bytes.
inline constexpr std::int64_t workspace_width(std::int64_t width) {
    return (width + 3) / 4 * 4;
}

// One step, as a layer module sees it. Addresses of the device's memory.
struct StepContext {
    Backend& device;
    std::int64_t n_tokens = 0;
    std::int64_t hidden_dim = 0;
    std::span<const KvStep> kv;              // by group of layers
    std::span<const Rotation> rotations;     // by kind of positions: Positions::kind_of()
    const std::int32_t* identity = nullptr;  // 0, 1, 2 ...: rows of a network are the step's tokens
    float* x = nullptr;                      // (n_tokens, hidden_dim): the residual stream
    float* normalised = nullptr;             // (n_tokens, hidden_dim): a module's input
    float* workspace = nullptr;              // of the module's requested size, for n_tokens tokens
    // (n_tokens, hidden_dim), in models with further norms: another norm's output while
    // its reader runs, and then the sum of the experts' outputs. Where the router's
    // weights multiply the experts' inputs: these. Otherwise nullptr.
    float* further = nullptr;
    // Tokens whose networks and experts are computed: all, except in the last layer,
    // after whose attention tokens without logits are not used any more. Ascending.
    std::span<const TokenRange> wanted;
    // (n_tokens, AttentionShape::choice_width()), in models with an indexer: what the
    // last one chose for the rows that see more keys than that. Otherwise nullptr.
    std::int32_t* chosen = nullptr;
    // With hyper-connections (StreamsSpec): the residual streams, (n_tokens, n,
    // hidden_dim), and what a part keeps of itself between reading and writing them,
    // (n_tokens, n_coefficients()); x is the part's output then. Otherwise nullptr.
    float* streams = nullptr;
    float* coefficients = nullptr;
    const TokenId* tokens = nullptr;  // (n_tokens)
    // (n_tokens, ExpertGrid::hidden_dim), with MoeSpec::latent: the routed experts' inputs
    // and the sums of their outputs. Otherwise nullptr.
    float* latent = nullptr;
    float* latent_sum = nullptr;

    // What the experts read, before weights multiply it: once RouterWeights::make_latent()
    // was submitted.
    const float* expert_inputs() const { return latent != nullptr ? latent : normalised; }

    // Makes `normalised`, a module's input, of x; without a dimension: it is there.
    void normalise(const NormWeights& norm) const {
        if (norm.dim > 0) device.submit(ops::Norm{norm, x, n_tokens, normalised});
    }

    // The same step with these tokens only, for computations on single tokens: norms and
    // networks.
    StepContext only(const TokenRange& range) const {
        StepContext step = *this;
        step.n_tokens = range.n;
        step.x += range.first * hidden_dim;
        step.normalised += range.first * hidden_dim;
        step.workspace += range.first * workspace_width(hidden_dim);
        if (further != nullptr) step.further += range.first * hidden_dim;
        if (tokens != nullptr) step.tokens += range.first;
        step.wanted = {};
        return step;
    }
};

// Pieces of a module's workspace, one after the other, each for all tokens of the step. A
// piece's width is rounded up, so that all begin at multiples of 16 bytes.
class WorkspacePieces {
  public:
    explicit WorkspacePieces(const StepContext& step) : next_(step.workspace), n_tokens_(step.n_tokens) {}
    float* take(std::int64_t width) {
        float* piece = next_;
        next_ += n_tokens_ * rounded(width);
        return piece;
    }
    static constexpr std::int64_t rounded(std::int64_t width) { return workspace_width(width); }

  private:
    float* next_;
    std::int64_t n_tokens_;
};

// Applied to a module's output before it is added to the residual stream: a norm (without
// weights: none) and a factor.
struct OutputRule {
    NormWeights norm;
    float factor = 1;

    void normalise(const StepContext& step, float* output) const {
        if (norm.weight != nullptr) step.device.submit(ops::NormPieces{norm, step.n_tokens, norm.dim, 1, output});
    }
    void add(const StepContext& step, std::int64_t hidden_dim, float* output) const {
        normalise(step, output);
        step.device.submit(ops::Add{output, step.n_tokens * hidden_dim, step.x, factor});
    }
};

// An RMS norm of hidden_dim values in this role; without weights if the model has none.
inline NormWeights rms_norm_of(const ModelSpec& spec, const DeviceWeights& weights, TensorRole role,
                               std::int64_t layer) {
    return {kernels::NormKind::kRms, weights.vector(role, layer), nullptr, spec.hidden_dim, spec.norm.eps};
}

// Attention of one layer: x += output(attention(norm(x))). A norm without a dimension:
// StepContext::normalised has the input.
class AttentionModule {
  public:
    virtual ~AttentionModule() = default;
    virtual void run(const StepContext& step, const NormWeights& norm) const = 0;
    // Ahead of run(): Backend::fetch_keys().
    virtual void fetch_keys(const StepContext& /*step*/) const {}
};

}  // namespace offstage::engine
