#pragma once

#include "kernels/norm_weights.h"
#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Keys that stand for several tokens each, by a learned pooling (DeepSeek-V4). Of each
// token the cache keeps a row of values and a row of scores, of `sources.key_dim`
// numbers: those of a key, or of two keys, one after the other: of the key behind its
// own, and of its own. Key j stands for tokens [j n, (j + 1) n), n = pooled.key_tokens.
// It is, value by value, the sum over these tokens, and of two over the n before them as
// well, of
//   softmax(score + position_bias[token % n]) value
// normed, and rotated in its last rotary_dim values by cos and sin, pairs of neighbours.
// Stores the rows and then the keys that they complete. The sequences have the sources of
// the 2 n or n tokens that end with the first row. A key's bits depend on its tokens
// alone.
struct PoolKeys {
    std::int64_t layer = 0;  // of the sources
    Span<AttentionSegment> segments;
    KvShape sources;  // float32: rows of values as keys, rows of scores as values
    std::int64_t pooled_layer = 0;
    Span<AttentionSegment> pooled_segments;  // the same rows
    KvShape pooled;                          // of one head
    const float* values = nullptr;           // (rows, sources.key_dim)
    const float* scores = nullptr;           // (rows, sources.key_dim)
    const float* position_bias = nullptr;    // (pooled.key_tokens, sources.key_dim)
    NormWeights norm;                        // of pooled.key_dim values
    std::int64_t rotary_dim = 0;
    // (rows, rotary_dim / 2): of the position of the first token of the row's key.
    const float* cos = nullptr;
    const float* sin = nullptr;

    std::int64_t n_parts() const { return sources.key_dim / pooled.key_dim; }
    // The keys that a segment's rows complete: those from `first` on before `end`.
    std::int64_t first_key(const AttentionSegment& segment) const { return pooled.keys_of(segment.past); }
    std::int64_t end_key(const AttentionSegment& segment) const {
        return pooled.keys_of(segment.past + segment.n_tokens);
    }

    Cost cost() const {
        Cost cost = cost_of_storing(segments, 2 * sources.key_dim, sources.layer_token_bytes());
        for (const AttentionSegment& segment : segments) {
            const double n_keys = as_double(end_key(segment) - first_key(segment));
            const double read = n_keys * as_double(pooled.key_tokens * n_parts() * pooled.key_dim);
            cost.bytes += read * 8 + n_keys * as_double(pooled.layer_token_bytes());
            cost.flops += read * 4;
        }
        return cost;
    }
};
void compute(CpuWorker& worker, const PoolKeys& op);     // pool_keys.cpp
void compute(cuda::Worker& worker, const PoolKeys& op);  // pool_keys.cu

}  // namespace offstage::kernels::ops
