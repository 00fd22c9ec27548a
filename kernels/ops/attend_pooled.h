#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Attention of each row to the keys of the last shape.window tokens of its sequence, its
// own among them, and in the same softmax to pooled keys (ops::PoolKeys) that stand for
// tokens up to its own: to all, or where there are more than shape.top_k to those that
// `chosen` names. One cached head serves all; values are the keys.
struct AttendPooled {
    std::int64_t layer = 0;
    AttentionShape shape;
    Span<AttentionSegment> segments;
    KvShape kv;
    std::int64_t pooled_layer = 0;
    Span<AttentionSegment> pooled_segments;  // the same rows
    KvShape pooled;                          // its rows are as kv's
    const float* queries = nullptr;          // (rows, shape.query_width())
    float* out = nullptr;                    // (rows, shape.output_width())
    const std::int32_t* chosen = nullptr;    // (rows, top_k): ops::ChooseKeys

    // Of a row whose token is number n_tokens - 1.
    std::int64_t n_near(std::int64_t n_tokens) const { return n_tokens < shape.window ? n_tokens : shape.window; }
    bool chooses(std::int64_t n_tokens) const { return shape.top_k > 0 && pooled.keys_of(n_tokens) > shape.top_k; }
    std::int64_t n_pooled(std::int64_t n_tokens) const {
        return chooses(n_tokens) ? shape.top_k : pooled.keys_of(n_tokens);
    }

    // A sequence's keys are read once for rows that see the same; each row's choice by
    // itself.
    Cost cost() const {
        Cost cost;
        double pairs = 0;
        for (const AttentionSegment& segment : segments) {
            const std::int64_t end = segment.past + segment.n_tokens;
            double read = 0;
            for (std::int64_t t = segment.past + 1; t <= end; ++t) {
                pairs += as_double(n_near(t) + n_pooled(t));
                if (chooses(t)) read += as_double(shape.top_k);
            }
            const double all = as_double(pooled.keys_of(end));
            if (!chooses(segment.past + 1) || read > all) read = all;
            read += as_double(n_near(segment.past + 1) + segment.n_tokens - 1);
            cost.bytes += read * as_double(kv.layer_token_bytes()) +
                          as_double(segment.n_tokens * shape.n_heads * (shape.key_dim + shape.value_dim)) * 4;
        }
        cost.flops = 2 * pairs * as_double(shape.n_heads * (shape.key_dim + shape.value_dim));
        return cost;
    }
};
void compute(CpuWorker& worker, const AttendPooled& op);     // attend_pooled.cpp
void compute(cuda::Worker& worker, const AttendPooled& op);  // kernels/cuda/wide_attention.cu

}  // namespace offstage::kernels::ops
