#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/run/answer_steps.h"
#include "engine/run/answer_strategy.h"
#include "engine/run/generation.h"
#include "engine/run/model_text.h"

namespace offstage::engine {

// Writes an answer after the prompt was fed: has the strategy choose tokens from the
// logits, shows them as deltas, and makes their steps until the answer ends. One thread,
// the engine's.
class AnswerWriter {
  public:
    // started_us: when the request began, by the device's clock. The referents must
    // outlive this object.
    AnswerWriter(AnswerSteps& steps, const ModelText& text, const GenerationRequest& request,
                 const TextDeltaFn& on_delta, double started_us)
        : steps_(steps), text_(text), request_(request), on_delta_(on_delta), started_us_(started_us) {}

    // Fills in the answer, its times and its end. Throws Error (kDevice, kInvalidModel).
    void write(AnswerStrategy& strategy, const std::stop_token& stop, GenerationResult& result);

  private:
    double seconds_since(double us) const { return (steps_.model().device().now_us() - us) / 1e6; }
    std::span<const float> possible(std::span<const float> logits);
    void show(ThoughtSplitter::Piece piece, bool in_thought, TokenId token, std::int64_t n_tokens, double tokens_per_s,
              std::optional<TokenChoice> choice, std::vector<ToolCallDelta> calls = {}) const;

    AnswerSteps& steps_;
    const ModelText& text_;
    const GenerationRequest& request_;
    const TextDeltaFn& on_delta_;
    const double started_us_;            // by the device's clock: on an emulated device, accounted time
    std::vector<float> endless_logits_;  // see possible()
};

}  // namespace offstage::engine
