#pragma once
// Where a step's sequences have their keys and values.

#include <cstddef>
#include <cstdint>

#include "kernels/kv_cache.h"
#include "kernels/ops/cost.h"
#include "kernels/span.h"

namespace offstage::kernels {

// Tokens of one sequence in a step: rows [first_row, first_row + n_tokens) of the step's
// activations follow `past` tokens that the KV cache holds. Key k of the sequence lies in
// block k / kKvBlockTokens (KvShape); the table covers past + n_tokens keys. Of a
// recurrent layer it has the blocks of the state before the step (nullptr: zeros) and
// after it, or after each of its rows. A block lies in the device's memory, or in host
// memory that Backend::mapped() gave the address of.
struct AttentionSegment {
    std::int64_t first_row = 0;
    std::int64_t n_tokens = 0;
    std::int64_t past = 0;
    Span<std::byte*> blocks;  // the device's addresses, in host memory, valid until the next host_wait
    std::byte* const* device_blocks = nullptr;  // the same table in the device's memory
    Span<std::uint8_t> in_host;                 // 1 for each block in host memory; as long as blocks, or empty: none
    const std::int32_t* device_past = nullptr;  // `past` in the device's memory; nullptr: it is not there

    // The keys from `first` on that are in host memory.
    std::int64_t keys_in_host(std::int64_t first) const {
        if (in_host.empty()) return 0;
        const std::int64_t end = past + n_tokens;
        std::int64_t n = 0;
        for (std::int64_t block = first / kKvBlockTokens; block * kKvBlockTokens < end; ++block) {
            if (in_host[static_cast<std::size_t>(block)] == 0) continue;
            const std::int64_t begin = block * kKvBlockTokens;
            n += (end < begin + kKvBlockTokens ? end : begin + kKvBlockTokens) - (first > begin ? first : begin);
        }
        return n;
    }
};

// A block of a KV cache, by the device's address.
struct KvBlock {
    std::byte* data = nullptr;
    bool in_host = false;
};

namespace ops {

// Queries, keys and values of a step. values: float32 of each token that are read and
// written; stored: the token's bytes in one layer of the cache.
inline Cost cost_of_storing(Span<AttentionSegment> segments, std::int64_t values, std::int64_t stored) {
    Cost cost;
    for (const AttentionSegment& segment : segments) {
        const std::int64_t in_host = segment.keys_in_host(segment.past);
        cost.bytes += as_double(segment.n_tokens * values * 4 + (segment.n_tokens - in_host) * stored);
        cost.bus_bytes += as_double(in_host * stored);
    }
    return cost;
}

// A recurrent layer's state, kept_size floats, is read and written once in a step: a GPU
// keeps it in registers between tokens.
inline Cost cost_of_states(Span<AttentionSegment> segments, std::int64_t kept_size) {
    Cost cost;
    for (const AttentionSegment& segment : segments) {
        for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
            const bool in_host = !segment.in_host.empty() && segment.in_host[i] != 0;
            (in_host ? cost.bus_bytes : cost.bytes) += as_double(kept_size) * 4;
        }
    }
    return cost;
}

// The rows of a segment that see more than top_k keys, which stand for key_tokens tokens
// each: its last ones. top_k 0: none.
inline std::int64_t rows_that_choose(const AttentionSegment& segment, std::int64_t top_k, std::int64_t key_tokens = 1) {
    const std::int64_t n = top_k > 0 ? segment.past + segment.n_tokens + 1 - (top_k + 1) * key_tokens : 0;
    return n < 0 ? 0 : n < segment.n_tokens ? n : segment.n_tokens;
}

inline bool any_row_chooses(Span<AttentionSegment> segments, std::int64_t top_k, std::int64_t key_tokens = 1) {
    for (const AttentionSegment& segment : segments) {
        if (rows_that_choose(segment, top_k, key_tokens) > 0) return true;
    }
    return false;
}

// All rows of a step.
inline std::int64_t rows_of(Span<AttentionSegment> segments) {
    std::int64_t n = 0;
    for (const AttentionSegment& segment : segments) n += segment.n_tokens;
    return n;
}

}  // namespace ops
}  // namespace offstage::kernels
