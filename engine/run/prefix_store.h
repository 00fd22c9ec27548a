#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "engine/run/kv_cache.h"

namespace offstage::engine {

// The beginning of all prompts of a conversation: its first prompt without its end.
struct FirstPrompt {
    std::int64_t n_tokens = 0;  // 0: not known
    std::uint64_t hash = 0;
};

// A sequence in the KV cache, and its tokens.
struct CachedPrefix {
    KvSequence sequence;
    std::vector<TokenId> tokens;  // as many as the sequence holds
    std::int64_t n_prompt = 0;    // of the last prompt that was read; an answer follows it
    FirstPrompt first = {};       // of the conversation
    bool goes_on = false;         // a later prompt continued the first one
    std::uint64_t used = 0;       // last for the store's n-th prompt
    double worth = 0;             // in the store; the least goes first
    std::int64_t n_aside = 0;     // tokens that it held when it was set aside, and will hold again
};

// The sequences of other conversations, which stay in the KV cache while no other
// sequence needs the room, so that a prompt with the same beginning is not read again.
// Sequences with a common beginning share its blocks. They are idle
// (KvSequence::set_idle). When the cache needs their blocks it calls give_up(): the
// sequence of the least worth loses its end, and finally everything. A sequence is worth
// the tokens that would have to be read again for each byte that it holds, plus the worth
// of the last one that was given up, so that it ages (GreedyDual-Size; Cao and Irani,
// 1997). Where all layers keep everything that is the least recently used one first; a
// state or a window, which does not grow, makes long prompts stay longer. Single requests
// are given up before conversations that were continued lately: most single requests come
// from a chat program (for a title, for tags) and are not continued. The store remembers
// a conversation even after its first prompt was given up. One thread, the engine's.
class PrefixStore {
  public:
    // Makes `running` the sequence that the prompt continues: of itself and all stored
    // ones the one with the longest common prefix, cut back to that, or a copy of such a
    // prefix of one of those `beside` it, which other answers continue. The cut-off parts
    // of `running` and of that one stay in the store. Returns the prefix' tokens; the
    // prompt's last token is never among them, since its logits begin the answer. The
    // capacity stays.
    std::int64_t begin(CachedPrefix& running, std::span<const TokenId> prompt,
                       std::span<const CachedPrefix* const> beside = {});
    // The same with an empty prefix: for a prompt that must be computed whole, or a new
    // conversation whose prompt is not known yet.
    void begin_anew(CachedPrefix& running);
    // A running one goes to the store, and becomes empty, until take_up() fetches what is
    // left of it: a prefix of these tokens without the last.
    void set_aside(CachedPrefix& running);
    void take_up(CachedPrefix& running, std::span<const TokenId> tokens);
    // KvCache::set_give_up: whether something was given up.
    bool give_up(KvCache::GiveUp what);
    void clear() {
        kept_.clear();
        forgotten_.clear();
    }

    std::int64_t n_sequences() const { return static_cast<std::int64_t>(kept_.size()); }
    // Over all sequences; a common beginning counts for each.
    std::int64_t n_tokens() const;

  private:
    // Who looks through them does so for every answer.
    static constexpr std::size_t kMostSequences = 64;
    static constexpr std::uint64_t kLately = 64;      // prompts ago
    static constexpr std::ptrdiff_t kMostSingle = 8;  // single requests before conversations lose their ends

    enum class Rank : std::uint8_t { kFirstToGo, kLastToGo };
    void keep(CachedPrefix prefix, Rank rank);
    bool is_spared(const CachedPrefix& prefix) const { return prefix.goes_on && n_prompts_ - prefix.used <= kLately; }
    void find_conversation(CachedPrefix& running, std::span<const TokenId> prompt) const;
    void forget(std::vector<CachedPrefix>::iterator one);
    void give_up_first();
    bool give_up_end_of_any(bool spared);

    std::vector<CachedPrefix> kept_;      // ascending by worth: the first to go first, but for those that are spared
    double worth_given_up_ = 0;           // of the last one
    std::vector<FirstPrompt> forgotten_;  // of those that were given up, the newest last
    std::uint64_t n_prompts_ = 0;
};

}  // namespace offstage::engine
