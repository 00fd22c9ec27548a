// Attention over the block table, float32, online softmax (Milakov and Gimelshein,
// arXiv:1805.02867). Few tokens of a sequence: keys are split over blocks and warps
// ("decode"). Many: tiles of queries meet tiles of keys in shared memory ("prefill",
// after FlashAttention, arXiv:2205.14135). Both read a key once for all the query heads
// that share it. They serve keys and values of one size, which 4 divides, up to 256;
// wide_attention.cu serves the others. tensor_attention.cu takes many tokens where tensor
// cores multiply what the cache holds.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/few_keys.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/staged_keys.cuh"
#include "kernels/ops/attend.h"

namespace offstage::kernels::cuda {
namespace {

constexpr std::int64_t kMostHeadDim = 256;

// ---------------------------------------------------------------- decode

// grid: (splits, kv heads * groups of kHeads query heads, items).
template <int kDims, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads)
    attend_few(DecodeItems list, AttentionShape shape, KvPlaces places, std::int64_t most_splits, const float* queries,
               std::int64_t query_stride, float* partials, float* out) {
    const DecodeItem item = item_of(list, blockIdx.z, shape);
    const KeySplit split{blockIdx.x, most_splits, partials, blockIdx.z};
    if (split.index >= item.n_splits) return;  // the whole block
    const QueryHeads heads = QueryHeads::of<kHeads>(shape, blockIdx.y);
    attend_split<kDims, kHeads>(
        item, shape, places.type, heads, split,
        [&](int h) { return queries + item.row * query_stride + (heads.first + h) * shape.key_dim; },
        [&](std::int64_t key) { return key_row(places, item.blocks, key, heads.kv_head); },
        [&](std::int64_t key) { return value_row(places, item.blocks, key, heads.kv_head); }, shared_memory<float>(),
        out);
}

// grid: (heads, items).
__global__ void __launch_bounds__(kDecodeThreads)
    join_splits(DecodeItems list, AttentionShape shape, std::int64_t most_splits, float* partials, float* out) {
    float* const weights = shared_memory<float>();  // (most_splits), then their sum
    const DecodeItem item = item_of(list, blockIdx.y, shape);
    if (item.n_splits == 1) return;  // is there already
    const std::int64_t head = blockIdx.x;
    const std::int64_t n_heads = gridDim.x;
    const float* first = partial_of(partials, blockIdx.y, n_heads, head, most_splits, 0, shape.value_dim);
    if (threadIdx.x < kWarp) weigh_splits(first, item.n_splits, shape, head, weights);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < shape.value_dim; i += kDecodeThreads) {
        out[(item.row * n_heads + head) * shape.value_dim + i] =
            joined_value(first, item.n_splits, shape.value_dim, weights, i);
    }
}

template <int kDims, int kHeads>
void start_few(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, float* partials) {
    const AttentionShape& shape = attention.shape;
    const dim3 grid(static_cast<unsigned>(most_splits),
                    static_cast<unsigned>(shape.n_kv_heads * blocks_for(attention.heads_per_kv(), kHeads)),
                    static_cast<unsigned>(list.n));
    attention.worker.start(attend_few<kDims, kHeads>, grid, kDecodeThreads, kSplitFloats<kDims, kHeads> * sizeof(float),
                           list, shape, attention.places, most_splits, attention.queries, attention.query_stride,
                           partials, attention.out);
}

template <int kDims>
void start_few(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, float* partials) {
    with_heads(attention.heads_per_kv(),
               [&](auto heads) { start_few<kDims, decltype(heads)::value>(attention, list, most_splits, partials); });
}

bool is_wide(const AttentionShape& shape) {
    return shape.values_in_keys || shape.key_dim != shape.value_dim || shape.key_dim > kMostHeadDim ||
           shape.key_dim % 4 != 0;
}

std::int32_t most_splits_of(const AttentionShape& shape) {
    return is_wide(shape) ? kMostWideSplits : kMostSplits;
}

std::int32_t splits_of(std::int64_t n_keys, std::int32_t most_splits) {
    DecodeItem item;
    set_keys(item, static_cast<std::int32_t>(n_keys), 0, most_splits);
    return item.n_splits;
}

std::size_t partial_bytes(std::int64_t n_heads, std::int64_t value_dim, std::int64_t splits) {
    return static_cast<std::size_t>(n_heads * splits * (value_dim + 2)) * sizeof(float);
}

// most_splits: at least as many as any item of the list has. wide: by the kernels for any
// sizes.
void few(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, bool wide) {
    Worker& worker = attention.worker;
    const AttentionShape& shape = attention.shape;
    worker.scratch.restart();
    float* partials = nullptr;
    if (most_splits > 1) {
        const auto bytes = static_cast<std::int64_t>(partial_bytes(shape.n_heads, shape.value_dim, most_splits));
        partials = worker.scratch.take<float>(list.n * bytes / static_cast<std::int64_t>(sizeof(float)));
        if (partials == nullptr) {
            worker.lacks_scratch();
            return;
        }
    }
    if (wide) {
        attend_few_wide(attention, list, most_splits, partials);
    } else if (shape.key_dim <= 2 * kWarp) {
        start_few<2>(attention, list, most_splits, partials);
    } else if (shape.key_dim <= 4 * kWarp) {
        start_few<4>(attention, list, most_splits, partials);
    } else {
        start_few<8>(attention, list, most_splits, partials);
    }
    if (most_splits > 1) {
        worker.start(join_splits, dim3(static_cast<unsigned>(shape.n_heads), static_cast<unsigned>(list.n)),
                     kDecodeThreads, static_cast<std::size_t>(most_splits + 1) * sizeof(float), list, shape,
                     most_splits, partials, attention.out);
    }
}

// ---------------------------------------------------------------- prefill

constexpr int kTileThreads = 128;
constexpr int kTileKeys = 32;

// A tile is kRows (token, head of the group) pairs, heads running fastest, against all
// the keys they see. Thread (group, part) of (kRows / 4, 16 or more) forms 4 rows' scores
// for its keys and 4 rows' results for its dimensions.
template <int kRows, int kFours>
struct QueryTile {
    static constexpr int kPer = 4;  // rows of a thread
    static constexpr int kRowGroups = kRows / kPer;
    static constexpr int kParts = kTileThreads / kRowGroups;  // threads that share 4 rows
    static constexpr int kKeysPer = kTileKeys / kParts < 1 ? 1 : kTileKeys / kParts;
    static constexpr int kScoreStride = kTileKeys + 1;
    static constexpr int kPerRow = kTileThreads / kRows;  // threads that share a row's softmax

    const AttentionShape& shape;
    const KvPlaces& places;
    const CudaSegment& segment;
    std::int64_t kv_head;
    std::int64_t first_pair;
    int d = static_cast<int>(shape.key_dim);
    int stride = d + kPer;                           // keeps float4 alignment, spreads the banks
    float* queries = shared_memory<float>();         // (kRows, stride)
    float* keys = queries + kRows * stride;          // (kTileKeys, stride): keys, then values
    float* scores = keys + kTileKeys * stride;       // (kRows, kScoreStride)
    float* shrinks = scores + kRows * kScoreStride;  // (kRows)
    float* sums = shrinks + kRows;                   // (kRows)

    int thread = static_cast<int>(threadIdx.x);
    int row_group = thread / kParts;
    int part = thread % kParts;
    int softmax_row = thread / kPerRow;
    std::int64_t group = shape.n_heads / shape.n_kv_heads;
    std::int64_t n_pairs = segment.n_tokens * group;
    std::int64_t past = past_of(segment);
    std::int64_t last_position = past + ((first_pair + kRows < n_pairs ? first_pair + kRows : n_pairs) - 1) / group;

    float largest = -INFINITY;  // of softmax_row
    float sum = 0.0f;
    float result[kPer][kFours][4] = {};

    __device__ void load_queries(const float* queries_of_rows, std::int64_t query_stride) {
        for (int i = thread; i < kRows * d; i += kTileThreads) {
            const std::int64_t pair = first_pair + i / d;
            float value = 0.0f;
            if (pair < n_pairs) {
                const std::int64_t row = segment.first_row + pair / group;
                value =
                    queries_of_rows[row * query_stride + (kv_head * group + pair % group) * d + i % d] * shape.scale;
            }
            queries[i / d * stride + i % d] = value;
        }
    }

    __device__ void load_tile(std::int64_t first_key, bool are_keys) {
        for (int c = thread / kWarp; c < kTileKeys; c += kTileThreads / kWarp) {
            const std::int64_t key = first_key + c;
            const bool there = key <= last_position;
            const std::byte* row = !there     ? nullptr
                                   : are_keys ? key_row(places, segment.blocks, key, kv_head)
                                              : value_row(places, segment.blocks, key, kv_head);
            for (int i = thread % kWarp * 4; i < d; i += kWarp * 4) {
                *reinterpret_cast<float4*>(keys + c * stride + i) =
                    there ? four_cached_values(places.type, row, d, i) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            }
        }
    }

    // A thread's keys are kParts apart, so that neighbours read different banks.
    __device__ void score_keys(std::int64_t first_key) {
        if (part >= kTileKeys) return;  // with 8 rows there are more threads than keys
        float products[kPer][kKeysPer] = {};
        for (int i = 0; i < d; i += 4) {
            float4 k[kKeysPer];
#pragma unroll
            for (int c = 0; c < kKeysPer; ++c) {
                k[c] = *reinterpret_cast<const float4*>(keys + (part + c * kParts) * stride + i);
            }
#pragma unroll
            for (int r = 0; r < kPer; ++r) {
                const float4 q = *reinterpret_cast<const float4*>(queries + (row_group * kPer + r) * stride + i);
#pragma unroll
                for (int c = 0; c < kKeysPer; ++c) {
                    products[r][c] = fmaf(q.x, k[c].x, products[r][c]);
                    products[r][c] = fmaf(q.y, k[c].y, products[r][c]);
                    products[r][c] = fmaf(q.z, k[c].z, products[r][c]);
                    products[r][c] = fmaf(q.w, k[c].w, products[r][c]);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < kPer; ++r) {
            const std::int64_t pair = first_pair + row_group * kPer + r;
            const std::int64_t position = past + pair / group;
#pragma unroll
            for (int c = 0; c < kKeysPer; ++c) {
                const std::int64_t key = first_key + part + c * kParts;
                const bool seen =
                    key <= position && key <= last_position && (shape.window == 0 || key > position - shape.window);
                scores[(row_group * kPer + r) * kScoreStride + part + c * kParts] = seen ? products[r][c] : -INFINITY;
            }
        }
    }

    // Softmax so far.
    __device__ void add_scores() {
        float tile_largest = -INFINITY;
        for (int c = thread % kPerRow; c < kTileKeys; c += kPerRow) {
            tile_largest = fmaxf(tile_largest, scores[softmax_row * kScoreStride + c]);
        }
#pragma unroll
        for (int distance = kPerRow / 2; distance > 0; distance /= 2) {
            tile_largest = fmaxf(tile_largest, __shfl_xor_sync(kAllLanes, tile_largest, distance));
        }
        const float new_largest = fmaxf(largest, tile_largest);
        const float base = new_largest == -INFINITY ? 0.0f : new_largest;  // nothing seen yet: all weights are 0
        float tile_sum = 0.0f;
        for (int c = thread % kPerRow; c < kTileKeys; c += kPerRow) {
            const float probability = expf(scores[softmax_row * kScoreStride + c] - base);
            scores[softmax_row * kScoreStride + c] = probability;
            tile_sum += probability;
        }
#pragma unroll
        for (int distance = kPerRow / 2; distance > 0; distance /= 2) {
            tile_sum += __shfl_xor_sync(kAllLanes, tile_sum, distance);
        }
        const float shrink = expf(largest - base);
        sum = sum * shrink + tile_sum;
        largest = new_largest;
        if (thread % kPerRow == 0) shrinks[softmax_row] = shrink;
    }

    // result = result * shrink + probabilities * values.
    __device__ void add_values() {
#pragma unroll
        for (int r = 0; r < kPer; ++r) {
            const float factor = shrinks[row_group * kPer + r];
#pragma unroll
            for (int f = 0; f < kFours; ++f) {
#pragma unroll
                for (int i = 0; i < 4; ++i) result[r][f][i] *= factor;
            }
        }
        for (int c = 0; c < kTileKeys; ++c) {
            float4 v[kFours];
#pragma unroll
            for (int f = 0; f < kFours; ++f) {
                const int dim = (part + f * kParts) * 4;
                v[f] = dim < d ? *reinterpret_cast<const float4*>(keys + c * stride + dim)
                               : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            }
#pragma unroll
            for (int r = 0; r < kPer; ++r) {
                const float probability = scores[(row_group * kPer + r) * kScoreStride + c];
#pragma unroll
                for (int f = 0; f < kFours; ++f) {
                    result[r][f][0] = fmaf(probability, v[f].x, result[r][f][0]);
                    result[r][f][1] = fmaf(probability, v[f].y, result[r][f][1]);
                    result[r][f][2] = fmaf(probability, v[f].z, result[r][f][2]);
                    result[r][f][3] = fmaf(probability, v[f].w, result[r][f][3]);
                }
            }
        }
    }

    // Calls body(value, place in out, row of the thread) for each value of the thread.
    template <typename Body>
    __device__ void for_each_value(float* out, const Body& body) {
#pragma unroll
        for (int r = 0; r < kPer; ++r) {
            const std::int64_t pair = first_pair + row_group * kPer + r;
            if (pair >= n_pairs) continue;
            const std::int64_t row = segment.first_row + pair / group;
            float* const to = out + (row * shape.n_heads + kv_head * group + pair % group) * d;
#pragma unroll
            for (int f = 0; f < kFours; ++f) {
                const int dim = (part + f * kParts) * 4;
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (dim + i < d) body(result[r][f][i], to[dim + i], r);
                }
            }
        }
    }
};

template <int kRows, int kFours>
__global__ void __launch_bounds__(kTileThreads)
    attend_tiles(SegmentList list, AttentionShape shape, KvPlaces places, KeyRange range, const float* queries_of_rows,
                 std::int64_t query_stride, float* out) {
    const std::int64_t unit = blockIdx.x;
    const int index = segment_of(list, unit);
    const CudaSegment& segment = list.segments[index];
    const std::int64_t n_tiles = list.first_unit[index + 1] - list.first_unit[index];
    const std::int64_t number = n_tiles - 1 - (unit - list.first_unit[index]);  // the longest first
    QueryTile<kRows, kFours> tile{shape, places, segment, blockIdx.y, number * kRows};
    tile.load_queries(queries_of_rows, query_stride);

    const std::int64_t first_position = tile.past + tile.first_pair / tile.group;
    std::int64_t begin = 0;
    if (shape.window > 0 && first_position + 1 > shape.window) {
        begin = first_position + 1 - shape.window;
    }
    const std::int64_t softmax_pair = tile.first_pair + tile.softmax_row;
    const std::int64_t head = tile.kv_head * tile.group + softmax_pair % tile.group;
    const std::int64_t state_place = softmax_pair / tile.group * shape.n_heads + head;
    const bool keeps_state = tile.thread % tile.kPerRow == 0;
    if (range.resumes) {
        if (softmax_pair < tile.n_pairs) {
            tile.largest = range.state[state_place].x;
            tile.sum = range.state[state_place].y;
        }
        tile.for_each_value(out, [](float& value, float& place, int) { value = place; });
    }

    for (std::int64_t first_key = range.first_tile(begin, kTileKeys);
         first_key <= tile.last_position && first_key < range.end; first_key += kTileKeys) {
        tile.load_tile(first_key, true);
        __syncthreads();
        tile.score_keys(first_key);
        __syncthreads();
        tile.load_tile(first_key, false);  // the values, in the keys' place
        tile.add_scores();
        __syncthreads();
        tile.add_values();
        __syncthreads();  // before the next keys and scores
    }

    if (!range.is_last) {
        if (keeps_state && softmax_pair < tile.n_pairs) {
            range.state[state_place].x = tile.largest;
            range.state[state_place].y = tile.sum;
        }
        tile.for_each_value(out, [](const float& value, float& place, int) { place = value; });
        return;
    }
    if (keeps_state) tile.sums[tile.softmax_row] = tile.sum + sink_share(shape, head, tile.largest);
    __syncthreads();
    tile.for_each_value(out, [&](const float& value, float& place, int r) {
        place = value / tile.sums[tile.row_group * tile.kPer + r];
    });
}

template <int kRows, int kFours>
void start_tiles(const Attention& attention, const CudaSegment* segments, std::size_t n_segments,
                 const KeyRange& range) {
    const AttentionShape& shape = attention.shape;
    const std::int64_t group = attention.heads_per_kv();
    const std::size_t floats =
        static_cast<std::size_t>((kRows + kTileKeys) * (shape.key_dim + 4) + kRows * (kTileKeys + 1) + 2 * kRows);
    for_segment_lists(
        segments, n_segments,
        [&](const CudaSegment& segment) {
            if (segment.n_tokens <= kFewTokens || has_staged_keys(segment)) return std::int64_t{0};
            return std::int64_t{blocks_for(segment.n_tokens * group, kRows)};
        },
        [&](const SegmentList& list) {
            attention.worker.start(
                attend_tiles<kRows, kFours>,
                dim3(static_cast<unsigned>(list.first_unit[list.n]), static_cast<unsigned>(shape.n_kv_heads)),
                kTileThreads, floats * sizeof(float), list, shape, attention.places, range, attention.queries,
                attention.query_stride, attention.out);
        });
}

void attend_many(const Attention& attention, const CudaSegment* segments, std::size_t n_segments,
                 const KeyRange& range) {
    if (is_wide(attention.shape)) {
        attend_many_wide(attention, segments, n_segments, range);
    } else if (takes_tensor_cores(attention)) {
        attend_many_on_tensor_cores(attention, segments, n_segments, range);
    } else if (attention.shape.key_dim <= 128) {
        start_tiles<32, 2>(attention, segments, n_segments, range);
    } else {
        start_tiles<8, 1>(attention, segments, n_segments, range);
    }
}

}  // namespace

std::uint64_t attention_scratch_bytes(const CudaStep& step) {
    const std::int64_t items = step.n_tokens < kItemsPerLaunch ? step.n_tokens : kItemsPerLaunch;
    const auto bytes = [&](std::int64_t value_dim, std::int32_t most) {
        // The most splits that any number of keys up to the context has.
        const std::int64_t small = std::int64_t{most} * kLeastSplitKeys;
        const std::int64_t splits =
            step.context >= small ? most : bucket_of(splits_of(step.context > 1 ? step.context : 1, most));
        return Scratch::rounded(static_cast<std::size_t>(items) *
                                partial_bytes(step.attention.n_heads, value_dim, splits));
    };
    const AttentionShape& shape = step.attention;
    const std::uint64_t largest = std::max(
        {bytes(shape.value_dim, most_splits_of(shape)), staged_keys_scratch_bytes(step), indexer_scratch_bytes(step)});
    if (!is_wide(shape) || shape.values_in_keys) return largest;
    // A model with wide heads may have other layers, whose keys are split into more.
    return std::max(largest, bytes(std::min(shape.value_dim, kMostHeadDim), kMostSplits));
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const Attend& op) {
    const AttentionShape& shape = op.shape;
    if (shape.key_dim > kMostKeyDim || shape.value_dim > kMostValueDim || shape.n_heads % shape.n_kv_heads != 0) {
        static_assert(kMostKeyDim == 576 && kMostValueDim == 512, "as the sentence says");
        worker.failure.set(
            "The attention kernels serve keys of up to 576 numbers and values of up to 512; this model has " +
            std::to_string(shape.key_dim) + " and " + std::to_string(shape.value_dim) + ".");
        return;
    }
    const Attention attention{worker, shape, places_in(op.kv, op.layer), op.queries, op.query_stride, op.out};
    device_segments(worker, op.segments);
    std::vector<CudaSegment>& segments = worker.segments;
    struct Items {
        explicit Items(std::int32_t limit) { list.most_splits = limit; }
        DecodeItems list;
        std::int64_t most_splits = 1;
    };
    Items whole(most_splits_of(shape)), choosing(kMostWideSplits);
    const auto flush = [&](Items& items) {
        if (items.list.n > 0) few(attention, items.list, items.most_splits, &items == &choosing || is_wide(shape));
        items.list.n = 0;
        items.most_splits = 1;
    };
    const auto add = [&](Items& items, std::int64_t n_splits) {
        items.most_splits = std::max(items.most_splits, n_splits);
        if (++items.list.n == kItemsPerLaunch) flush(items);
    };
    for (std::size_t s = 0; s < segments.size(); ++s) {
        CudaSegment& segment = segments[s];
        const std::int64_t n_whole = segment.n_tokens - rows_that_choose(op.segments[s], shape.top_k);
        for (std::int64_t token = 0; n_whole <= kFewTokens && token < n_whole; ++token) {
            add(whole,
                set_item(worker, whole.list.items[whole.list.n], segment, token, shape.window, whole.list.most_splits));
        }
        for (std::int64_t token = n_whole; token < segment.n_tokens; ++token) {
            add(choosing, set_chosen_item(choosing.list.items[choosing.list.n], segment, token, op.chosen, shape,
                                          choosing.list.most_splits));
        }
        // The next token's launches are others.
        if (worker.kept != nullptr && segment.past + segment.n_tokens == shape.top_k) {
            worker.kept->set_last_of_its_kind();
        }
        segment.n_tokens = n_whole;  // of attend_many()
    }
    flush(whole);
    flush(choosing);
    attend_many(attention, segments.data(), segments.size(), {});
    const LayerPlace place = layer_place(op.kv, op.layer);
    for (const CudaSegment& segment : segments) {
        if (!has_staged_keys(segment)) continue;
        for_staged_keys(attention, segment, place, [&](const CudaSegment& staged, const KeyRange& range) {
            attend_many(attention, &staged, 1, range);
        });
    }
}

}  // namespace offstage::kernels::ops
