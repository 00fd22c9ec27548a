#include "engine/run/prefix_store.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {
namespace {

// Without the prompt's last token.
std::int64_t common_tokens(const CachedPrefix& prefix, std::span<const TokenId> prompt) {
    if (prompt.empty()) return 0;
    const auto [held, wanted] =
        std::mismatch(prefix.tokens.begin(), prefix.tokens.end(), prompt.begin(), prompt.end() - 1);
    return std::distance(prompt.begin(), wanted);
}

// Tokens that are read again without it, for each byte that it holds.
double tokens_per_byte(const KvSequence& sequence) {
    const KvCache& cache = sequence.cache();
    double bytes = 0;
    for (std::size_t g = 0; g < cache.n_groups(); ++g) {
        const KvPool& pool = cache.pool(g);
        const std::int64_t n_held = pool.is_state()      ? kernels::kKvBlockTokens
                                    : pool.window() == 0 ? sequence.size()
                                                         : std::min(sequence.size(), pool.window());
        bytes += static_cast<double>(n_held) * static_cast<double>(pool.shape().block_bytes());
    }
    return static_cast<double>(sequence.size() * kernels::kKvBlockTokens) / bytes;
}

CachedPrefix copy_of(const CachedPrefix& prefix) {
    return {prefix.sequence.copy(), prefix.tokens, prefix.n_prompt, prefix.first,
            prefix.goes_on,         prefix.used,   prefix.worth};
}

// Hashes of the prompt's first 0, 1 ... tokens (FNV-1a).
std::vector<std::uint64_t> hashes_of(std::span<const TokenId> prompt) {
    std::vector<std::uint64_t> hashes = {0xcbf29ce484222325u};
    for (const TokenId token : prompt) {
        hashes.push_back((hashes.back() ^ static_cast<std::uint32_t>(token)) * 0x100000001b3u);
    }
    return hashes;
}

}  // namespace

std::int64_t PrefixStore::begin(CachedPrefix& running, std::span<const TokenId> prompt,
                                std::span<const CachedPrefix* const> beside) {
    const std::int64_t capacity = running.sequence.capacity();
    running.used = n_prompts_++;
    const std::int64_t common = common_tokens(running, prompt);
    std::int64_t n_reused = running.sequence.reach(common);
    auto from = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
        const std::int64_t reached = one->sequence.reach(common_tokens(*one, prompt));
        if (reached <= n_reused) continue;
        n_reused = reached;
        from = one;
    }
    const CachedPrefix* shared = nullptr;
    for (const CachedPrefix* const one : beside) {
        const std::int64_t reached = one->sequence.reach(common_tokens(*one, prompt));
        if (reached <= n_reused) continue;
        n_reused = reached;
        shared = one;
    }
    // If only the answer differs, it was regenerated, or the template writes its end
    // differently from now on: the old branch does not belong to a conversation any more.
    const auto rank_of = [](const CachedPrefix& prefix, std::int64_t n_common) {
        return n_common >= prefix.n_prompt - kPromptEndTokens ? Rank::kFirstToGo : Rank::kLastToGo;
    };
    if (shared != nullptr) {
        keep(std::exchange(running, copy_of(*shared)), Rank::kLastToGo);
    } else if (from == kept_.end()) {
        if (n_reused < running.sequence.size()) {
            CachedPrefix branch = copy_of(running);
            const Rank rank = rank_of(running, common);
            keep(std::exchange(running, std::move(branch)), rank);
        }
    } else if (n_reused < from->sequence.size()) {
        // Who only begins alike does not make that one more recent.
        CachedPrefix branch = copy_of(*from);
        if (rank_of(*from, common_tokens(*from, prompt)) == Rank::kFirstToGo) {
            from->goes_on = false;
            from->worth = 0;
            std::rotate(kept_.begin(), from, from + 1);
        }
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
    running.n_aside = 0;
    find_conversation(running, prompt);
    running.sequence.cache().bring_to_device();
    return n_reused;
}

void PrefixStore::find_conversation(CachedPrefix& running, std::span<const TokenId> prompt) const {
    const std::vector<std::uint64_t> hashes = hashes_of(prompt);
    const auto n = static_cast<std::int64_t>(prompt.size());
    const auto begins_with = [&](const FirstPrompt& first) {
        return first.n_tokens > 0 && first.n_tokens <= n &&
               hashes[static_cast<std::size_t>(first.n_tokens)] == first.hash;
    };
    // A first prompt that is answered again is not longer.
    const auto continues = [&](const FirstPrompt& first) {
        return n > first.n_tokens + 2 * kPromptEndTokens && begins_with(first);
    };
    std::vector<FirstPrompt> known = {running.first};
    for (const CachedPrefix& one : kept_) known.push_back(one.first);
    known.insert(known.end(), forgotten_.begin(), forgotten_.end());
    if (const auto found = std::find_if(known.begin(), known.end(), continues); found != known.end()) {
        running.first = *found;
        running.goes_on = true;
    } else if (!begins_with(running.first)) {
        const std::int64_t compared = std::max(n - kPromptEndTokens, (n + 1) / 2);
        running.first = {compared, hashes[static_cast<std::size_t>(compared)]};
        running.goes_on = false;
    }
}

void PrefixStore::begin_anew(CachedPrefix& running) {
    CachedPrefix fresh;
    fresh.sequence = KvSequence(running.sequence.cache(), running.sequence.capacity());
    keep(std::exchange(running, std::move(fresh)), Rank::kLastToGo);
}

void PrefixStore::set_aside(CachedPrefix& running) {
    CachedPrefix known{{}, {}, running.n_prompt, running.first, running.goes_on};
    known.n_aside = std::max(running.n_aside, running.sequence.size());
    begin_anew(running);
    known.sequence = std::move(running.sequence);
    running = std::move(known);
}

void PrefixStore::take_up(CachedPrefix& running, std::span<const TokenId> tokens) {
    const CachedPrefix known{{}, {}, running.n_prompt, running.first, running.goes_on};
    const std::int64_t n_aside = running.n_aside;
    begin(running, tokens);
    running.n_prompt = known.n_prompt;
    running.first = known.first;
    running.goes_on = known.goes_on;
    running.n_aside = n_aside;
}

void PrefixStore::keep(CachedPrefix prefix, Rank rank) {
    if (prefix.sequence.size() == 0) return;
    prefix.sequence.set_idle(true);
    prefix.goes_on = prefix.goes_on && rank == Rank::kLastToGo;
    prefix.worth = rank == Rank::kFirstToGo ? 0 : worth_given_up_ + tokens_per_byte(prefix.sequence);
    const auto place = std::find_if(kept_.begin(), kept_.end(), [&](const CachedPrefix& one) {
        return rank == Rank::kFirstToGo || one.worth > prefix.worth;
    });
    kept_.insert(place, std::move(prefix));
    if (kept_.size() > kMostSequences) give_up_first();
}

void PrefixStore::give_up_first() {
    const auto single =
        std::find_if(kept_.begin(), kept_.end(), [&](const CachedPrefix& prefix) { return !is_spared(prefix); });
    forget(single != kept_.end() ? single : kept_.begin());
}

void PrefixStore::forget(std::vector<CachedPrefix>::iterator one) {
    worth_given_up_ = std::max(worth_given_up_, one->worth);
    forgotten_.push_back(one->first);
    if (forgotten_.size() > kMostSequences) forgotten_.erase(forgotten_.begin());
    kept_.erase(one);
}

bool PrefixStore::give_up(KvCache::GiveUp what) {
    if (what == KvCache::GiveUp::kWhole) {
        if (kept_.empty()) return false;
        give_up_first();
        return true;
    }
    if (give_up_end_of_any(false)) return true;
    const auto n_single =
        std::count_if(kept_.begin(), kept_.end(), [&](const CachedPrefix& prefix) { return !is_spared(prefix); });
    if (n_single <= kMostSingle) return give_up_end_of_any(true);
    give_up_first();
    return true;
}

bool PrefixStore::give_up_end_of_any(bool spared) {
    const auto given = std::find_if(kept_.begin(), kept_.end(), [&](CachedPrefix& prefix) {
        return is_spared(prefix) == spared && prefix.sequence.give_up_end();
    });
    if (given == kept_.end()) return false;
    given->tokens.resize(static_cast<std::size_t>(given->sequence.size()));
    if (given->tokens.empty()) forget(given);
    return true;
}

std::int64_t PrefixStore::n_tokens() const {
    std::int64_t n = 0;
    for (const CachedPrefix& prefix : kept_) n += prefix.sequence.size();
    return n;
}

}  // namespace offstage::engine
