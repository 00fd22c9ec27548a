#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// qkv: (rows, shape.qkv_width()): q heads, k heads, v heads. Rotates values
// [rotary_first, rotary_first + rotary_dim) of each q and k head in place (half-split
// pairing; cos, sin: (rows, rotary_dim / 2) of each row's position) and stores k and v in
// the sequences' blocks.
struct RotateAndStore {
    std::int64_t layer = 0;
    AttentionShape shape;
    Span<AttentionSegment> segments;
    const float* cos = nullptr;
    const float* sin = nullptr;
    float* qkv = nullptr;
    KvShape kv;

    // Queries are read and written, keys and values as well.
    Cost cost() const {
        const std::int64_t kv_width = shape.n_kv_heads * (shape.key_dim + shape.value_dim);
        return cost_of_storing(segments, 2 * (shape.query_width() + kv_width), kv.layer_token_bytes());
    }
};
void compute(CpuWorker& worker, const RotateAndStore& op);     // rotate_and_store.cpp
void compute(cuda::Worker& worker, const RotateAndStore& op);  // rotate_and_store.cu

}  // namespace offstage::kernels::ops
