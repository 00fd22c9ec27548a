#pragma once

#include <cstdint>
#include <span>

#include "engine/run/loaded_model.h"
#include "engine/telemetry/draft_report.h"

namespace offstage::engine {

// Greedy decode with drafts beside decode without, in turns.
struct DraftGain {
    DraftReport drafts;       // of all repeats; experts are not counted
    double tokens_per_s = 0;  // medians of the repeats, by the device's clock
    double plain_tokens_per_s = 0;
};

// n_tokens tokens behind the prompt, by the drafts of the model's request. What the
// policy learns stays from repeat to repeat, and one that does not count comes first.
// Throws Error as StepModel does.
DraftGain bench_drafts(LoadedModel& model, std::span<const TokenId> prompt, std::int64_t n_tokens, int repeats);

}  // namespace offstage::engine
