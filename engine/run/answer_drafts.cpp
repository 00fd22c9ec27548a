#include "engine/run/answer_drafts.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {
namespace {

constexpr std::size_t kProbed = 2;  // tokens of a draft that is only compared

}  // namespace

AnswerDrafts::AnswerDrafts(DraftPolicy& policy, WriteDraftFn write, std::vector<Source> sources,
                           std::span<const TokenId> prompt)
    : policy_(policy), write_(std::move(write)), sources_(std::move(sources)) {
    for (const TokenId token : prompt) add(token);
}

void AnswerDrafts::add(TokenId token) {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
        Draft& draft = drafts_[i];
        if (draft.n_right == draft.n) continue;
        const bool right = draft.tokens[draft.n_right] == token;
        policy_.add_outcome(draft.matched + draft.n_right, right, static_cast<Drafter>(i));
        right ? ++draft.n_right : draft.n = draft.n_right;
    }
    if (write_ || !sources_.empty()) tokens_.push_back(token);
    if (!write_) lookup_.add(token);
}

std::size_t AnswerDrafts::write(const Source& source, std::size_t most) {
    Draft& draft = of(source.drafter);
    draft.n = source.write(tokens_, std::span(draft.tokens).first(most));
    draft.matched = 1;
    return draft.n;
}

std::span<const TokenId> AnswerDrafts::next(std::size_t most) {
    for (Draft& draft : drafts_) draft.n = draft.n_right = 0;
    probed_ = false;
    drafter_ = Drafter::kLookup;
    Draft& found = of(Drafter::kLookup);
    if (write_) {
        found.n = write_(tokens_, found.tokens);
        found.matched = DraftPolicy::kMatches;
    } else {
        found.matched = lookup_.find(found.tokens);
        found.n = found.matched > 0 ? found.tokens.size() : 0;
    }
    DraftPolicy::Choice best = policy_.choose(std::min(found.n, most), found.matched, Drafter::kLookup);
    const Source* used = nullptr;
    for (const Source& source : sources_) {
        const DraftPolicy::Choice choice = policy_.choose(most, 1, source.drafter);
        if (choice.worth <= best.worth) continue;
        best = choice;
        used = &source;
    }
    if (used != nullptr) {
        drafter_ = used->drafter;
        return std::span(of(drafter_).tokens).first(write(*used, best.length));
    }
    const auto probed = std::ranges::find_if(sources_, [&](const Source& one) { return policy_.probes(one.drafter); });
    if (probed != sources_.end()) probed_ = write(*probed, kProbed) > 0;
    return std::span(found.tokens).first(best.length);
}

}  // namespace offstage::engine
