#pragma once

#include <span>
#include <vector>

#include "engine/run/loaded_model.h"

namespace offstage::engine {

// The model's output for given tokens: one row of vocab_size after the last token, or
// after every token. Throws Error (kInvalidInput): no tokens, an id outside the
// vocabulary, more tokens than the model's context.
std::vector<std::vector<float>> compute_logits(LoadedModel& model, std::span<const TokenId> tokens, bool all);

}  // namespace offstage::engine
