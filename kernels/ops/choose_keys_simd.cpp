// indexer_scores over Vector: the keys of a block lie in the lanes, so that each sums its
// products in the order of the values, and no sum crosses lanes.

#include "kernels/cpu/attention_groups.h"
#include "kernels/cpu/key_blocks_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

constexpr int kScoreVectors = kRegisters == 32 ? 4 : 2;
constexpr int kScoreHeads = kRegisters == 32 ? 6 : 4;  // of a row at once

// sums[v] += weight max(0, query . key) of kHeads heads, one after the other, for the
// keys in kScoreVectors vectors. weights nullptr: query . key, of one head.
template <int kHeads>
__attribute__((always_inline)) inline void add_heads(const float* queries, const float* weights, std::int64_t n,
                                                     const float* keys, Vector (&sums)[kScoreVectors]) {
    Vector products[kHeads][kScoreVectors];
    for (int h = 0; h < kHeads; ++h) {
        for (int v = 0; v < kScoreVectors; ++v) products[h][v] = zero();
    }
    for (std::int64_t i = 0; i < n; ++i) {
        Vector key[kScoreVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kScoreVectors; ++v) key[v] = load(keys + i * kBlockKeys + v * kLanes);
#pragma GCC unroll 8
        for (int h = 0; h < kHeads; ++h) {
            const Vector query = broadcast(queries[h * n + i]);
#pragma GCC unroll 8
            for (int v = 0; v < kScoreVectors; ++v) products[h][v] = fma(query, key[v], products[h][v]);
        }
    }
    if (weights == nullptr) {
        for (int v = 0; v < kScoreVectors; ++v) sums[v] = products[0][v];
        return;
    }
    for (int h = 0; h < kHeads; ++h) {
        const Vector weight = broadcast(weights[h]);
        for (int v = 0; v < kScoreVectors; ++v) sums[v] = fma(weight, maximum(products[h][v], zero()), sums[v]);
    }
}

// The scores of a block's keys, kBlockKeys of them, for one row.
void score_block(const float* queries, const float* weights, std::int64_t n_heads, std::int64_t n, const float* keys,
                 float* scores) {
    for (int k = 0; k < kBlockKeys; k += kScoreVectors * kLanes) {
        Vector sums[kScoreVectors];
        for (Vector& sum : sums) sum = zero();
        for (std::int64_t h = 0; h < n_heads; h += kScoreHeads) {
            with_number<kScoreHeads>(n_heads - h, [&](auto heads) {
                add_heads<decltype(heads)::value>(queries + h * n, weights == nullptr ? nullptr : weights + h, n,
                                                  keys + k, sums);
            });
        }
        for (int v = 0; v < kScoreVectors; ++v) store(scores + k + v * kLanes, sums[v]);
    }
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void indexer_scores(const IndexerRows& rows, const KvHead& kv, std::int64_t begin, std::int64_t end, float* scratch) {
    float* const transposed = scratch;
    float* const wide = scratch + kBlockKeys * kv.key_dim;
    int n = 0;
    for (; begin < end; begin += n) {
        const std::int64_t end_of_block = (begin / kBlockKeys + 1) * kBlockKeys;
        n = static_cast<int>((end_of_block < end ? end_of_block : end) - begin);
        const std::byte* const keys = kv.blocks[begin / kBlockKeys] + kv.keys + begin % kBlockKeys * kv.key_stride;
        if (kv.type == KvType::kF32) {
            transpose_keys(reinterpret_cast<const float*>(keys), kv.key_stride / 4, n, kv.key_dim, transposed);
        } else {
            widen_rows(keys, kv.key_stride, kv.type, n, kv.key_dim, nullptr, wide);
            transpose_keys(wide, kv.key_dim, n, kv.key_dim, transposed);
        }
        for (std::int64_t r = 0; r < rows.n_rows; ++r) {
            float scores[kBlockKeys];
            score_block(rows.queries + r * rows.n_heads * kv.key_dim,
                        rows.weights == nullptr ? nullptr : rows.weights + r * rows.n_heads, rows.n_heads, kv.key_dim,
                        transposed, scores);
            for (int k = 0; k < n; ++k) rows.scores[r * rows.stride + begin + k] = scores[k];
        }
    }
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
