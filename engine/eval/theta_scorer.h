#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/eval/reference_logits.h"
#include "engine/eval/theta_report.h"
#include "engine/plan/neuron_thresholds.h"

namespace offstage::engine {

// The effect of leaving out neurons on a scored text, against the same text with theta 0.
// One thread. The model's theta is the last one that was scored.
class ThetaScorer {
  public:
    // As much of the text as the reference's rows have room for (kLargestReference).
    static std::span<const TokenId> scorable(const LoadedModel& model, std::span<const TokenId> tokens);

    // The referents must outlive this object; tokens: scorable(). The first call of
    // score() scores theta 0.
    ThetaScorer(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& windows);

    // All of a row but its loss and its decoding. Throws Error as score_text().
    ThetaRow score(const ExpertThetas& thetas, const std::stop_token& stop);

  private:
    LoadedModel& model_;
    std::span<const TokenId> tokens_;
    WindowSettings windows_;
    ReferenceLogits reference_;
};

inline constexpr int kThetaDecodes = 3;

struct ThetaSettings {
    WindowSettings windows;
    std::vector<double> thetas;  // 0 comes before them where it is missing
    std::int64_t decode_tokens = 0;
    std::span<const ChosenThresholds> chosen = {};  // scored besides
    // Questions that each theta answers; empty: none.
    ChoiceFormat format{};
    std::span<const ChoiceTask> tasks = {};
    ChoiceSettings choices = {};
};

// Scores the tokens once for each theta, then the tasks, then decodes: the text's first
// tokens are read and decode_tokens further ones follow one by one. If the request has
// NeuronGuesses::kAccept, on a device with separate memory, the text is read token by
// token, because neurons are only guessed then, and each theta is scored with corrected
// guesses and with accepted ones. Tasks are not read so: they use no accepted guesses. A
// text is cut where the reference's rows would take more than kLargestReference.
// Afterwards the model has its request's theta again. `progress` (may be empty) gets a
// line per theta for the text and one for the tasks, `of_tasks` (may be empty) each
// completed task, counted over all thetas. A stop ends it with the thetas scored so far,
// and with the completed part of their tasks (`partial`); before theta 0 is scored it
// throws kCancelled. Throws Error: kInvalidInput (a theta that check_theta() refuses,
// fewer tokens than a decode takes), and as measure_perplexity() and evaluate_choices().
ThetaReport measure_thetas(LoadedModel& model, std::span<const TokenId> tokens, const ThetaSettings& settings,
                           const std::function<void(const std::string& line)>& progress,
                           const EvaluationProgressFn& of_tasks, const std::stop_token& stop);

}  // namespace offstage::engine
