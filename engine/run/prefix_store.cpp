#include "engine/run/prefix_store.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {
namespace {

// A template may write the end of a prompt in another way when the answer follows.
constexpr std::int64_t kTemplateEnd = 8;

// Without the prompt's last token.
std::int64_t common_tokens(const CachedPrefix& prefix, std::span<const TokenId> prompt) {
    if (prompt.empty()) return 0;
    const auto [held, wanted] =
        std::mismatch(prefix.tokens.begin(), prefix.tokens.end(), prompt.begin(), prompt.end() - 1);
    return std::distance(prompt.begin(), wanted);
}

CachedPrefix copy_of(const CachedPrefix& prefix) {
    return {prefix.sequence.copy(), prefix.tokens, prefix.n_prompt};
}

}  // namespace

std::int64_t PrefixStore::begin(CachedPrefix& running, std::span<const TokenId> prompt) {
    const std::int64_t capacity = running.sequence.capacity();
    const std::int64_t common = common_tokens(running, prompt);
    std::int64_t n_reused = running.sequence.reach(common);
    auto from = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
        const std::int64_t reached = one->sequence.reach(common_tokens(*one, prompt));
        if (reached <= n_reused) continue;
        n_reused = reached;
        from = one;
    }
    // If only the answer differs, it was regenerated, or the template writes its end
    // differently from now on: the old branch does not belong to a conversation any more.
    const auto rank_of = [](const CachedPrefix& prefix, std::int64_t n_common) {
        return n_common >= prefix.n_prompt - kTemplateEnd ? Rank::kFirstToGo : Rank::kLastToGo;
    };
    if (from == kept_.end()) {
        if (n_reused < running.sequence.size()) {
            CachedPrefix branch = copy_of(running);
            const Rank rank = rank_of(running, common);
            keep(std::exchange(running, std::move(branch)), rank);
        }
    } else if (n_reused < from->sequence.size()) {
        // Who only begins alike does not make that one more recent.
        CachedPrefix branch = copy_of(*from);
        if (rank_of(*from, common_tokens(*from, prompt)) == Rank::kFirstToGo)
            std::rotate(kept_.begin(), from, from + 1);
        keep(std::exchange(running, std::move(branch)), Rank::kLastToGo);
    } else {
        CachedPrefix found = std::move(*from);
        kept_.erase(from);
        found.sequence.set_idle(false);
        keep(std::exchange(running, std::move(found)), Rank::kLastToGo);
    }
    running.sequence.truncate(n_reused);
    running.sequence.set_capacity(capacity);
    running.tokens.resize(static_cast<std::size_t>(n_reused));
    running.n_prompt = static_cast<std::int64_t>(prompt.size());
    running.sequence.cache().bring_to_device();
    return n_reused;
}

void PrefixStore::begin_anew(CachedPrefix& running) {
    CachedPrefix fresh;
    fresh.sequence = KvSequence(running.sequence.cache(), running.sequence.capacity());
    keep(std::exchange(running, std::move(fresh)), Rank::kLastToGo);
}

void PrefixStore::keep(CachedPrefix prefix, Rank rank) {
    if (prefix.sequence.size() == 0) return;
    prefix.sequence.set_idle(true);
    kept_.insert(rank == Rank::kFirstToGo ? kept_.begin() : kept_.end(), std::move(prefix));
    if (kept_.size() > kMostSequences) kept_.erase(kept_.begin());
}

bool PrefixStore::give_up(KvCache::GiveUp what) {
    if (what == KvCache::GiveUp::kWhole) {
        if (kept_.empty()) return false;
        kept_.erase(kept_.begin());
        return true;
    }
    const auto given =
        std::find_if(kept_.begin(), kept_.end(), [](CachedPrefix& prefix) { return prefix.sequence.give_up_end(); });
    if (given == kept_.end()) return false;
    given->tokens.resize(static_cast<std::size_t>(given->sequence.size()));
    if (given->tokens.empty()) kept_.erase(given);
    return true;
}

std::int64_t PrefixStore::n_tokens() const {
    std::int64_t n = 0;
    for (const CachedPrefix& prefix : kept_) n += prefix.sequence.size();
    return n;
}

}  // namespace offstage::engine
