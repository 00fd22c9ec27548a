#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/run/generation.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {

// What a loaded model makes of text: prompts to tokens, tokens to text, and which tokens
// end a turn. A view; the model must outlive it.
class ModelText {
  public:
    explicit ModelText(const LoadedModel& model) : model_(model) {}

    // Messages with the template and the generation prompt. Throws Error: kUnsupported
    // (no tokenizer, no template), kInvalidInput (text that is not UTF-8).
    std::vector<TokenId> render(const std::vector<ChatMessage>& messages) const;
    std::vector<TokenId> prompt_tokens(const GenerationRequest& request) const;

    std::string piece(TokenId token) const;  // its bytes
    std::string decode(std::span<const TokenId> tokens, bool strip_space) const;
    // Some tokenizers begin a text with a space that nobody typed; the middle of a text
    // has its own.
    bool strips_space(const GenerationRequest& request) const;
    std::vector<TokenId> end_tokens() const;
    std::int64_t vocab_size() const { return model_.spec().vocab_size; }
    // The weights seem to be damaged.
    [[noreturn]] void throw_no_probabilities() const;

  private:
    const Tokenizer& tokenizer() const;

    const LoadedModel& model_;
};

}  // namespace offstage::engine
