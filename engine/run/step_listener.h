#pragma once

#include <cstdint>
#include <span>

namespace offstage::engine {

struct Segment;

// The tokens whose logits a step computes: none, each segment's last one, all.
// kLastElsewhere: the last one's, but by another machine that makes the same step.
enum class StepLogits { kNone, kLast, kLastElsewhere, kAll };

// Called for each step of a model, for machines that make the same steps. Given to
// Forward::set_listener(). One thread, the engine's; nothing throws.
class StepListener {
  public:
    virtual ~StepListener() = default;
    // The sequences have room for their tokens; nothing has been computed yet. wanted,
    // n_prompt: as for Forward::step().
    virtual void begin_step(std::span<const Segment> segments, StepLogits wanted, std::int64_t n_prompt) = 0;
    // Called once for each begin_step(). done: the sequences contain the tokens;
    // otherwise they are unchanged.
    virtual void end_step(bool done) = 0;
};

}  // namespace offstage::engine
