// attention over Vector.
//
// The keys are taken in blocks; for every query a running maximum m, a running sum l of
// e^(score - m) and, in `out`, the running sum of e^(score - m) * value are kept, and
// rescaled when a block raises m (online softmax; Milakov and Gimelshein 2018, arXiv
// 1805.02867). Groups of queries share each block. With enough queries to pay for it, the
// keys of a block are transposed first, so that scores come out with keys in the lanes
// and need no sums across lanes. Rows of float32 and bf16 are read where they lie, bf16
// unless they are transposed; all others are widened a block at a time.

#include <cmath>

#include "kernels/cpu/attention_groups.h"
#include "kernels/cpu/key_blocks_simd.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/products_simd.h"
#include "kernels/cpu/softmax_block_simd.h"

namespace offstage::kernels {
namespace {

constexpr std::int64_t kTransposeFromQueries = 8;

struct AttentionCall : AttentionRows {
    // Parts of the scratch.
    float* largest;          // n_queries
    float* sum;              // n_queries
    float* probabilities;    // (kMostQueries, kBlockKeys): scores, then e^(score - m)
    float* transposed_keys;  // (key_dim, kBlockKeys)
    float* wide_keys;        // (kBlockKeys, key_dim)
    float* wide_values;      // (kBlockKeys, value_dim)
};

// Keys [begin, begin + n) and their values: a block of the cache or a part of one. Rows
// lie stride values apart.
template <typename Value>
struct KeyBlock {
    std::int64_t begin;
    int n;
    const Value* keys;
    std::int64_t key_stride;
    const Value* values;
    std::int64_t value_stride;
    const Value* next_keys = nullptr;  // as many keys of the next block, read soon
};

// The part of the cache's block that holds key `begin`.
template <typename Value>
KeyBlock<Value> block_in_place(const AttentionCall& call, std::int64_t begin, int n) {
    const std::byte* place = call.kv.blocks[begin / kBlockKeys];
    const std::int64_t first = begin % kBlockKeys;
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Value));
    const bool is_last = begin + n >= call.n_keys;
    return {begin,
            n,
            reinterpret_cast<const Value*>(place + call.kv.keys + first * call.kv.key_stride),
            call.kv.key_stride / kBytes,
            reinterpret_cast<const Value*>(place + call.kv.values + first * call.kv.value_stride),
            call.kv.value_stride / kBytes,
            is_last ? nullptr : reinterpret_cast<const Value*>(call.kv.blocks[begin / kBlockKeys + 1] + call.kv.keys)};
}

KeyBlock<float> widened_block(const AttentionCall& call, std::int64_t begin, int n) {
    const KvHead& kv = call.kv;
    const KeyBlock<std::byte> from = block_in_place<std::byte>(call, begin, n);
    widen_rows(from.keys, from.key_stride, kv.type, n, kv.key_dim, from.next_keys, call.wide_keys);
    if (kv.values_in_keys()) return {begin, n, call.wide_keys, kv.key_dim, call.wide_keys, kv.key_dim};
    const std::byte* const next_values =
        from.next_keys == nullptr ? nullptr : from.next_keys - call.kv.keys + call.kv.values;
    widen_rows(from.values, from.value_stride, kv.type, n, kv.value_dim, next_values, call.wide_values);
    return {begin, n, call.wide_keys, kv.key_dim, call.wide_values, kv.value_dim};
}

template <int kQueries>
void scores_from_transposed(const AttentionCall& call, std::int64_t query) {
    constexpr int kVectors = kRegisters == 32 ? 4 : 2;
    for (int k = 0; k < kBlockKeys; k += kVectors * kLanes) {
        Vector scores[kQueries][kVectors];
        for (int t = 0; t < kQueries; ++t) {
            for (int v = 0; v < kVectors; ++v) scores[t][v] = zero();
        }
        const float* q = call.q + query * call.q_stride;
        const float* keys = call.transposed_keys + k;
        for (std::int64_t i = 0; i < call.kv.key_dim; ++i) {
            Vector key[kVectors];
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) key[v] = load(keys + i * kBlockKeys + v * kLanes);
#pragma GCC unroll 8
            for (int t = 0; t < kQueries; ++t) {
                const Vector factor = broadcast(q[t * call.q_stride + i]);
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) scores[t][v] = fma(factor, key[v], scores[t][v]);
            }
        }
        for (int t = 0; t < kQueries; ++t) {
            for (int v = 0; v < kVectors; ++v) {
                store(call.probabilities + t * kBlockKeys + k + v * kLanes, scores[t][v]);
            }
        }
    }
}

// Scores of kKeys keys for all queries at once: each key is widened once. Each sum has a
// separate accumulator for any number of keys and queries, so a query's scores do not
// depend on the others. Keys from n_keys on repeat the last one.
template <int kQueries, int kKeys, typename Value>
__attribute__((always_inline)) inline void scores_of_keys(const AttentionCall& call, const float* q,
                                                          const KeyBlock<Value>& block, int first, int n_keys) {
    static_assert(kQueries * kKeys <= kLanes);
    const std::int64_t n = call.kv.key_dim;
    const Value* rows[kKeys];
    for (int k = 0; k < kKeys; ++k) rows[k] = block.keys + (first + (k < n_keys ? k : n_keys - 1)) * block.key_stride;
    Vector sums[kLanes];
#pragma GCC unroll 16
    for (Vector& sum : sums) sum = zero();
    const auto step = [&](std::int64_t i, const auto& get) __attribute__((always_inline)) {
        Vector keys[kKeys];
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; ++k) keys[k] = get(rows[k] + i);
#pragma GCC unroll 8
        for (int t = 0; t < kQueries; ++t) {
            const Vector query = get(q + t * call.q_stride + i);
#pragma GCC unroll 16
            for (int k = 0; k < kKeys; ++k) sums[t * kKeys + k] = fma(query, keys[k], sums[t * kKeys + k]);
        }
    };
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) step(i, [](const auto* p) { return load(p); });
    if (i < n) step(i, [&](const auto* p) { return load_first(p, static_cast<int>(n - i)); });
    float scores[kLanes];
    store(scores, sums_of_lanes(sums));
    for (int t = 0; t < kQueries; ++t) {
        for (int k = 0; k < kKeys && k < n_keys; ++k)
            call.probabilities[t * kBlockKeys + first + k] = scores[t * kKeys + k];
    }
}

template <int kQueries, typename Value>
void scores_from_rows(const AttentionCall& call, std::int64_t query, const KeyBlock<Value>& block, int n_block) {
    constexpr int kKeys = kLanes / kQueries < 8 ? kLanes / kQueries : 8;
    const float* const q = call.q + query * call.q_stride;
    for (int k = 0; k < n_block; k += kKeys) {
        const int n_keys = n_block - k < kKeys ? n_block - k : kKeys;
        if (query == 0) prefetch_rows(block.values + k * block.value_stride, block.value_stride, n_keys);
        scores_of_keys<kQueries, kKeys>(call, q, block, k, n_keys);
    }
}

// Turns the scores of the block's first n_seen keys into exponentials, in place. Returns
// the factor for the earlier sums.
float exponentiate(const AttentionCall& call, std::int64_t query, float* scores, int n_seen) {
    return exponentiate_block<kBlockKeys / kLanes>(scores, n_seen, call.scale, call.largest[query], call.sum[query],
                                                   [scores](int v, Vector probability) {
                                                       store(scores + v * kLanes, probability);
                                                       return probability;
                                                   });
}

// out[t] = factors[t] * out[t] + sum_k probabilities[t][k] * value k, for kVectors
// vectors of dimensions from `i`, the last of them n_last lanes long.
template <int kQueries, int kVectors, typename Value>
__attribute__((always_inline)) inline void add_values_part(const AttentionCall& call, std::int64_t query,
                                                           const KeyBlock<Value>& block, int n_block,
                                                           const float (&factors)[kQueries], std::int64_t i,
                                                           int n_last) {
    const std::int64_t stride = block.value_stride;
    const Value* const next_keys = query == 0 && i == 0 ? block.next_keys : nullptr;
    const auto lanes_of = [&](int v) { return v == kVectors - 1 ? n_last : kLanes; };
    Vector sums[kQueries][kVectors];
    for (int t = 0; t < kQueries; ++t) {
        const float* place = call.out + (query + t) * call.out_stride + i;
        for (int v = 0; v < kVectors; ++v) {
            sums[t][v] = multiply(broadcast(factors[t]), load_some(place + v * kLanes, lanes_of(v)));
        }
    }
    if (n_last == kLanes) {
        for (int k = 0; k < n_block; ++k) {
            const Value* row = block.values + k * stride + i;
            Vector value[kVectors];
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) value[v] = load(row + v * kLanes);
            if (next_keys != nullptr) prefetch_rows(next_keys + k * block.key_stride, block.key_stride, 1);
#pragma GCC unroll 8
            for (int t = 0; t < kQueries; ++t) {
                const Vector probability = broadcast(call.probabilities[t * kBlockKeys + k]);
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) sums[t][v] = fma(probability, value[v], sums[t][v]);
            }
        }
    } else {
        for (int k = 0; k < n_block; ++k) {
            const Value* row = block.values + k * stride + i;
            for (int t = 0; t < kQueries; ++t) {
                const Vector probability = broadcast(call.probabilities[t * kBlockKeys + k]);
                for (int v = 0; v < kVectors; ++v) {
                    const Vector value =
                        lanes_of(v) == kLanes ? load(row + v * kLanes) : load_first(row + v * kLanes, n_last);
                    sums[t][v] = fma(probability, value, sums[t][v]);
                }
            }
        }
    }
    for (int t = 0; t < kQueries; ++t) {
        float* place = call.out + (query + t) * call.out_stride + i;
        for (int v = 0; v < kVectors; ++v) {
            if (lanes_of(v) == kLanes) {
                store(place + v * kLanes, sums[t][v]);
            } else {
                store_first(place + v * kLanes, n_last, sums[t][v]);
            }
        }
    }
}

template <int kQueries, typename Value>
void add_values(const AttentionCall& call, std::int64_t query, const KeyBlock<Value>& block, int n_block,
                const float (&factors)[kQueries]) {
    constexpr int kVectors = kQueries == 1                                 ? 8
                             : kQueries == 2                               ? 4
                             : kQueries > kGroupQueries || kRegisters < 32 ? 2
                                                                           : 4;
    std::int64_t i = 0;
    for (; i + kVectors * kLanes <= call.kv.value_dim; i += kVectors * kLanes) {
        add_values_part<kQueries, kVectors>(call, query, block, n_block, factors, i, kLanes);
    }
    for (; i < call.kv.value_dim; i += kLanes) {
        const int n_last = call.kv.value_dim - i < kLanes ? static_cast<int>(call.kv.value_dim - i) : kLanes;
        add_values_part<kQueries, 1>(call, query, block, n_block, factors, i, n_last);
    }
}

template <int kQueries, typename Value>
void attend_group(const AttentionCall& call, std::int64_t query, const KeyBlock<Value>& block, bool transposed) {
    // No query of the group sees keys beyond the last one that the last query sees.
    const std::int64_t n_visible = call.n_seen(query + kQueries - 1) - block.begin;
    const int n_block = n_visible < block.n ? static_cast<int>(n_visible) : block.n;
    if (transposed) {
        scores_from_transposed<kQueries>(call, query);
    } else {
        scores_from_rows<kQueries>(call, query, block, n_block);
    }
    float factors[kQueries];
    for (int t = 0; t < kQueries; ++t) {
        const std::int64_t n_seen = call.n_seen(query + t) - block.begin;
        factors[t] = exponentiate(call, query + t, call.probabilities + t * kBlockKeys,
                                  n_seen < n_block ? static_cast<int>(n_seen) : n_block);
    }
    add_values<kQueries>(call, query, block, n_block, factors);
}

template <typename Value>
void attend_block(const AttentionCall& call, const KeyBlock<Value>& block, bool transposed) {
    // The first query that sees the block's first key.
    const std::int64_t first = call.rows == QueryRows::kHeads ? 0 : block.begin - (call.n_keys - call.n_queries);
    const int group = transposed ? kGroupQueries : kGroupHeads;
    for (std::int64_t query = first > 0 ? first : 0; query < call.n_queries; query += group) {
        const std::int64_t n_rest = call.n_queries - query;
        with_number<kMostQueries>(n_rest < group ? n_rest : group,
                                  [&](auto n) { attend_group<decltype(n)::value>(call, query, block, transposed); });
    }
}

void attend(const AttentionRows& rows, QueryOrder order, float* scratch) {
    AttentionCall call{};
    static_cast<AttentionRows&>(call) = rows;
    call.largest = scratch;
    call.sum = call.largest + call.n_queries;
    call.probabilities = call.sum + call.n_queries;
    call.transposed_keys = call.probabilities + kMostQueries * kBlockKeys;
    call.wide_keys = call.transposed_keys + call.kv.key_dim * kBlockKeys;
    call.wide_values = call.wide_keys + call.kv.key_dim * kBlockKeys;
    for (int i = 0; i < kMostQueries * kBlockKeys; ++i) call.probabilities[i] = 0.0f;
    for (std::int64_t query = 0; query < call.n_queries; ++query) {
        const std::int64_t head = call.rows == QueryRows::kHeads ? query : 0;
        call.largest[query] = call.sinks != nullptr ? call.sinks[head] : -INFINITY;
        call.sum[query] = call.sinks != nullptr ? 1.0f : 0.0f;
        for (std::int64_t i = 0; i < call.kv.value_dim; ++i) call.out[query * call.out_stride + i] = 0.0f;
    }
    const bool transposed =
        order == QueryOrder::kMany || (call.rows == QueryRows::kTokens && call.n_queries >= kTransposeFromQueries);
    int n = 0;
    for (std::int64_t begin = call.first_key; begin < call.n_keys; begin += n) {
        const std::int64_t end_of_block = (begin / kBlockKeys + 1) * kBlockKeys;
        n = static_cast<int>((end_of_block < call.n_keys ? end_of_block : call.n_keys) - begin);
        if (call.kv.type == KvType::kBf16 && !transposed) {
            attend_block(call, block_in_place<Bf16>(call, begin, n), false);
            continue;
        }
        const KeyBlock<float> block =
            call.kv.type == KvType::kF32 ? block_in_place<float>(call, begin, n) : widened_block(call, begin, n);
        if (transposed) transpose_keys(block.keys, block.key_stride, block.n, call.kv.key_dim, call.transposed_keys);
        attend_block(call, block, transposed);
    }
    for (std::int64_t query = 0; query < call.n_queries; ++query) {
        float* row = call.out + query * call.out_stride;
        const Vector sum = broadcast(call.sum[query]);
        std::int64_t i = 0;
        for (; i + kLanes <= call.kv.value_dim; i += kLanes) store(row + i, divide(load(row + i), sum));
        for (; i < call.kv.value_dim; ++i) row[i] /= call.sum[query];
    }
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void attention(const float* q, std::int64_t q_stride, const KvHead& kv, std::int64_t first_key, std::int64_t n_queries,
               std::int64_t n_keys, float scale, const float* sinks, float* out, std::int64_t out_stride,
               QueryRows rows, QueryOrder order, float* scratch) {
    attend({q, q_stride, kv, first_key, n_queries, n_keys, scale, sinks, out, out_stride, rows}, order, scratch);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
