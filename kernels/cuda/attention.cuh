#pragma once
// What the kernels of attention.cu and wide_attention.cu share.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/segments.cuh"

namespace offstage::kernels::cuda {

// One layer's attention in a step. Queries: rows query_stride floats apart; out (rows, n_heads, value_dim).
struct Attention {
    Worker& worker;
    const AttentionShape& shape;
    KvPlaces places;
    const float* queries;
    std::int64_t query_stride;
    float* out;

    std::int64_t heads_per_kv() const { return shape.n_heads / shape.n_kv_heads; }
};

constexpr std::int64_t kFewTokens = 8;  // of a segment: up to this its rows are items, whose keys are split
constexpr int kItemsPerLaunch = 16;
constexpr std::int64_t kLeastSplitKeys = 64;

// One query row, all its heads. Keys [first_key, n_keys) are split evenly, the last split may be shorter.
struct DecodeItem {
    std::byte* const* blocks;
    std::int64_t row;
    std::int32_t first_key;
    std::int32_t n_keys;
    std::int32_t split_keys;
    std::int32_t n_splits;
};

struct DecodeItems {
    DecodeItem items[kItemsPerLaunch];
    int n = 0;
};

// A split's result for one head: its largest score, the sum of e^(score - largest), and the sum of values times that.
__device__ inline float* partial_of(float* partials, std::int64_t item, std::int64_t n_heads, std::int64_t head,
                                    std::int64_t most_splits, std::int64_t split, std::int64_t value_dim) {
    return partials + ((item * n_heads + head) * most_splits + split) * (value_dim + 2);
}

// What a head's sink adds to the sum of e^(score - largest).
__device__ inline float sink_share(const AttentionShape& shape, std::int64_t head, float largest) {
    return shape.sinks != nullptr ? expf(shape.sinks[head] - largest) : 0.0f;
}

// wide_attention.cu: any key_dim up to kMostKeyDim, any value_dim up to kMostValueDim, wherever the values lie.
constexpr std::int64_t kMostKeyDim = 576;
constexpr std::int64_t kMostValueDim = 512;
constexpr std::int64_t kMostWideSplits = 16;
void attend_few_wide(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, float* partials);
// The segments of more than kFewTokens tokens.
void attend_many_wide(const Attention& attention, const CudaSegment* segments, std::size_t n_segments);

}  // namespace offstage::kernels::cuda
