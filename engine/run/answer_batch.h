#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/run/answer_call.h"
#include "engine/run/answer_steps.h"
#include "engine/run/running_answer.h"

namespace offstage::engine {

// Makes answers, several at a time: prompts are read in slices, one after each step of
// the answers that have begun, and these share their steps, so that an expert that
// several of them call is read once. One answer alone is a batch of one. An answer that
// has a step of its own may have drafted tokens in it (RunningAnswer::draft()).
//
// With ComputeMode::kF32 an answer's tokens are the same beside others as alone: each has
// steps of its own, in turns. Otherwise they may differ where tokens are almost equally
// probable, since sums in steps of several rows are made in another order.
//
// Where the KV cache has no block left the newest answer waits, and reads again later
// what it has lost of its conversation; the oldest always goes on. One thread, the
// engine's.
class AnswerBatch {
  public:
    AnswerBatch(const SessionParts& parts, int most);
    ~AnswerBatch();
    AnswerBatch(const AnswerBatch&) = delete;
    AnswerBatch& operator=(const AnswerBatch&) = delete;

    // Makes the answers that `next` gives, in that order and up to `most` at a time,
    // until it has none and all have ended. Throws what `next` throws, after all have
    // ended with it.
    void run(const NextAnswerFn& next);

  private:
    void take(const NextAnswerFn& next);
    bool may_join(const AnswerCall& call) const;
    void read();
    void write();
    void write_together();
    template <typename Work>
    void attempt(RunningAnswer& answer, const Work& work);
    bool set_aside_newest();
    void make_room(RunningAnswer& answer, FinishReason alone);
    void end_stopped();
    void finish_ended();
    void fail_all();

    const SessionParts parts_;
    const std::size_t most_, rows_together_;
    AnswerSteps steps_;
    std::vector<std::unique_ptr<RunningAnswer>> running_;  // the oldest first
    std::vector<std::unique_ptr<RunningAnswer>> aside_;    // newer than these; the oldest first
    std::optional<AnswerCall> waiting_;                    // the next one, while it cannot join the running ones
    std::int64_t n_places_ = 0;                            // answers that ended since one was set aside
    const RunningAnswer* last_read_ = nullptr;
    std::optional<PromptReading::Span> progress_;  // of last_read_
    // Of a round of write(): who has no token yet, and those of the next step.
    std::vector<RunningAnswer*> turns_, together_;
    std::vector<Segment> segments_;
};

}  // namespace offstage::engine
