#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run/loaded_model.h"
#include "engine/run/step_probe.h"

namespace offstage::engine {

// A text as sequences of tokens, each at most `context` long and beginning with
// Tokenizer::prefix(). Throws Error (kInvalidInput): not UTF-8, longer than 16 MiB, no
// token.
std::vector<std::vector<TokenId>> text_sequences(const LoadedModel& model, std::string_view text);
// Conversations as JSON lines, or as one JSON list where `text` begins with "[". Each is
// {"messages": [{"role": "user", "content": "..."}, ...]}, or in ShareGPT's format
// {"conversations": [{"from": "human", "value": "..."}, ...]}. They are rendered by the
// model's chat template; one of ShareGPT's without a message is left out, longer ones are
// cut to the context. Throws Error (kInvalidModel) with `source` and the line or place,
// kUnsupported when the model has no template.
std::vector<std::vector<TokenId>> conversation_sequences(const LoadedModel& model, std::string_view text,
                                                         const std::string& source);
// By the file's name, which ends with ".jsonl" or ".json" then.
bool has_conversations(std::string_view source);
// One of the two.
std::vector<std::vector<TokenId>> sequences_of(const LoadedModel& model, std::string_view text,
                                               const std::string& source);

// Runs each sequence (at most the model's context) through the model from an empty cache,
// in steps of up to max_step tokens. `probe` (may be nullptr) sees all steps; done(first,
// n_tokens) is called after each with the position of its first token. Throws Error:
// kCancelled, kOutOfMemory, kDevice.
void run_sequences(LoadedModel& model, std::span<const std::vector<TokenId>> sequences, std::int64_t max_step,
                   StepProbe* probe, const std::function<void(std::int64_t first, std::int64_t n_tokens)>& done,
                   const std::stop_token& stop);

}  // namespace offstage::engine
