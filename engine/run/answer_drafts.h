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

// The drafts of one answer: what the conversation suggests at each step, and how much of
// it the answer then says. One thread.
class AnswerDrafts {
  public:
    // LoadRequest::writes_draft.
    using WriteDraftFn = std::function<std::size_t(std::span<const TokenId> tokens, std::span<TokenId> draft)>;

    // The policy must outlive this object. write: empty: prompt lookup.
    AnswerDrafts(DraftPolicy& policy, WriteDraftFn write, std::span<const TokenId> prompt);

    // The answer's next token, which a step is to compute.
    void add(TokenId token);
    // The tokens that this step verifies behind it, at most `most`; valid until add().
    std::span<const TokenId> next(std::size_t most);

  private:
    DraftPolicy& policy_;
    const WriteDraftFn write_;
    PromptLookup lookup_;
    std::vector<TokenId> tokens_;  // with write_: the conversation
    std::array<TokenId, DraftPolicy::kMostDrafted> draft_{};
    std::size_t n_draft_ = 0;  // 0: none
    std::size_t n_right_ = 0;  // of these
    std::size_t matched_ = 0;  // tokens before it
};

}  // namespace offstage::engine
