#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/eval/cache_replay.h"

namespace offstage::engine {

struct ReplayRequest {
    std::vector<CacheKind> policies;  // each with every size
    std::vector<std::int64_t> sizes;  // in slots, 0 .. n_layers * n_experts each
    CacheSettings settings{};
    std::int64_t distance = 0;  // for speculative loading, one of the trace's; 0: none
    std::int64_t n_guesses = 2;
    std::uint64_t expert_bytes = 0;  // 0: not known
};

// Policies compared on one trace, with the most that any policy could reach.
struct ReplayReport {
    std::string model;
    std::int64_t n_layers = 0, n_experts = 0, n_active = 0;
    std::int64_t n_tokens = 0, n_steps = 0;
    std::uint64_t expert_bytes = 0;
    std::int64_t distance = 0;
    std::vector<CacheKind> policies;
    std::vector<ReplayResult> results;  // for each size: the policies, then the oracle

    double bytes_per_token(const ReplayResult& result) const {
        return static_cast<double>(result.copies()) * static_cast<double>(expert_bytes) /
               static_cast<double>(n_tokens > 0 ? n_tokens : 1);
    }
};

// `popularity` (n_tokens 0: unknown) selects the first residents and seeds the policies.
// lru-layer begins with the same number of slots in each layer, the others with the most
// popular experts of all layers, and so does the oracle. Throws Error (kInvalidInput):
// popularity of other shapes, a distance without guesses.
ReplayReport compare_policies(const RoutingTrace& trace, const Popularity& popularity, const ReplayRequest& request);

nlohmann::ordered_json to_json(const ReplayReport& report);
// A table: one row per size, one column per policy.
std::string to_text(const ReplayReport& report);

}  // namespace offstage::engine
