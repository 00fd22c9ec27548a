#pragma once
// attention over Vector. Included after simd_avx2.h or simd_avx512.h.
//
// The keys are taken in blocks; for every query a running maximum m, a running sum l of e^(score - m) and, in `out`,
// the running sum of e^(score - m) * value are kept, and rescaled when a block raises m (online softmax; Milakov and
// Gimelshein 2018, arXiv 1805.02867). Groups of queries share each block. With enough queries to pay for it, the keys
// of a block are transposed first, so that scores come out with keys in the lanes and need no sums across lanes.

#include <cmath>

#include "kernels/cpu/products_simd.h"
#include "kernels/cpu_kernels.h"

namespace offstage::kernels {
namespace {

constexpr int kBlockKeys = 64;
static_assert(kBlockKeys == kKvBlockTokens);  // a block of the walk lies in one block of the cache
constexpr int kGroupQueries = 6;
constexpr std::int64_t kTransposeFromQueries = 8;

struct AttentionCall {
    const float* q;
    std::int64_t q_stride;
    KvHead kv;
    std::int64_t first_key;
    std::int64_t n_queries;
    std::int64_t n_keys;
    float scale;
    float* out;
    std::int64_t out_stride;
    // Parts of the scratch.
    float* largest;          // n_queries
    float* sum;              // n_queries
    float* transposed_keys;  // (key_dim, kBlockKeys)
    float* probabilities;    // (kGroupQueries, kBlockKeys): scores, then e^(score - m)
};

// Keys [begin, begin + n) and their values, contiguous: a block of the cache or a part of one.
struct KeyBlock {
    std::int64_t begin;
    int n;
    const float* keys;
    const float* values;
};

// transposed_keys[i][k] = key k of the block, dimension i; zero for the keys that a short block lacks.
void transpose_block(const AttentionCall& call, const KeyBlock& block) {
    const std::int64_t n = call.kv.key_dim;
    const float* keys = block.keys;
    int k = 0;
    for (; k + 4 <= block.n; k += 4) {
        std::int64_t i = 0;
        for (; i + 4 <= n; i += 4) {
            __m128 a = _mm_loadu_ps(keys + (k + 0) * n + i);
            __m128 b = _mm_loadu_ps(keys + (k + 1) * n + i);
            __m128 c = _mm_loadu_ps(keys + (k + 2) * n + i);
            __m128 d = _mm_loadu_ps(keys + (k + 3) * n + i);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            float* to = call.transposed_keys + i * kBlockKeys + k;
            _mm_storeu_ps(to + 0 * kBlockKeys, a);
            _mm_storeu_ps(to + 1 * kBlockKeys, b);
            _mm_storeu_ps(to + 2 * kBlockKeys, c);
            _mm_storeu_ps(to + 3 * kBlockKeys, d);
        }
        for (; i < n; ++i) {
            for (int j = k; j < k + 4; ++j) call.transposed_keys[i * kBlockKeys + j] = keys[j * n + i];
        }
    }
    for (; k < block.n; ++k) {
        for (std::int64_t i = 0; i < n; ++i) call.transposed_keys[i * kBlockKeys + k] = keys[k * n + i];
    }
    for (; k < kBlockKeys; ++k) {
        for (std::int64_t i = 0; i < n; ++i) call.transposed_keys[i * kBlockKeys + k] = 0.0f;
    }
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

template <int kQueries>
void scores_from_rows(const AttentionCall& call, std::int64_t query, const float* keys, int n_block) {
    constexpr int kRows = 4;
    const std::int64_t n = call.kv.key_dim;
    const float* q = call.q + query * call.q_stride;
    int k = 0;
    for (; k + kRows <= n_block; k += kRows) {
        const float* rows[kRows];
        const float* ahead[kRows];
        for (int r = 0; r < kRows; ++r) {
            rows[r] = keys + (k + r) * n;
            ahead[r] = rows[r] + 2 * kRows * n;
        }
        for (int t = 0; t < kQueries; ++t) {
            float sums[kRows][1];
            dot_products<kRows, 1>(rows, ahead, q + t * call.q_stride, 0, n, sums);
            for (int r = 0; r < kRows; ++r) call.probabilities[t * kBlockKeys + k + r] = sums[r][0];
        }
    }
    for (; k < n_block; ++k) {
        const float* const rows[1] = {keys + k * n};
        for (int t = 0; t < kQueries; ++t) {
            float sums[1][1];
            dot_products<1, 1>(rows, rows, q + t * call.q_stride, 0, n, sums);
            call.probabilities[t * kBlockKeys + k] = sums[0][0];
        }
    }
}

// Scores to e^(score - m) for the first n_seen keys of the block, 0 beyond. Returns the factor for what was summed
// before.
float exponentiate(const AttentionCall& call, std::int64_t query, float* scores, int n_seen) {
    constexpr int kVectors = kBlockKeys / kLanes;
    const Vector scale = broadcast(call.scale);
    Vector scaled[kVectors];
    Vector block_largest = broadcast(-INFINITY);
    for (int v = 0; v < kVectors; ++v) {
        const int n_lanes = n_seen - v * kLanes;
        if (n_lanes <= 0) break;
        scaled[v] = multiply(load(scores + v * kLanes), scale);
        if (n_lanes < kLanes) {
            float lanes[kLanes];
            store(lanes, scaled[v]);
            for (int lane = n_lanes; lane < kLanes; ++lane) lanes[lane] = -INFINITY;
            scaled[v] = load(lanes);
        }
        block_largest = maximum(block_largest, scaled[v]);
    }
    const float before = call.largest[query];
    const float in_block = largest_lane(block_largest);
    const float largest = in_block > before ? in_block : before;
    call.largest[query] = largest;
    const Vector offset = broadcast(largest);
    Vector sum = zero();
    for (int v = 0; v < kVectors; ++v) {
        const Vector probability = n_seen > v * kLanes ? exponential(subtract(scaled[v], offset)) : zero();
        sum = add(sum, probability);
        store(scores + v * kLanes, probability);
    }
    float factor = 1.0f;
    if (before != largest) {
        float lanes[kLanes];
        store(lanes, exponential(broadcast(before - largest)));
        factor = lanes[0];
    }
    call.sum[query] = call.sum[query] * factor + sum_of_lanes(sum);
    return factor;
}

// out[t] = factors[t] * out[t] + sum_k probabilities[t][k] * value k, for kVectors vectors of dimensions from `i`, the
// last of them n_last lanes long.
template <int kQueries, int kVectors>
__attribute__((always_inline)) inline void add_values_part(const AttentionCall& call, std::int64_t query,
                                                           const float* values, int n_block,
                                                           const float (&factors)[kQueries], std::int64_t i,
                                                           int n_last) {
    const std::int64_t stride = call.kv.value_stride;
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
            const float* row = values + k * stride + i;
            Vector value[kVectors];
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) value[v] = load(row + v * kLanes);
            if constexpr (kQueries == 1) {
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; v += 64 / (4 * kLanes)) prefetch(row + 8 * stride + v * kLanes);
            }
#pragma GCC unroll 8
            for (int t = 0; t < kQueries; ++t) {
                const Vector probability = broadcast(call.probabilities[t * kBlockKeys + k]);
#pragma GCC unroll 8
                for (int v = 0; v < kVectors; ++v) sums[t][v] = fma(probability, value[v], sums[t][v]);
            }
        }
    } else {
        for (int k = 0; k < n_block; ++k) {
            const float* row = values + k * stride + i;
            for (int t = 0; t < kQueries; ++t) {
                const Vector probability = broadcast(call.probabilities[t * kBlockKeys + k]);
                for (int v = 0; v < kVectors; ++v) {
                    sums[t][v] = fma(probability, load_some(row + v * kLanes, lanes_of(v)), sums[t][v]);
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

template <int kQueries>
void add_values(const AttentionCall& call, std::int64_t query, const float* values, int n_block,
                const float (&factors)[kQueries]) {
    constexpr int kVectors = kQueries == 1 ? 8 : kQueries == 2 ? 4 : kRegisters == 32 ? 4 : 2;
    std::int64_t i = 0;
    for (; i + kVectors * kLanes <= call.kv.value_dim; i += kVectors * kLanes) {
        add_values_part<kQueries, kVectors>(call, query, values, n_block, factors, i, kLanes);
    }
    for (; i < call.kv.value_dim; i += kLanes) {
        const int n_last = call.kv.value_dim - i < kLanes ? static_cast<int>(call.kv.value_dim - i) : kLanes;
        add_values_part<kQueries, 1>(call, query, values, n_block, factors, i, n_last);
    }
}

template <int kQueries>
void attend_group(const AttentionCall& call, std::int64_t query, const KeyBlock& block, bool transposed) {
    // Keys beyond the last one that the group's last query sees matter to nobody in it.
    const std::int64_t n_visible = call.n_keys - call.n_queries + query + kQueries - block.begin;
    const int n_block = n_visible < block.n ? static_cast<int>(n_visible) : block.n;
    if (transposed) {
        scores_from_transposed<kQueries>(call, query);
    } else {
        scores_from_rows<kQueries>(call, query, block.keys, n_block);
    }
    float factors[kQueries];
    for (int t = 0; t < kQueries; ++t) {
        const std::int64_t n_seen = call.n_keys - call.n_queries + query + t + 1 - block.begin;
        factors[t] = exponentiate(call, query + t, call.probabilities + t * kBlockKeys,
                                  n_seen < n_block ? static_cast<int>(n_seen) : n_block);
    }
    add_values<kQueries>(call, query, block.values, n_block, factors);
}

void attend(AttentionCall call, QueryOrder order, float* scratch) {
    call.largest = scratch;
    call.sum = call.largest + call.n_queries;
    call.probabilities = call.sum + call.n_queries;
    call.transposed_keys = call.probabilities + kGroupQueries * kBlockKeys;
    for (int i = 0; i < kGroupQueries * kBlockKeys; ++i) call.probabilities[i] = 0.0f;
    for (std::int64_t query = 0; query < call.n_queries; ++query) {
        call.largest[query] = -INFINITY;
        call.sum[query] = 0.0f;
        for (std::int64_t i = 0; i < call.kv.value_dim; ++i) call.out[query * call.out_stride + i] = 0.0f;
    }
    const bool transposed = order == QueryOrder::kMany || call.n_queries >= kTransposeFromQueries;
    KeyBlock block{};
    for (std::int64_t begin = call.first_key; begin < call.n_keys; begin += block.n) {
        const std::int64_t index = begin / kBlockKeys;
        const std::int64_t end = (index + 1) * kBlockKeys < call.n_keys ? (index + 1) * kBlockKeys : call.n_keys;
        const float* place = call.kv.blocks[index];
        const std::int64_t first_in_block = begin % kBlockKeys;
        block = {begin, static_cast<int>(end - begin), place + call.kv.keys + first_in_block * call.kv.key_dim,
                 place + call.kv.values + first_in_block * call.kv.value_stride};
        if (transposed) transpose_block(call, block);
        // The first query that sees the block's first key.
        const std::int64_t first = begin - (call.n_keys - call.n_queries);
        for (std::int64_t query = first > 0 ? first : 0; query < call.n_queries; query += kGroupQueries) {
            const std::int64_t n_rest = call.n_queries - query;
            switch (n_rest < kGroupQueries ? n_rest : kGroupQueries) {
                case 1:
                    attend_group<1>(call, query, block, transposed);
                    break;
                case 2:
                    attend_group<2>(call, query, block, transposed);
                    break;
                case 3:
                    attend_group<3>(call, query, block, transposed);
                    break;
                case 4:
                    attend_group<4>(call, query, block, transposed);
                    break;
                case 5:
                    attend_group<5>(call, query, block, transposed);
                    break;
                default:
                    attend_group<6>(call, query, block, transposed);
                    break;
            }
        }
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
