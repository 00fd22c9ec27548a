#include "engine/run/answer_drafts.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {

AnswerDrafts::AnswerDrafts(DraftPolicy& policy, WriteDraftFn write, std::span<const TokenId> prompt)
    : policy_(policy), write_(std::move(write)) {
    for (const TokenId token : prompt) add(token);
}

void AnswerDrafts::add(TokenId token) {
    if (n_right_ < n_draft_) {
        const bool right = draft_[n_right_] == token;
        policy_.add_outcome(matched_ + n_right_, right);
        right ? ++n_right_ : n_draft_ = 0;
    }
    write_ ? tokens_.push_back(token) : lookup_.add(token);
}

std::span<const TokenId> AnswerDrafts::next(std::size_t most) {
    n_right_ = 0;
    if (write_) {
        n_draft_ = write_(tokens_, draft_);
        matched_ = DraftPolicy::kMatches;
    } else {
        matched_ = lookup_.find(draft_);
        n_draft_ = matched_ > 0 ? draft_.size() : 0;
    }
    return std::span(draft_).first(policy_.length(std::min(n_draft_, most), matched_));
}

}  // namespace offstage::engine
