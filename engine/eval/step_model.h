#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "engine/indices.h"
#include "engine/run/beam_search.h"
#include "engine/run/session.h"
#include "engine/telemetry/layer_event.h"

namespace offstage::engine {

// A loaded model as evaluations drive it: token by token, without text. It reads one
// prompt and then continues the sequence with one or more beams. feed() and advance()
// throw Error: kCancelled after a stop request, kInternal with the device's message if it
// failed, kOutOfMemory if the KV cache is full. One thread.
class StepModel {
  public:
    virtual ~StepModel() = default;

    virtual std::int64_t vocab_size() const = 0;
    virtual std::int64_t context() const = 0;   // tokens that one sequence may hold
    virtual std::int64_t max_step() const = 0;  // tokens that one feed() takes at most
    // Microseconds by the model's device: accounted time where the device is emulated.
    virtual double now_us() = 0;

    virtual void set_policy(const DispatchSettings& settings) = 0;
    virtual DispatchTotals totals() const = 0;
    virtual void reset_totals() = 0;

    // Forgets all sequences.
    virtual void restart() = 0;
    // Up to max_step() tokens of a prompt of n_prompt tokens. logits() are those after
    // the last token, if requested.
    virtual void feed(std::span<const TokenId> tokens, std::int64_t n_prompt, bool wants_logits,
                      const std::stop_token& stop) = 0;
    // Each branch continues its parent's sequence (an index; after the prompt there is
    // only 0) by its token. The branches are the sequences of the next call.
    virtual void advance(std::span<const BeamSearch::Branch> branches, const std::stop_token& stop) = 0;

    // The last call's: (sequences, vocab_size).
    virtual std::span<const float> logits() const = 0;
    // The last call's: (tokens, n_layers, n_active).
    virtual std::span<const std::int32_t> routing() const = 0;
};

// The whole prompt, in pieces.
void feed_prompt(StepModel& model, std::span<const TokenId> tokens, const std::stop_token& stop);

}  // namespace offstage::engine
