#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "engine/run/kv_cache.h"

namespace offstage::engine {

// A sequence in the KV cache, and which tokens it holds.
struct CachedPrefix {
    KvSequence sequence;
    std::vector<TokenId> tokens;  // as many as the sequence holds
    std::int64_t n_prompt = 0;    // of the last prompt that was read: behind it stands an answer
};

// The sequences of other conversations, which stay in the KV cache while nobody else needs
// the room, so that a prompt that begins as one of them is not read again. Sequences with a
// common beginning share its blocks. They are idle (KvSequence::set_idle); the cache asks
// give_up() for their blocks, and then the one that was used longest ago loses its end, and
// at last all. One thread, the engine's.
class PrefixStore {
  public:
    // `running` becomes the sequence that the prompt goes on from: of itself and all that
    // are kept the one with the longest common prefix, back at its end. What `running` and
    // that one hold beyond it stays here. Returns the prefix' tokens; the prompt's last
    // token is never among them, since its logits begin the answer. The capacity stays.
    std::int64_t begin(CachedPrefix& running, std::span<const TokenId> prompt);
    // The same with a prefix of no tokens: for a prompt that must be computed whole, or a
    // new conversation whose prompt is not known yet.
    void begin_anew(CachedPrefix& running);
    // KvCache::set_give_up: whether something was given up.
    bool give_up(KvCache::GiveUp what);
    void clear() { kept_.clear(); }

    std::int64_t n_sequences() const { return static_cast<std::int64_t>(kept_.size()); }
    // Of all sequences together; a common beginning counts for each.
    std::int64_t n_tokens() const;

  private:
    // Who looks through them does so for every answer.
    static constexpr std::size_t kMostSequences = 64;

    enum class Rank : std::uint8_t { kFirstToGo, kLastToGo };
    void keep(CachedPrefix prefix, Rank rank);

    std::vector<CachedPrefix> kept_;  // the first to go first
};

}  // namespace offstage::engine
