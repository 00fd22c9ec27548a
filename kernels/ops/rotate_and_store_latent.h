#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Latent attention: q (rows, n_heads, nope_dim + rotary_dim) holds the rotary part of
// each head behind the nope_dim values that have none; latent (rows, key_dim) the latent,
// normed, and behind it the key's rotary part. Rotates both, writes the queries' part to
// queries (rows, n_heads, key_dim) from rotary_first on, and stores the latent rows as
// keys. Or an indexer's queries and key, whose heads have the rotary part at
// rotary_first: q is queries, which are rotated in place, and nope_dim is rotary_first.
struct RotateAndStoreLatent {
    std::int64_t layer = 0;
    AttentionShape shape;
    Span<AttentionSegment> segments;
    const float* cos = nullptr;
    const float* sin = nullptr;
    const float* q = nullptr;
    std::int64_t nope_dim = 0;
    float* latent = nullptr;
    float* queries = nullptr;
    KvShape kv;

    std::int64_t q_dim() const { return q == queries ? shape.key_dim : nope_dim + shape.rotary_dim; }  // of a head
    Cost cost() const {
        const std::int64_t rotated = (shape.n_heads + 1) * shape.rotary_dim;
        return cost_of_storing(segments, 2 * rotated + shape.key_dim, kv.layer_token_bytes());
    }
};
void compute(CpuWorker& worker, const RotateAndStoreLatent& op);     // rotate_and_store.cpp
void compute(cuda::Worker& worker, const RotateAndStoreLatent& op);  // rotate_and_store.cu

}  // namespace offstage::kernels::ops
