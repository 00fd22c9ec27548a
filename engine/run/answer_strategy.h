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

namespace offstage::engine {

// How an answer's tokens are chosen. After the prompt, and after each step, it gets the
// logits and says what to feed next; the caller makes the steps. One thread.
class AnswerStrategy {
  public:
    virtual ~AnswerStrategy() = default;

    // Of the last step, (rows, vocab_size): one row for each segment that was fed; after
    // the prompt one.
    struct Logits {
        std::span<const float> model;     // as computed
        std::span<const float> possible;  // what may be chosen
    };
    struct Progress {
        bool chose = false;       // at least one token
        std::string text;         // whole characters that became certain: of the answer,
        std::string thought;      // and of the thought before it
        bool in_thought = false;  // the token belongs to the thought
        TokenId token = -1;       // the leading one; -1: nothing to show
        std::int64_t n_tokens = 0;
        std::optional<TokenChoice> choice = {};  // of `token`
    };
    // Throws Error (kInvalidModel) where nothing can be chosen.
    virtual Progress advance(const Logits& logits) = 0;
    // What to feed next; empty: the answer is done.
    virtual std::span<const Segment> next() const = 0;
    // No further step is made, although next() wanted one.
    virtual void end(FinishReason reason) = 0;
    // Writes text, thought, tokens, answers and finish. Returns what is still to be shown.
    virtual ThoughtSplitter::Piece finish(GenerationResult& result) = 0;
};

// What an answer begins with. All referents must outlive the strategy.
struct AnswerStart {
    const GenerationRequest& request;
    const ModelText& text;
    KvSequence& sequence;                // holds the prompt; sampling goes on in it, the others in forks
    const std::vector<TokenId>& tokens;  // what `sequence` holds, also later; now the prompt
    std::uint64_t seed = 0;
};
// The one that the request asks for: sampling, beams, or several answers.
std::unique_ptr<AnswerStrategy> make_strategy(const AnswerStart& start);

}  // namespace offstage::engine
