#pragma once

#include <vector>

#include "engine/eval/step_model.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {

// A LoadedModel for evaluations. The model must outlive this object.
class LoadedStepModel final : public StepModel {
  public:
    explicit LoadedStepModel(LoadedModel& model) : model_(model) {}

    std::int64_t vocab_size() const override;
    std::int64_t context() const override;
    std::int64_t max_step() const override;
    double now_us() override;
    void set_policy(const DispatchSettings& settings) override;
    DispatchTotals totals() const override;
    void reset_totals() override;
    void restart() override;
    void feed(std::span<const TokenId> tokens, std::int64_t n_prompt, bool wants_logits,
              const std::stop_token& stop) override;
    void advance(std::span<const BeamSearch::Branch> branches, const std::stop_token& stop) override;
    std::span<const float> logits() const override;
    std::span<const std::int32_t> routing() const override;

    // The bandwidth of the model's threads reading this machine's memory, measured now.
    // Throws Error (kOutOfMemory).
    double measure_read_gbps();

  private:
    void step(std::span<const Segment> segments, Forward::Logits wanted, const std::stop_token& stop,
              std::int64_t n_prompt = 0);

    LoadedModel& model_;
    std::vector<KvSequence> sequences_, next_;
    std::vector<Segment> segments_;
};

// Throws Error for an outcome that is not kDone.
void require_done(Forward::Outcome outcome, const Backend& device);

}  // namespace offstage::engine
