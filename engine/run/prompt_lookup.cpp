#include "engine/run/prompt_lookup.h"

#include <algorithm>
#include <utility>

#include "engine/mix_bits.h"

namespace offstage::engine {

PromptLookup::PromptLookup() {
    for (Chains& chains : chains_) chains.newest.assign(std::size_t{1} << kHashBits, 0);
}

// Of the n tokens before a place.
std::size_t PromptLookup::hash_before(std::size_t place, std::size_t n) const {
    std::uint64_t bits = 0;
    for (std::size_t i = place - n; i < place; ++i) {
        bits = mix_bits(bits * kGoldenBits + static_cast<std::uint32_t>(tokens_[i]));
    }
    return static_cast<std::size_t>(bits >> (64 - kHashBits));
}

void PromptLookup::add(TokenId token) {
    const std::size_t place = tokens_.size();  // no longer the end
    for (std::size_t n = 1; n <= kLongestGram; ++n) {
        Chains& chains = chains_[n - 1];
        std::int32_t older = 0;
        if (place >= n) older = std::exchange(chains.newest[hash_before(place, n)], static_cast<std::int32_t>(place));
        chains.before.push_back(older);
    }
    tokens_.push_back(token);
}

// The number of tokens before the place that are the conversation's last ones.
std::size_t PromptLookup::match_before(std::size_t place) const {
    const std::size_t end = tokens_.size();
    std::size_t n = 0;
    while (n < std::min(place, kLongestMatch) && tokens_[place - 1 - n] == tokens_[end - 1 - n]) ++n;
    return n;
}

std::size_t PromptLookup::find(std::span<TokenId> draft) const {
    const std::size_t end = tokens_.size();
    std::size_t best = 0, from = 0;
    for (std::size_t n = std::min(kLongestGram, end); n > 0 && best == 0; --n) {
        const Chains& chains = chains_[n - 1];
        auto place = static_cast<std::size_t>(chains.newest[hash_before(end, n)]);
        for (int i = 0; i < kLookedAt && place > 0; ++i) {
            if (const std::size_t match = match_before(place); match > best) {
                best = match;
                from = place;
            }
            place = static_cast<std::size_t>(chains.before[place]);
        }
    }
    if (best == 0) return 0;
    // A place near the end repeats itself.
    for (std::size_t i = 0; i < draft.size(); ++i) {
        draft[i] = from + i < end ? tokens_[from + i] : draft[from + i - end];
    }
    return best;
}

}  // namespace offstage::engine
