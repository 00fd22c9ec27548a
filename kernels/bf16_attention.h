#pragma once
// Attention of many queries over a cache in bf16, by the processor's dot product of pairs
// of bf16 (AVX512_BF16: vdpbf16ps), which does twice the products of float32.

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_kernels.h"
#include "kernels/kv_cache.h"

namespace offstage::kernels {

// Whether bf16_attention() can compute such a head.
constexpr bool takes_pair_attention(const KvHead& kv) {
    return kv.type == KvType::kBf16 && kv.key_dim % 32 == 0 && kv.value_dim % 16 == 0;
}

inline constexpr std::int64_t kPairedQueries = 6;  // queries that share a block of keys in registers

// Bytes of scratch memory for at most n_queries queries: the queries in bf16, their
// largest scores and sums, one block of keys, one block of values, a group's scores and
// their exponentials.
constexpr std::int64_t bf16_attention_scratch(std::int64_t n_queries, std::int64_t key_dim, std::int64_t value_dim) {
    constexpr std::int64_t kPair = 2, kFloat = 4, kParts = 7, kLine = 64;  // each part begins at a line
    const std::int64_t pairs =
        n_queries * key_dim + kKvBlockTokens * (key_dim + value_dim) + kPairedQueries * kKvBlockTokens;
    const std::int64_t floats = kPairedQueries * kKvBlockTokens + 2 * n_queries;
    return (kPair * pairs + kFloat * floats) / kLine * kLine + kParts * kLine;
}

// As CpuKernels::attention with QueryOrder::kMany, but queries are rounded to bf16 before
// the product with keys, and each e^(score - largest) before the product with a value.
// All sums are float32. Numbers below bf16's normal range count as 0. A query's result
// does not depend on the other queries, their number or the addresses of the blocks, bit
// by bit. scratch: the caller's, at a multiple of 64.
using Bf16Attention = void (*)(const float* q, std::int64_t q_stride, const KvHead& kv, std::int64_t first_key,
                               std::int64_t n_queries, std::int64_t n_keys, float scale, const float* sinks, float* out,
                               std::int64_t out_stride, QueryRows rows, std::byte* scratch);
Bf16Attention bf16_attention(InstructionSet set);  // nullptr: the set has none

}  // namespace offstage::kernels
