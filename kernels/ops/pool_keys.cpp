#include "kernels/ops/pool_keys.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/scalar_math.h"
#include "kernels/cpu_worker.h"

namespace offstage::kernels::ops {
namespace {

// A token's row of values, and of scores.
float* source_of(const PoolKeys& op, const AttentionSegment& segment, std::int64_t token, bool scores) {
    const KvShape& kv = op.sources;
    std::byte* const block = segment.blocks[static_cast<std::size_t>(token / kKvBlockTokens)];
    const std::int64_t offset = scores ? kv.values_offset(op.layer, 0) : kv.keys_offset(op.layer, 0);
    return reinterpret_cast<float*>(block + offset + token % kKvBlockTokens * kv.key_stride());
}

void store_source(const PoolKeys& op, const AttentionSegment& segment, std::int64_t t) {
    const std::int64_t width = op.sources.key_dim, token = segment.past + t;
    const std::int64_t row = (segment.first_row + t) * width;
    std::memcpy(source_of(op, segment, token, false), op.values + row, static_cast<std::size_t>(width) * sizeof(float));
    const float* const bias = op.position_bias + token % op.pooled.key_tokens * width;
    float* const scores = source_of(op, segment, token, true);
    for (std::int64_t i = 0; i < width; ++i) scores[i] = op.scores[row + i] + bias[i];
}

// key: (pooled.key_dim), and as much behind it twice.
void pool_key(CpuWorker& worker, const PoolKeys& op, const AttentionSegment& segment, const AttentionSegment& pooled,
              std::int64_t key_number, float* key) {
    const std::int64_t dim = op.pooled.key_dim, n = op.pooled.key_tokens;
    const bool has_before = op.n_parts() > 1;
    const std::int64_t first = has_before && key_number > 0 ? -n : 0;
    float* const largest = key + dim;
    float* const sum = largest + dim;
    std::fill_n(key, dim, 0.0f);
    std::fill_n(largest, dim, -INFINITY);
    std::fill_n(sum, dim, 0.0f);
    const auto row_of = [&](std::int64_t i, bool scores) {
        return source_of(op, segment, key_number * n + i, scores) + (has_before && i >= 0 ? dim : 0);
    };
    for (std::int64_t i = first; i < n; ++i) {
        const float* const scores = row_of(i, true);
        for (std::int64_t c = 0; c < dim; ++c) largest[c] = std::max(largest[c], scores[c]);
    }
    for (std::int64_t i = first; i < n; ++i) {
        const float* const scores = row_of(i, true);
        const float* const values = row_of(i, false);
        for (std::int64_t c = 0; c < dim; ++c) {
            const float share = std::exp(scores[c] - largest[c]);
            sum[c] += share;
            key[c] += share * values[c];
        }
    }
    for (std::int64_t c = 0; c < dim; ++c) key[c] /= sum[c];
    worker.kernels.rms_norm(key, op.norm.weight, dim, op.norm.eps, key);
    const std::int64_t last_row = segment.first_row + (key_number + 1) * n - 1 - segment.past;
    const std::int64_t half = op.rotary_dim / 2;
    scalar::rotate_pairs(key + dim - op.rotary_dim, op.cos + last_row * half, op.sin + last_row * half, op.rotary_dim);
    store_kv_row(key, dim, op.pooled.type,
                 pooled.blocks[static_cast<std::size_t>(op.pooled.block_of(key_number))] +
                     op.pooled.keys_offset(op.pooled_layer, 0) + op.pooled.row_of(key_number) * op.pooled.key_stride());
}

}  // namespace

void compute(CpuWorker& worker, const PoolKeys& op) {
    for (auto& buffer : worker.attention_scratch) CpuWorker::room(buffer, 3 * op.pooled.key_dim);
    for (std::size_t s = 0; s < op.segments.size(); ++s) {
        const AttentionSegment& segment = op.segments[s];
        worker.for_rows(segment.n_tokens, [&](std::int64_t t) { store_source(op, segment, t); });
        const std::int64_t first = op.first_key(segment);
        worker.pool.parallel_dynamic(op.end_key(segment) - first, [&](std::int64_t i, int thread) {
            pool_key(worker, op, segment, op.pooled_segments[s], first + i,
                     worker.attention_scratch[static_cast<std::size_t>(thread)].data());
        });
    }
}

}  // namespace offstage::kernels::ops
