// Storing each token's keys and values, and copies of blocks, on the CPU.

#include "kernels/ops/rotate_and_store.h"

#include <cstring>
#include <vector>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"
#include "kernels/cpu_worker.h"
#include "kernels/ops/copy_kv_block.h"
#include "kernels/ops/rotate_and_store_latent.h"
#include "kernels/ops/rotate_pairs.h"

namespace offstage::kernels::scalar {

void rope(float* head, const float* cos, const float* sin, std::int64_t dim) {
    const std::int64_t half = dim / 2;
    for (std::int64_t i = 0; i < half; ++i) {
        const float first = head[i];
        const float second = head[i + half];
        head[i] = first * cos[i] - second * sin[i];
        head[i + half] = second * cos[i] + first * sin[i];
    }
}

}  // namespace offstage::kernels::scalar

namespace offstage::kernels::ops {
namespace {

// Keys (n_kv_heads, key_dim) of token t of a segment; and its values (n_kv_heads,
// value_dim) if the cache has them.
void store_token(const KvShape& kv, std::int64_t layer, const AttentionSegment& segment, std::int64_t t,
                 const float* keys, const float* values) {
    const std::int64_t token = segment.past + t;
    const std::int64_t in_block = token % kKvBlockTokens;
    std::byte* block = segment.blocks[static_cast<std::size_t>(token / kKvBlockTokens)];
    for (std::int64_t head = 0; head < kv.n_kv_heads; ++head) {
        store_kv_row(keys + head * kv.key_dim, kv.key_dim, kv.type,
                     block + kv.keys_offset(layer, head) + in_block * kv.key_stride());
        if (kv.values_in_keys) continue;
        store_kv_row(values + head * kv.value_dim, kv.value_dim, kv.type,
                     block + kv.values_offset(layer, head) + in_block * kv.value_stride());
    }
}

}  // namespace

void compute(CpuWorker& worker, const RotateAndStore& op) {
    const AttentionShape& shape = op.shape;
    const std::int64_t half = shape.rotary_dim / 2;
    for (const AttentionSegment& segment : op.segments) {
        worker.for_rows(segment.n_tokens, [&](std::int64_t t) {
            const std::int64_t place = segment.first_row + t;
            float* row = op.qkv + place * shape.qkv_width();
            for (std::int64_t head = 0; head < shape.n_heads + shape.n_kv_heads; ++head) {
                worker.kernels.rope(row + head * shape.key_dim + shape.rotary_first, op.cos + place * half,
                                    op.sin + place * half, shape.rotary_dim);
            }
            const float* k = row + shape.query_width();
            store_token(op.kv, op.layer, segment, t, k, k + shape.n_kv_heads * shape.key_dim);
        });
    }
}

void compute(CpuWorker& worker, const RotateAndStoreLatent& op) {
    const AttentionShape& shape = op.shape;
    const std::int64_t half = shape.rotary_dim / 2;
    const std::int64_t q_dim = op.q_dim();
    for (const AttentionSegment& segment : op.segments) {
        worker.for_rows(segment.n_tokens, [&](std::int64_t t) {
            const std::int64_t place = segment.first_row + t;
            const auto rotate = [&](float* values) {
                worker.kernels.rope(values, op.cos + place * half, op.sin + place * half, shape.rotary_dim);
            };
            for (std::int64_t head = 0; head < shape.n_heads; ++head) {
                const float* from = op.q + (place * shape.n_heads + head) * q_dim + op.nope_dim;
                float* to = op.queries + place * shape.query_width() + head * shape.key_dim + shape.rotary_first;
                if (from != to) std::memcpy(to, from, static_cast<std::size_t>(shape.rotary_dim) * sizeof(float));
                rotate(to);
            }
            float* key = op.latent + place * shape.key_dim;
            rotate(key + shape.rotary_first);
            store_token(op.kv, op.layer, segment, t, key, nullptr);
        });
    }
}

void compute(CpuWorker& worker, const RotatePairs& op) {
    const std::int64_t half = op.dim / 2;
    worker.for_rows(op.n, [&](std::int64_t t) {
        for (std::int64_t head = 0; head < op.n_heads; ++head) {
            scalar::rotate_pairs(op.x + (t * op.n_heads + head) * op.head_dim + op.first, op.cos + t * half,
                                 op.sin + t * half, op.dim, op.back);
        }
    });
}

void compute(CpuWorker& worker, const CopyKvBlock& op) {
    const KvShape& kv = op.kv;
    KvShape target = kv;
    target.type = op.type;
    // n rows of n_values, from one place to the other.
    const auto copy = [&](const std::byte* source, std::int64_t source_stride, std::byte* place, std::int64_t stride,
                          std::int64_t n_values) {
        if (op.type == kv.type) {
            std::memcpy(place, source, static_cast<std::size_t>(op.n_rows() * stride));
            return;
        }
        std::vector<float> row(static_cast<std::size_t>(n_values));
        for (std::int64_t t = 0; t < op.n_rows(); ++t) {
            load_kv_row(source + t * source_stride, n_values, kv.type, row.data());
            store_kv_row(row.data(), n_values, op.type, place + t * stride);
        }
    };
    worker.pool.parallel_for(kv.n_layers * kv.n_kv_heads, 8, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t layer = i / kv.n_kv_heads, head = i % kv.n_kv_heads;
            copy(op.from.data + kv.keys_offset(layer, head), kv.key_stride(),
                 op.to.data + target.keys_offset(layer, head), target.key_stride(), kv.key_dim);
            if (kv.values_in_keys) continue;
            copy(op.from.data + kv.values_offset(layer, head), kv.value_stride(),
                 op.to.data + target.values_offset(layer, head), target.value_stride(), kv.value_dim);
        }
    });
}

}  // namespace offstage::kernels::ops
