#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/plan/load_settings.h"
#include "kernels/kv_cache.h"

namespace offstage::engine {

// Blocks of a KV pool in each memory.
struct KvRoom {
    std::int64_t device_blocks = 0;
    std::int64_t host_blocks = 0;  // in RAM, page-locked: the device reads and writes them over the bus

    std::int64_t n_blocks() const { return device_blocks + host_blocks; }
    friend bool operator==(const KvRoom&, const KvRoom&) = default;
};

constexpr std::int64_t kv_blocks_for(std::int64_t n_tokens) {
    return n_tokens / kernels::kKvBlockTokens + (n_tokens % kernels::kKvBlockTokens != 0 ? 1 : 0);
}

// A pool's blocks beside the context: each of 16 beams may part from the others inside a
// block, and the context need not end with one.
inline constexpr std::int64_t kSpareKvBlocks = 17;

// Blocks of a group of DeltaNet layers: the state of one sequence, the new one of a step,
// and two checkpoints (KvSequence::checkpoint). Beams take more memory when they begin.
inline constexpr std::int64_t kStateBlocks = 4;

// Other conversations whose state or window is stored without a request: as many as RAM
// has room for, at most so many.
inline constexpr std::int64_t kMostOtherSequences = 32;

// For other conversations stored beside the running one: each counts as so many tokens,
// if its state does not grow with its tokens.
inline constexpr std::int64_t kKeptTokensEach = 2048;
inline constexpr std::int64_t kMostKeptSequences = 16;

constexpr std::int64_t kept_sequences(std::int64_t kept_tokens) {
    const std::int64_t n = kept_tokens / kKeptTokensEach + (kept_tokens % kKeptTokensEach != 0 ? 1 : 0);
    return std::min(n, kMostKeptSequences);
}

// A template may write so many tokens at the end of a prompt in another way once the
// answer follows: what a token there sees is kept.
inline constexpr std::int64_t kPromptEndTokens = 8;

// The blocks of a group of layers with equal KV cache (KvGroup), of kKvBlockTokens
// tokens.
struct KvGroupDemand {
    std::int64_t window = 0;                                     // tokens that are kept; 0: all
    std::array<std::uint64_t, kernels::kKvTypes> token_bytes{};  // by KvType
    bool is_state = false;                                       // KvGroup::is_state

    std::uint64_t bytes_per_token(KvType type) const { return token_bytes[static_cast<std::size_t>(type)]; }

    // For a context of so many tokens, at least 1. A window, with the kPromptEndTokens
    // before it, needs one block more than its tokens fill, because it need not begin at
    // a block, and it is stored twice: where the sequence ends, and where its last prompt
    // ended (KvSequence::checkpoint).
    std::int64_t n_blocks(std::int64_t context) const {
        if (is_state) return kStateBlocks;
        const std::int64_t all = kv_blocks_for(context);
        return window == 0 ? all : std::min(all, 2 * window_blocks());
    }
    // Further blocks: spare ones, and under a window those of a step's tokens, of which
    // the first still sees a whole window.
    std::int64_t n_other_blocks(std::int64_t max_step) const {
        if (is_state) return 0;
        return kSpareKvBlocks + (window == 0 ? 0 : kv_blocks_for(max_step));
    }
    // Besides all these, for this many tokens of other conversations. Each of these has
    // states and windows twice, like the running one.
    std::int64_t n_kept_blocks(std::int64_t kept_tokens) const {
        const std::int64_t n = kept_sequences(kept_tokens);
        if (is_state) return 2 * n;
        const std::int64_t all = kv_blocks_for(kept_tokens);
        return window == 0 ? all : std::min(all, n * 2 * window_blocks());
    }
    // Further blocks for n other conversations whose tokens lie in the unused part of the
    // context: the state or the window at the place where each continues.
    std::int64_t n_other_sequences_blocks(std::int64_t context, std::int64_t n) const {
        if (is_state) return n;
        if (window == 0) return 0;
        const std::int64_t all = kv_blocks_for(context);
        return std::min(all - std::min(all, n_blocks(context)), n * window_blocks());
    }

  private:
    std::int64_t window_blocks() const { return kv_blocks_for(window + kPromptEndTokens) + 1; }
};

}  // namespace offstage::engine
