#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "engine/eval/step_model.h"
#include "engine/model/model_spec.h"
#include "engine/plan/popularity.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {

// Counts the experts that the tokens of a text are routed to (Fiddler, appendix C). The
// text is processed in windows of the model's context, each beginning with
// Tokenizer::prefix(). `progress` (may be empty) gets tokens done and an estimate of all.
// Throws Error: kInvalidInput (not UTF-8, no text), kCancelled, and as StepModel does.
Popularity count_experts(StepModel& model, const ExpertGrid& grid, const Tokenizer& tokenizer, std::string_view text,
                         const std::function<void(std::int64_t done, std::int64_t all)>& progress,
                         const std::stop_token& stop);

// The same of sequences, each at most the model's context long (sequences_of()).
Popularity count_experts(StepModel& model, const ExpertGrid& grid, std::span<const std::vector<TokenId>> sequences,
                         const std::function<void(std::int64_t done, std::int64_t all)>& progress,
                         const std::stop_token& stop);

}  // namespace offstage::engine
