#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/run/model_text.h"
#include "engine/run/sampler.h"
#include "engine/text/token_masks.h"

namespace offstage::engine {

// Holds an answer to GenerationRequest::grammar: which tokens may follow. Thoughts are
// free, except that the answer does not end in them. One thread.
class AnswerConstraint final : public TokenFilter {
  public:
    // nullptr: the request has no grammar. splitter: of the answer, at its beginning. `text`
    // must outlive it. Throws Error (kInvalidInput) where a begun answer is not of the
    // grammar.
    static std::unique_ptr<AnswerConstraint> make(const ModelText& text, const GenerationRequest& request,
                                                  std::span<const TokenId> prompt, const ThoughtSplitter& splitter);

    bool is_costly() override;
    bool allows(TokenId token) override;
    // Valid until push(). Throws Error (kInvalidInput) where no token fits.
    const TokenMask& mask() override;
    // The token that was chosen, which the splitter has taken; was_in_thought: before that;
    // answer: what it added to the answer. Throws Error (kInvalidInput) where it does not
    // fit.
    void push(TokenId token, bool was_in_thought, const ThoughtSplitter& splitter, const std::string& answer);
    // Nothing can follow.
    bool is_complete() const { return !in_thought_ && automaton_.is_complete(state_); }

  private:
    AnswerConstraint(const ModelText& text, std::shared_ptr<TokenMasks> masks, bool in_thought);
    [[noreturn]] void throw_no_token() const;

    const ModelText& text_;
    std::shared_ptr<TokenMasks> masks_;
    GrammarAutomaton automaton_;
    GrammarAutomaton::State state_;
    bool in_thought_;
    std::vector<TokenId> ends_;
    TokenMask in_thoughts_;  // allowed there
    std::unordered_map<GrammarAutomaton::State, TokenMask> known_;
    std::string read_;  // the end of what was read, for errors
};

}  // namespace offstage::engine
