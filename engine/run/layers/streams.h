#pragma once

#include <cstdint>
#include <memory>

#include "engine/model/model_spec.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// Hyper-connections (Zhu and others, 2024, arXiv:2409.19606) around one part of a model,
// an attention or a feed-forward part or the head: how it reads the residual streams, and
// how its output is added to them. Around attention and feed-forward parts StepContext::x
// holds only the part's output: read(), the part with norm {} and x cleared, write().
class StreamMixer {
  public:
    virtual ~StreamMixer() = default;
    // Makes `out` (n_tokens, hidden_dim), the part's normed input, of step.streams;
    // step.coefficients gets what write() needs. Uses the workspace and x. A norm
    // without a dimension: the part has none.
    virtual void read(const StepContext& step, const NormWeights& norm, float* out) const = 0;
    // step.streams of step.x and step.coefficients. Not of the head's.
    virtual void write(const StepContext& step) const = 0;
};

// The part's; nullptr: the model has one residual stream. StreamPart::kHead: layer -1.
std::unique_ptr<StreamMixer> make_stream_mixer(const ModelSpec& spec, const DeviceWeights& weights, StreamPart part,
                                               std::int64_t layer);

// Floats of workspace for one token; 0: there is one stream.
std::int64_t stream_workspace(const ModelSpec& spec);

}  // namespace offstage::engine
