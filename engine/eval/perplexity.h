#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/indices.h"
#include "engine/run/loaded_model.h"
#include "engine/run/token_choice.h"

namespace offstage::engine {

struct WindowSettings {
    std::int64_t window = 512;  // tokens the model sees at once, the tokenizer's prefix (BOS) among them
    std::int64_t stride = 256;  // tokens from one window's beginning to the next's
    std::int64_t step = 0;      // most tokens of a step; 0: the model's largest step; 1: as in decode
};

// The text's tokens; no prefix is added. special: the strings of special tokens in it
// become their ids, as in a rendered chat template. Throws Error: kInvalidInput (not
// UTF-8, fewer than two tokens), kUnsupported (no tokenizer).
std::vector<TokenId> tokens_of_text(const LoadedModel& model, std::string_view text, bool special = false);

// 1 for the tokens of answers: those after the special token `marker` ("<|assistant|>"),
// up to and including the end of text (EOS). Models that were trained on answers only
// predict nothing else. Throws Error (kInvalidInput) when the marker is no special token,
// or the tokens hold no answer.
std::vector<std::uint8_t> answers_of(const LoadedModel& model, std::span<const TokenId> tokens,
                                     const std::string& marker);

// Moves a sliding window over a text and passes on the logits that predict each of its
// tokens, once and in order.
//
// Window i holds tokens [i * stride, i * stride + room), room = window less
// Tokenizer::prefix() (BOS, if the tokenizer adds one); it begins with that prefix and an
// empty cache. It scores the tokens that no earlier window held. So a token is scored
// with at least room - stride tokens of the text before it, except for the first `room`,
// which have all there are; without a prefix the text's first token is not scored.
//
// rows(first, logits): logits (n, vocab_size) that predict tokens first .. first + n - 1.
// Throws Error: kInvalidInput for windows larger than the context or a stride that leaves
// tokens out, kCancelled, and as require_done().
using LogitRowsFn = std::function<void(std::size_t first, std::span<const float> logits)>;
void score_text(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& settings,
                const LogitRowsFn& rows, const std::stop_token& stop);

struct Perplexity {
    std::int64_t n_tokens = 0;           // scored
    double negative_log_likelihood = 0;  // natural logarithm, summed over them in double
    double seconds = 0;
    double value() const;  // e^(negative_log_likelihood / n_tokens)
};

// counts: 1 for the tokens that count, as long as `tokens`; empty: all that are scored.
// `progress` (may be empty) gets tokens done and all. partial: nullptr, or a stop does
// not throw but sets it and ends with the tokens scored so far.
Perplexity measure_perplexity(LoadedModel& model, std::span<const TokenId> tokens, std::span<const std::uint8_t> counts,
                              const WindowSettings& settings,
                              const std::function<void(std::int64_t done, std::int64_t all)>& progress,
                              const std::stop_token& stop, bool* partial = nullptr);

}  // namespace offstage::engine
