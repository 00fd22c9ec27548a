// Attention whose keys and values differ in size, are the same floats (latent
// attention), or were chosen: for any sizes, float32, online softmax. A block takes one
// query row and several of its heads, so that a key is read once for all of these.
#include <cmath>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/staged_keys.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kTileKeys = kWarp;  // scored before their values are added: a lane for each in the softmax
constexpr int kMostHeads = 8;     // of a block: a warp for each in the softmax
constexpr int kValuesPerThread = static_cast<int>(kMostValueDim) / kThreads;
static_assert(kMostHeads <= kWarps && kMostValueDim % kThreads == 0, "see attend_keys");

// A head's softmax so far.
struct Softmax {
    float largest;
    float sum;     // of e^(score - largest)
    float shrink;  // factor for the sums before the last tile
};

template <int kHeads>
std::size_t shared_bytes(const AttentionShape& shape) {
    return static_cast<std::size_t>(kHeads) *
           (static_cast<std::size_t>(shape.key_dim + kTileKeys) * sizeof(float) + sizeof(Softmax));
}

// The sums over the warp of every products[h]; each lane gets that of head lane / (kWarp
// / kHeads). Each step halves the heads that a lane still has, so it takes far fewer
// exchanges than a warp_sum() for each.
template <int kHeads>
__device__ inline float sum_of_my_head(float (&products)[kHeads], int lane) {
    int distance = kWarp / 2;
#pragma unroll
    for (int n = kHeads / 2; n > 0; n /= 2) {
        const bool upper = (lane & distance) != 0;
#pragma unroll
        for (int h = 0; h < n; ++h) {
            const float kept = upper ? products[n + h] : products[h];
            const float given = upper ? products[h] : products[n + h];
            products[h] = kept + __shfl_xor_sync(kAllLanes, given, distance);
        }
        distance /= 2;
    }
    float sum = products[0];
    for (; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
    return sum;
}

// result[h][j]: for head h and value thread + j * kThreads, the sum over keys [begin,
// end), at least one, of e^(score - largest) * value, up to the end of the range; chosen:
// their numbers in the sequence (nullptr: the same). state
// and so_far: the state that it resumes, for the first of the heads. The block's shared
// memory then begins with the heads' Softmax.
template <int kHeads>
__device__ void attend_keys(const AttentionShape& shape, const KvPlaces& places, const QueryHeads& heads,
                            std::byte* const* blocks, const std::int32_t* chosen, const float* query_row,
                            std::int64_t begin, std::int64_t end, const KeyRange& range, const float2* state,
                            const float* so_far, float (&result)[kHeads][kValuesPerThread]) {
    auto* softmax = shared_memory<Softmax>();                     // (kHeads)
    float* queries = reinterpret_cast<float*>(softmax + kHeads);  // (kHeads, key_dim)
    float* scores = queries + kHeads * shape.key_dim;             // (kHeads, kTileKeys)
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % kWarp;
    const int warp = thread / kWarp;
    const int key_dim = static_cast<int>(shape.key_dim);
    const int value_dim = static_cast<int>(shape.value_dim);

    for (int i = thread; i < kHeads * key_dim; i += kThreads) {
        const int h = i / key_dim < heads.n ? i / key_dim : 0;  // beyond the last: again the first, dropped later
        queries[i] = query_row[(heads.first + h) * key_dim + i % key_dim] * shape.scale;
    }
    if (thread < kHeads) {
        const bool resumes = range.resumes && thread < heads.n;
        softmax[thread] = {resumes ? state[thread].x : -INFINITY, resumes ? state[thread].y : 0.0f, 0.0f};
    }
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
#pragma unroll
        for (int j = 0; j < kValuesPerThread; ++j) {
            const int i = thread + j * kThreads;
            result[h][j] = range.resumes && h < heads.n && i < value_dim ? so_far[h * value_dim + i] : 0.0f;
        }
    }
    __syncthreads();

    for (std::int64_t first = range.first_tile(begin, kTileKeys); first < end && first < range.end;
         first += kTileKeys) {
        const int n = static_cast<int>(end - first < kTileKeys ? end - first : kTileKeys);
        for (int k = warp; k < n; k += kWarps) {
            const std::int64_t number = chosen == nullptr ? first + k : chosen[first + k];
            const std::byte* key = key_row(places, blocks, number, heads.kv_head);
            float products[kHeads] = {};
            for (int i = lane; i < key_dim; i += kWarp) {
                const float value = cached_value(places.type, key, key_dim, i);
#pragma unroll
                for (int h = 0; h < kHeads; ++h) products[h] = fmaf(queries[h * key_dim + i], value, products[h]);
            }
            constexpr int kLanesPerHead = kWarp / kHeads;
            const float score = sum_of_my_head<kHeads>(products, lane);
            if (lane % kLanesPerHead == 0) scores[lane / kLanesPerHead * kTileKeys + k] = score;
        }
        __syncthreads();

        if (warp < kHeads) {
            Softmax& mine = softmax[warp];
            float& place = scores[warp * kTileKeys + lane];
            const float score = lane < n ? place : -INFINITY;
            const float largest = fmaxf(mine.largest, warp_max(score));
            const float probability = lane < n ? expf(score - largest) : 0.0f;
            const float tile_sum = warp_sum(probability);
            place = probability;
            if (lane == 0) {
                mine.shrink = expf(mine.largest - largest);
                mine.sum = mine.sum * mine.shrink + tile_sum;
                mine.largest = largest;
            }
        }
        __syncthreads();

#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
#pragma unroll
            for (int j = 0; j < kValuesPerThread; ++j) result[h][j] *= softmax[h].shrink;
        }
        for (int k = 0; k < n; ++k) {
            const std::int64_t number = chosen == nullptr ? first + k : chosen[first + k];
            const std::byte* values = value_row(places, blocks, number, heads.kv_head);
#pragma unroll
            for (int j = 0; j < kValuesPerThread; ++j) {
                const int i = thread + j * kThreads;
                const float value = i < value_dim ? cached_value(places.type, values, places.value_dim, i) : 0.0f;
#pragma unroll
                for (int h = 0; h < kHeads; ++h) {
                    result[h][j] = fmaf(scores[h * kTileKeys + k], value, result[h][j]);
                }
            }
        }
        __syncthreads();  // before the next scores
    }
}

// grid: (splits, pieces of heads, items).
template <int kHeads>
__global__ void __launch_bounds__(kThreads)
    attend_split(DecodeItems list, AttentionShape shape, KvPlaces places, std::int64_t most_splits,
                 const float* queries, std::int64_t query_stride, float* partials, float* out) {
    const DecodeItem item = item_of(list, blockIdx.z, shape);
    const std::int64_t my_split = blockIdx.x;
    if (my_split >= item.n_splits) return;  // the whole block
    const QueryHeads heads = QueryHeads::of<kHeads>(shape, blockIdx.y);
    const std::int64_t begin = item.first_key + my_split * item.split_keys;
    const std::int64_t end = begin + item.split_keys < item.n_keys ? begin + item.split_keys : item.n_keys;
    const std::int32_t* chosen = item.chosen;
    if (chosen != nullptr && shape.n_choices > 1) chosen += heads.kv_head * shape.top_k;
    float result[kHeads][kValuesPerThread];
    attend_keys<kHeads>(shape, places, heads, item.blocks, chosen, queries + item.row * query_stride, begin, end,
                        KeyRange(), nullptr, nullptr, result);

    const auto* softmax = shared_memory<Softmax>();
    for (int h = 0; h < kHeads && h < heads.n; ++h) {
        const std::int64_t head = heads.first + h;
        float* partial = partial_of(partials, blockIdx.z, shape.n_heads, head, most_splits, my_split, shape.value_dim);
        float* row = out + (item.row * shape.n_heads + head) * shape.value_dim;
#pragma unroll
        for (int j = 0; j < kValuesPerThread; ++j) {
            const std::int64_t i = threadIdx.x + j * kThreads;
            if (i >= shape.value_dim) break;
            if (item.n_splits == 1) {
                row[i] = result[h][j] / (softmax[h].sum + sink_share(shape, head, softmax[h].largest));
            } else {
                partial[2 + i] = result[h][j];
            }
        }
        if (item.n_splits > 1 && threadIdx.x == 0) {
            partial[0] = softmax[h].largest;
            partial[1] = softmax[h].sum;
        }
    }
}

// grid: (tokens, pieces of heads).
template <int kHeads>
__global__ void __launch_bounds__(kThreads)
    attend_rows(SegmentList list, AttentionShape shape, KvPlaces places, KeyRange range, const float* queries,
                std::int64_t query_stride, float* out) {
    const std::int64_t unit = blockIdx.x;
    const int index = segment_of(list, unit);
    const CudaSegment& segment = list.segments[index];
    const std::int64_t token = segment.n_tokens - 1 - (unit - list.first_unit[index]);  // the longest first
    const std::int64_t row = segment.first_row + token;
    const std::int64_t end = past_of(segment) + token + 1;
    const std::int64_t begin = shape.window > 0 && end > shape.window ? end - shape.window : 0;
    const QueryHeads heads = QueryHeads::of<kHeads>(shape, blockIdx.y);
    float2* const state = range.state == nullptr ? nullptr : range.state + token * shape.n_heads + heads.first;
    float result[kHeads][kValuesPerThread];
    attend_keys<kHeads>(shape, places, heads, segment.blocks, nullptr, queries + row * query_stride, begin, end, range,
                        state, out + (row * shape.n_heads + heads.first) * shape.value_dim, result);

    const auto* softmax = shared_memory<Softmax>();
    for (int h = 0; h < kHeads && h < heads.n; ++h) {
        const std::int64_t head = heads.first + h;
        // A part is kept as it is.
        const float divisor = range.is_last ? softmax[h].sum + sink_share(shape, head, softmax[h].largest) : 1.0f;
        if (!range.is_last && threadIdx.x == 0) {
            state[h].x = softmax[h].largest;
            state[h].y = softmax[h].sum;
        }
        float* to = out + (row * shape.n_heads + head) * shape.value_dim;
#pragma unroll
        for (int j = 0; j < kValuesPerThread; ++j) {
            const std::int64_t i = threadIdx.x + j * kThreads;
            if (i < shape.value_dim) to[i] = result[h][j] / divisor;
        }
    }
}

unsigned pieces_of_heads(const Attention& attention, int heads) {
    return static_cast<unsigned>(attention.shape.n_kv_heads) * blocks_for(attention.heads_per_kv(), heads);
}

// Calls body with std::integral_constant of the heads that a block takes.
template <typename Body>
void with_heads(const Attention& attention, const Body& body) {
    if (attention.heads_per_kv() == 1) {
        body(std::integral_constant<int, 1>());
    } else if (attention.heads_per_kv() <= 4) {
        body(std::integral_constant<int, 4>());
    } else {
        body(std::integral_constant<int, kMostHeads>());
    }
}

}  // namespace

void attend_few_wide(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, float* partials) {
    with_heads(attention, [&](auto heads) {
        constexpr int kHeads = decltype(heads)::value;
        const dim3 grid(static_cast<unsigned>(most_splits), pieces_of_heads(attention, kHeads),
                        static_cast<unsigned>(list.n));
        attention.worker.start(attend_split<kHeads>, grid, kThreads, shared_bytes<kHeads>(attention.shape), list,
                               attention.shape, attention.places, most_splits, attention.queries,
                               attention.query_stride, partials, attention.out);
    });
}

void attend_many_wide(const Attention& attention, const CudaSegment* segments, std::size_t n_segments,
                      const KeyRange& range) {
    for_segment_lists(
        segments, n_segments,
        [&](const CudaSegment& segment) {
            return segment.n_tokens <= kFewTokens || has_staged_keys(segment) ? 0 : segment.n_tokens;
        },
        [&](const SegmentList& list) {
            with_heads(attention, [&](auto heads) {
                constexpr int kHeads = decltype(heads)::value;
                const dim3 grid(static_cast<unsigned>(list.first_unit[list.n]), pieces_of_heads(attention, kHeads));
                attention.worker.start(attend_rows<kHeads>, grid, kThreads, shared_bytes<kHeads>(attention.shape), list,
                                       attention.shape, attention.places, range, attention.queries,
                                       attention.query_stride, attention.out);
            });
        });
}

}  // namespace offstage::kernels::cuda
