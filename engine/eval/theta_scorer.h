#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/eval/reference_logits.h"
#include "engine/eval/theta_report.h"
#include "engine/plan/expert_thetas.h"

namespace offstage::engine {

// What leaving out neurons does to a text that is scored, against the same text with theta 0. One thread. The model's
// theta is the last one that was scored.
class ThetaScorer {
  public:
    // As much of the text as the reference's rows have room for (kLargestReference).
    static std::span<const TokenId> scorable(const LoadedModel& model, std::span<const TokenId> tokens);

    // The referents must outlive this object; tokens: scorable(). Scores theta 0 at the first call of score().
    ThetaScorer(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& windows);

    // All of a row but its loss and its decoding. Throws Error as score_text().
    ThetaRow score(const ExpertThetas& thetas, const std::stop_token& stop);

  private:
    LoadedModel& model_;
    std::span<const TokenId> tokens_;
    WindowSettings windows_;
    ReferenceLogits reference_;
};

}  // namespace offstage::engine
