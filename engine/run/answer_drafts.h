#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "engine/run/draft_policy.h"
#include "engine/run/prompt_lookup.h"

namespace offstage::engine {

// The drafts of one answer: what the conversation suggests at each step, or what another
// drafter computes where that is worth more, and how much of it the answer then says. One
// thread.
class AnswerDrafts {
  public:
    // Writes tokens that may follow these, and returns how many.
    using WriteDraftFn = std::function<std::size_t(std::span<const TokenId> tokens, std::span<TokenId> draft)>;
    // A drafter that computes its drafts.
    struct Source {
        Drafter drafter = Drafter::kLayer;
        WriteDraftFn write;
    };

    // The policy must outlive this object. write: LoadRequest::writes_draft; empty:
    // prompt lookup.
    AnswerDrafts(DraftPolicy& policy, WriteDraftFn write, std::vector<Source> sources, std::span<const TokenId> prompt);

    // The answer's next token, which a step is to compute.
    void add(TokenId token);
    // The tokens that this step verifies behind it, at most `most`; valid until add().
    std::span<const TokenId> next(std::size_t most);
    // Of the last next(): whose they are, and whether a draft was computed that is only
    // compared.
    Drafter drafter() const { return drafter_; }
    bool probed() const { return probed_; }

  private:
    struct Draft {
        std::array<TokenId, DraftPolicy::kMostDrafted> tokens{};
        std::size_t n = 0;        // 0: none
        std::size_t n_right = 0;  // of these
        std::size_t matched = 0;  // tokens before it
    };
    Draft& of(Drafter drafter) { return drafts_[static_cast<std::size_t>(drafter)]; }
    std::size_t write(const Source& source, std::size_t most);

    DraftPolicy& policy_;
    const WriteDraftFn write_;
    const std::vector<Source> sources_;
    PromptLookup lookup_;
    std::vector<TokenId> tokens_;  // where something is called with it: the conversation
    std::array<Draft, kDrafters> drafts_;
    Drafter drafter_ = Drafter::kLookup;
    bool probed_ = false;
};

}  // namespace offstage::engine
