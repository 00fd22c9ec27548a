#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/run/forward.h"
#include "engine/run/generation.h"
#include "engine/run/loaded_model.h"
#include "engine/telemetry/routing_trace.h"

namespace offstage::engine {

// Records of an answer while it is generated: the times of its decode steps and, if
// requested, the routing of its tokens. One thread, the engine's.
class AnswerRecord {
  public:
    AnswerRecord() = default;
    // Throws Error (kIo) where the trace cannot be written. The model must outlive this
    // object.
    AnswerRecord(LoadedModel& model, const GenerationRequest& request);

    // `us`: by the device's clock. n_accepted: of the drafted tokens, whose sequence
    // holds them now.
    void add_step(std::span<const Segment> segments, double us, std::size_t n_accepted = 0);
    // The same for a step of an answer's next token, with n_drafted behind it.
    void add_decode(std::span<const Segment> segments, double us, std::size_t n_drafted, std::size_t n_accepted,
                    Drafter drafter);
    // Throws Error (kIo).
    void finish(GenerationResult& result);

  private:
    void report(DeviceReport& report) const;
    void count_drafts(std::size_t n_drafted, std::size_t n_accepted, Drafter drafter);

    LoadedModel* model_ = nullptr;
    std::unique_ptr<TraceWriter> trace_;
    std::vector<double> steps_us_;  // of each token in decode
    DraftReport drafts_;
};

}  // namespace offstage::engine
