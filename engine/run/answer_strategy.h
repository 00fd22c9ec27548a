#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/run/forward.h"
#include "engine/run/generation.h"
#include "engine/run/model_text.h"
#include "engine/run/token_chooser.h"

namespace offstage::engine {

// Chooses an answer's tokens. After the prompt, and after each step, it gets the logits
// and returns the tokens of the next step; the caller makes the steps. One thread.
class AnswerStrategy {
  public:
    virtual ~AnswerStrategy() = default;

    // The logits of the last step, (rows, vocab_size): one row for each segment of the
    // step; after the prompt one.
    struct Logits {
        std::span<const float> model;        // as computed
        std::span<const float> possible;     // the allowed tokens; the others are -infinity
        std::optional<TokenId> chosen = {};  // by the device, for chooser(); the others may be empty then
    };
    struct Progress {
        bool chose = false;       // at least one token
        std::string text;         // whole characters that became certain: of the answer,
        std::string thought;      // and of the thought before it
        bool in_thought = false;  // the token belongs to the thought
        TokenId token = -1;       // the leading one; -1: nothing to show
        std::int64_t n_tokens = 0;
        std::optional<TokenChoice> choice = {};  // of `token`
        bool text_was_thought = false;           // see TextDelta
        std::vector<ToolCallDelta> calls = {};   // behind `text`
    };
    // Throws Error (kInvalidModel) where nothing can be chosen.
    virtual Progress advance(const Logits& logits) = 0;
    // For the steps of next(), if the device may choose behind them.
    virtual TokenChooser* chooser() { return nullptr; }
    // The input of the next step; empty: the answer is done.
    virtual std::span<const Segment> next() const = 0;
    // Ends the answer although next() has further input.
    virtual void end(FinishReason reason) = 0;
    // Writes text, thought, tokens, answers and finish. Returns the text that has not
    // been shown yet.
    virtual ThoughtSplitter::Piece finish(GenerationResult& result) = 0;
};

// The state at the beginning of an answer. All referents must outlive the strategy.
struct AnswerStart {
    const GenerationRequest& request;
    const ModelText& text;
    KvSequence& sequence;                // holds the prompt; sampling goes on in it, the others in forks
    const std::vector<TokenId>& tokens;  // the tokens in `sequence`, also later; now the prompt
    std::uint64_t seed = 0;
};
// The strategy that the request selects: sampling, beams, or several answers.
std::unique_ptr<AnswerStrategy> make_strategy(const AnswerStart& start);

}  // namespace offstage::engine
