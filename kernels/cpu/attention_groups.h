#pragma once
// Shared by attention and by what sizes its scratch.

#include <cstdint>
#include <type_traits>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

inline constexpr int kGroupQueries = 6;  // queries that share a block of transposed keys
inline constexpr int kGroupHeads = 8;    // the same with keys as they lie: often all heads that share one of the cache
inline constexpr int kMostQueries = kGroupHeads > kGroupQueries ? kGroupHeads : kGroupQueries;

// What attention computes: the parameters of CpuKernels::attention.
struct AttentionRows {
    const float* q;
    std::int64_t q_stride;
    KvHead kv;
    std::int64_t first_key;
    std::int64_t n_queries;
    std::int64_t n_keys;
    float scale;
    const float* sinks;
    float* out;
    std::int64_t out_stride;
    QueryRows rows;

    // The number of the sequence's keys that a query sees. Inline in each instruction set.
    __attribute__((always_inline)) std::int64_t n_seen(std::int64_t query) const {
        return rows == QueryRows::kHeads ? n_keys : n_keys - n_queries + query + 1;
    }
};

// Calls body(std::integral_constant<int, n>()), for more than kMost with kMost.
// Precondition: n > 0.
template <int kMost, typename Body>
inline void with_number(std::int64_t n, const Body& body) {
    if constexpr (kMost > 1) {
        if (n < kMost) return with_number<kMost - 1>(n, body);
    }
    body(std::integral_constant<int, kMost>());
}

}  // namespace offstage::kernels
