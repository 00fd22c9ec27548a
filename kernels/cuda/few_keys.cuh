#pragma once
// Attention of one query row, float32, online softmax (Milakov and Gimelshein,
// arXiv:1805.02867): keys are split over blocks and warps, and a key is read once for the
// query heads of a block, which share it. Keys and values of one size, which 4 divides,
// up to 32 kDims. For attention of few tokens (kernels/ops/attend.cu) and in decode
// (kernels/ops/grouped_attention.cu), with the same bits.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/numbers.cuh"

namespace offstage::kernels::cuda {

constexpr int kDecodeThreads = 128;
constexpr int kDecodeWarps = kDecodeThreads / kWarp;

template <int kDims>
__device__ inline void load_dims(KvType type, const std::byte* row, int first, std::int64_t head_dim,
                                 float (&values)[kDims]) {
    constexpr int kPiece = kDims < 4 ? kDims : 4;
#pragma unroll
    for (int i = 0; i < kDims; i += kPiece) {
        if (first + i >= head_dim) {
#pragma unroll
            for (int c = 0; c < kPiece; ++c) values[i + c] = 0.0f;
        } else if constexpr (kPiece == 4) {
            const float4 piece = four_cached_values(type, row, head_dim, first + i);
            values[i] = piece.x, values[i + 1] = piece.y, values[i + 2] = piece.z, values[i + 3] = piece.w;
        } else {
#pragma unroll
            for (int c = 0; c < kPiece; ++c) values[i + c] = cached_value(type, row, head_dim, first + i + c);
        }
    }
}

// Calls body with std::integral_constant<int, n>: the query heads of a block, where so
// many share a head of the cache.
template <typename Body>
void with_heads(std::int64_t heads_per_kv, const Body& body) {
    if (heads_per_kv == 1) {
        body(std::integral_constant<int, 1>());
    } else if (heads_per_kv == 2) {
        body(std::integral_constant<int, 2>());
    } else {
        body(std::integral_constant<int, 4>());
    }
}

// A part of an item's keys, and where the partial sums of all of them lie.
struct KeySplit {
    std::int64_t index;
    std::int64_t most_splits;
    float* partials;  // see partial_of()
    std::int64_t item;
};

// Floats of shared memory for attend_split().
template <int kDims, int kHeads>
constexpr std::size_t kSplitFloats = std::size_t{kHeads} * kDecodeWarps*(2 + kWarp * kDims);

// Combines a block's warps in their order, for its h-th head; a warp without keys has
// weight 0. Lie in shared memory: (kHeads, kDecodeWarps) and, of values, (kHeads,
// kDecodeWarps, kRow).
template <int kRow>
__device__ inline void combine_warps(const DecodeItem& item, const AttentionShape& shape, const QueryHeads& heads,
                                     const KeySplit& split, int h, const float* all_largest, const float* all_sums,
                                     const float* all_results, float* out) {
    const std::int64_t d = shape.key_dim;
    float block_largest = all_largest[h * kDecodeWarps];
    for (int w = 1; w < kDecodeWarps; ++w) {
        block_largest = fmaxf(block_largest, all_largest[h * kDecodeWarps + w]);
    }
    float block_sum = 0.0f;
    for (int w = 0; w < kDecodeWarps; ++w) {
        block_sum += all_sums[h * kDecodeWarps + w] * expf(all_largest[h * kDecodeWarps + w] - block_largest);
    }
    const std::int64_t head = heads.first + h;
    const float divisor = block_sum + sink_share(shape, head, block_largest);
    float* partial = item.n_splits == 1 ? nullptr
                                        : partial_of(split.partials, split.item, shape.n_heads, head, split.most_splits,
                                                     split.index, d);
    for (std::int64_t i = threadIdx.x; i < d; i += kDecodeThreads) {
        float value = 0.0f;
        for (int w = 0; w < kDecodeWarps; ++w) {
            value += all_results[(h * kDecodeWarps + w) * kRow + i] *
                     expf(all_largest[h * kDecodeWarps + w] - block_largest);
        }
        if (partial == nullptr) {
            out[(item.row * shape.n_heads + head) * d + i] = value / divisor;
        } else {
            partial[2 + i] = value;
        }
    }
    if (partial != nullptr && threadIdx.x == 0) {
        partial[0] = block_largest;
        partial[1] = block_sum;
    }
}

// By a block of kDecodeThreads: a lane holds kDims dimensions; a warp takes kAhead keys
// at a time, every fourth such piece. query_of(h): the block's h-th query; key_of(key),
// value_of(key): cached rows. Where the item has one split, the result goes to row
// item.row of out (rows, n_heads, dim), otherwise to the partial sums.
template <int kDims, int kHeads, typename QueryOf, typename KeyOf, typename ValueOfKey>
__device__ inline void attend_split(const DecodeItem& item, const AttentionShape& shape, KvType type,
                                    const QueryHeads& heads, const KeySplit& split, const QueryOf& query_of,
                                    const KeyOf& key_of, const ValueOfKey& value_of, float* shared, float* out) {
    constexpr int kAhead = kDims * kHeads >= 32 ? 2 : 4;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const std::int64_t d = shape.key_dim;
    const float scale = shape.scale;
    const int my_dims = lane * kDims;

    float q[kHeads][kDims];
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
        const float* const row = query_of(h < heads.n ? h : 0);  // beyond the group: again the first, dropped later
#pragma unroll
        for (int i = 0; i < kDims; ++i) q[h][i] = my_dims + i < d ? row[my_dims + i] * scale : 0.0f;
    }
    float largest[kHeads];
    float sum[kHeads];
    float result[kHeads][kDims];
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
        largest[h] = -INFINITY;
        sum[h] = 0.0f;
#pragma unroll
        for (int i = 0; i < kDims; ++i) result[h][i] = 0.0f;
    }

    const std::int64_t begin = item.first_key + split.index * item.split_keys;
    const std::int64_t end = begin + item.split_keys < item.n_keys ? begin + item.split_keys : item.n_keys;
    for (std::int64_t first = begin + warp * kAhead; first < end; first += kDecodeWarps * kAhead) {
        float k[kAhead][kDims];
        float v[kAhead][kDims];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t key = first + a < end ? first + a : end - 1;
            load_dims<kDims>(type, key_of(key), my_dims, d, k[a]);
            load_dims<kDims>(type, value_of(key), my_dims, d, v[a]);
        }
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
            float score[kAhead];
            float new_largest = largest[h];
#pragma unroll
            for (int a = 0; a < kAhead; ++a) {
                float product = 0.0f;
#pragma unroll
                for (int i = 0; i < kDims; ++i) product = fmaf(q[h][i], k[a][i], product);
                product = warp_sum(product);
                score[a] = first + a < end ? product : -INFINITY;
                new_largest = fmaxf(new_largest, score[a]);
            }
            const float shrink = expf(largest[h] - new_largest);
            largest[h] = new_largest;
            sum[h] *= shrink;
#pragma unroll
            for (int i = 0; i < kDims; ++i) result[h][i] *= shrink;
#pragma unroll
            for (int a = 0; a < kAhead; ++a) {
                const float probability = expf(score[a] - new_largest);
                sum[h] += probability;
#pragma unroll
                for (int i = 0; i < kDims; ++i) result[h][i] = fmaf(probability, v[a][i], result[h][i]);
            }
        }
    }

    constexpr int kRow = kWarp * kDims;
    float* all_largest = shared;                            // (kHeads, kDecodeWarps)
    float* all_sums = all_largest + kHeads * kDecodeWarps;  // the same
    float* all_results = all_sums + kHeads * kDecodeWarps;  // (kHeads, kDecodeWarps, kRow)
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
        if (lane == 0) {
            all_largest[h * kDecodeWarps + warp] = largest[h];
            all_sums[h * kDecodeWarps + warp] = sum[h];
        }
#pragma unroll
        for (int i = 0; i < kDims; ++i) all_results[(h * kDecodeWarps + warp) * kRow + my_dims + i] = result[h][i];
    }
    __syncthreads();
    for (int h = 0; h < heads.n; ++h) {
        combine_warps<kRow>(item, shape, heads, split, h, all_largest, all_sums, all_results, out);
    }
}

// The splits of a head are combined in the order of their numbers: a warp weighs them, 32
// at a time, then each thread adds up its values. first[i]: the head's partial sums.
// weights: (n_splits), then their sum.
template <typename Partials>
__device__ inline void weigh_splits(const Partials& first, int n_splits, const AttentionShape& shape, std::int64_t head,
                                    float* weights) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t step = shape.value_dim + 2;
    float largest = first[0];
    for (int s = lane; s < n_splits; s += kWarp) largest = fmaxf(largest, first[s * step]);
    largest = warp_max(largest);
    float sum = 0.0f;
    for (int s = lane; s < n_splits; s += kWarp) {
        weights[s] = expf(first[s * step] - largest);
        sum = fmaf(first[s * step + 1], weights[s], sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) weights[n_splits] = sum + sink_share(shape, head, largest);
}
template <typename Partials>
__device__ inline float joined_value(const Partials& first, int n_splits, std::int64_t value_dim, const float* weights,
                                     std::int64_t i) {
    float value = 0.0f;
#pragma unroll 8
    for (int s = 0; s < n_splits; ++s) value = fmaf(first[s * (value_dim + 2) + 2 + i], weights[s], value);
    return value / weights[n_splits];
}

}  // namespace offstage::kernels::cuda
