#pragma once
// Types and functions that kernels/ops/attend.cu and wide_attention.cu share.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/segments.cuh"

namespace offstage::kernels::cuda {

// One layer's attention in a step. Queries: rows query_stride floats apart; out (rows,
// n_heads, value_dim).
struct Attention {
    Worker& worker;
    const AttentionShape& shape;
    KvPlaces places;
    const float* queries;
    std::int64_t query_stride;
    float* out;

    std::int64_t heads_per_kv() const { return shape.n_heads / shape.n_kv_heads; }
};

// The tiles of keys of one launch, by their first key: all, or one range after the other.
// Between two launches the sums lie in `out`, not yet divided, and in state; the result
// does not depend on the ranges, bit by bit.
struct KeyRange {
    std::int64_t first = 0;
    std::int64_t end = std::int64_t{1} << 62;
    bool resumes = false;  // an earlier launch took those before
    bool is_last = true;
    float2* state = nullptr;  // (tokens of the launch's only segment, n_heads): the largest score, the sum of e^(score
                              // - largest)

    __device__ std::int64_t first_tile(std::int64_t begin, std::int64_t tile_keys) const {
        return first <= begin ? begin : begin + (first - begin + tile_keys - 1) / tile_keys * tile_keys;
    }
};

constexpr std::int64_t kFewTokens = 8;  // of a segment: up to this number its rows are items with split keys
constexpr int kItemsPerLaunch = 16;
constexpr std::int32_t kLeastSplitKeys = 64;
constexpr std::int32_t kMostSplits = 64;

// One query row, all its heads. Keys [first_key, n_keys) are split evenly, the last split
// may be shorter.
struct DecodeItem {
    std::byte* const* blocks = nullptr;
    std::int64_t row = 0;
    std::int32_t first_key = 0;
    std::int32_t n_keys = 0;
    std::int32_t split_keys = 0;
    std::int32_t n_splits = 0;
    // The address of the number of keys without the query's own; the four fields above
    // are 0 then. So the launches of two tokens have the same parameters, apart from the
    // grid, which has one of a few sizes.
    const std::int32_t* device_past = nullptr;
    // The keys by their numbers, in the device's memory (attend_few_wide() alone), for
    // each choice of the row; nullptr: those numbers themselves.
    const std::int32_t* chosen = nullptr;
};

struct DecodeItems {
    DecodeItem items[kItemsPerLaunch];
    int n = 0;
    std::int32_t most_splits = 1;  // for any number of keys
    std::int64_t key_tokens = 1;   // KvShape's
};
// KernelCall::pack() clears no padding there.
static_assert(sizeof(DecodeItems) == kItemsPerLaunch * sizeof(DecodeItem) + 16, "no padding behind the items");

// Sets the range of an item's keys and how they are split. This depends on the number of
// keys alone, so that a sequence's result does not depend on other sequences of the step.
__host__ __device__ inline void set_keys(DecodeItem& item, std::int32_t n_keys, std::int64_t window,
                                         std::int32_t most_splits) {
    item.n_keys = n_keys;
    item.first_key = window > 0 && n_keys > window ? n_keys - static_cast<std::int32_t>(window) : 0;
    const std::int32_t n = item.n_keys - item.first_key;
    std::int32_t keys = (n + most_splits - 1) / most_splits;
    if (keys < kLeastSplitKeys) keys = kLeastSplitKeys;
    item.split_keys = keys;
    item.n_splits = (n + keys - 1) / keys;
}
// The grid size for items whose keys are counted on the device: a power of two of at
// least n_splits.
inline std::int64_t bucket_of(std::int32_t n_splits) {
    std::int64_t bucket = 1;
    while (bucket < n_splits) bucket *= 2;
    return bucket;
}

// A segment's token. Returns the number of splits that the grid has room for.
inline std::int64_t set_item(Worker& worker, DecodeItem& item, const CudaSegment& segment, std::int64_t token,
                             std::int64_t window, std::int32_t most_splits, std::int64_t key_tokens = 1) {
    const std::int64_t n_tokens = segment.past + token + 1;
    const auto n_keys = static_cast<std::int32_t>(n_tokens / key_tokens);
    item = {};
    set_keys(item, static_cast<std::int32_t>((n_tokens + 1) / key_tokens), window, most_splits);
    const std::int32_t n_next = item.n_splits;
    set_keys(item, n_keys, window, most_splits);
    std::int64_t n_splits = item.n_splits;
    if (segment.device_past != nullptr && segment.n_tokens == 1) {
        n_splits = bucket_of(item.n_splits);
        if (worker.kept != nullptr && bucket_of(n_next) != n_splits) worker.kept->set_last_of_its_kind();
        item = {};
        item.device_past = segment.device_past;
    }
    item.blocks = segment.blocks;
    item.row = segment.first_row + token;
    return n_splits;
}

// The same for a row that attends to chosen keys, which are at most shape.top_k.
inline std::int64_t set_chosen_item(DecodeItem& item, const CudaSegment& segment, std::int64_t token,
                                    const std::int32_t* chosen, const AttentionShape& shape, std::int32_t most_splits) {
    item = {};
    set_keys(item, static_cast<std::int32_t>(shape.top_k), 0, most_splits);
    const std::int64_t n_splits = item.n_splits;
    if (segment.device_past != nullptr && segment.n_tokens == 1) {
        item = {};
        item.device_past = segment.device_past;
    } else {
        set_keys(item, static_cast<std::int32_t>(shape.n_chosen(segment.past + token + 1)), 0, most_splits);
    }
    item.blocks = segment.blocks;
    item.row = segment.first_row + token;
    item.chosen = chosen + item.row * shape.choice_width();
    return n_splits;
}

// See AttentionShape::n_chosen().
__device__ inline std::int32_t device_n_chosen(const AttentionShape& shape, std::int32_t n_keys) {
    return static_cast<std::int32_t>(shape.top_k - shape.choice_block + (n_keys - 1) % shape.choice_block + 1);
}

__device__ inline DecodeItem item_of(const DecodeItems& list, unsigned index, const AttentionShape& shape) {
    DecodeItem item = list.items[index];
    if (item.device_past == nullptr) return item;
    const auto n_keys = static_cast<std::int32_t>((*item.device_past + 1) / list.key_tokens);
    if (item.chosen != nullptr) {
        set_keys(item, device_n_chosen(shape, n_keys), 0, list.most_splits);
    } else {
        set_keys(item, n_keys, shape.window, list.most_splits);
    }
    return item;
}

// The query heads of a block, n of one head of the cache.
struct QueryHeads {
    std::int64_t kv_head;
    std::int64_t first;
    int n;

    // The index-th, of all groups of kHeads.
    template <int kHeads>
    __device__ static QueryHeads of(const AttentionShape& shape, std::int64_t index) {
        const std::int64_t group = shape.n_heads / shape.n_kv_heads;
        const std::int64_t pieces = (group + kHeads - 1) / kHeads;
        const std::int64_t in_group = index % pieces * kHeads;
        const std::int64_t kv_head = index / pieces;
        return {kv_head, kv_head * group + in_group,
                static_cast<int>(group - in_group < kHeads ? group - in_group : kHeads)};
    }
};

// A split's result for one head: its largest score, the sum of e^(score - largest), and
// the sum of values times that.
__device__ inline float* partial_of(float* partials, std::int64_t item, std::int64_t n_heads, std::int64_t head,
                                    std::int64_t most_splits, std::int64_t split, std::int64_t value_dim) {
    return partials + ((item * n_heads + head) * most_splits + split) * (value_dim + 2);
}

// The term of a head's sink in the sum of e^(score - largest).
__device__ inline float sink_share(const AttentionShape& shape, std::int64_t head, float largest) {
    return shape.sinks != nullptr ? expf(shape.sinks[head] - largest) : 0.0f;
}

// wide_attention.cu: any key_dim up to kMostKeyDim, any value_dim up to kMostValueDim,
// values anywhere in the block.
constexpr std::int64_t kMostKeyDim = 576;
constexpr std::int64_t kMostValueDim = 512;
constexpr std::int32_t kMostWideSplits = 16;
void attend_few_wide(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, float* partials);
// The segments of more than kFewTokens tokens that do not have to be staged
// (staged_keys.cuh).
void attend_many_wide(const Attention& attention, const CudaSegment* segments, std::size_t n_segments,
                      const KeyRange& range);

// tensor_attention.cu: the same segments, where takes_tensor_cores().
bool takes_tensor_cores(const Attention& attention);
void attend_many_on_tensor_cores(const Attention& attention, const CudaSegment* segments, std::size_t n_segments,
                                 const KeyRange& range);

}  // namespace offstage::kernels::cuda
