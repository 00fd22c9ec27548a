#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "engine/run/answer_steps.h"
#include "engine/run/token_choice.h"

namespace offstage::engine {

// Feeds a prompt to the model, in steps of as many tokens as the plan allows. Both
// functions return false when stopped, and leave the logits of the prompt's last token as
// the last row. Throw Error (kDevice). One thread, the engine's.
class PromptFeeder {
  public:
    explicit PromptFeeder(AnswerSteps& steps) : steps_(steps) {}

    // Tokens that follow those of the conversation's sequence.
    bool feed(std::span<const TokenId> tokens, const std::stop_token& stop);
    // The same for a prompt that the sequence holds nothing of, with the log probability
    // of each token. The first token has none.
    bool feed_scored(const std::vector<TokenId>& prompt, int n_alternatives, const std::stop_token& stop,
                     std::vector<TokenChoice>& choices);

  private:
    AnswerSteps& steps_;
};

}  // namespace offstage::engine
