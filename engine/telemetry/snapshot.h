#pragma once

#include <cstdint>
#include <vector>

namespace offstage::engine {

// What a person may look at, as of one moment: a plain value.
struct Snapshot {
    std::uint64_t revision = 0;  // grows with each change: equal revisions, equal content
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;

    // Tokens routed to each expert, (n_layers, n_experts) row-major.
    std::vector<std::uint32_t> window_counts;        // over the last window_tokens tokens (prompt and answer)
    std::vector<std::uint64_t> conversation_counts;  // since the conversation began
    std::int64_t window_tokens = 0;                  // <= kRoutingWindow
    std::int64_t conversation_tokens = 0;

    std::int64_t context_used = 0;  // tokens in the KV cache
    std::int64_t context_size = 0;
};

inline constexpr std::int64_t kRoutingWindow = 64;

}  // namespace offstage::engine
