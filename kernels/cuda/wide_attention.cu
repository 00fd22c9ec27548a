// Attention whose keys and values differ in size, are the same floats (latent
// attention), or were chosen: for any sizes, float32, online softmax. A block takes one
// query row and several of its heads, so that a key is read once for all of these. Pooled
// keys beside a window (ops::AttendPooled) as well.
#include <cmath>
#include <string>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/staged_keys.cuh"
#include "kernels/ops/attend_pooled.h"

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

// The rows of a sequence's keys and values.
struct SequenceKeys {
    const KvPlaces& places;
    std::byte* const* blocks;
    const std::int32_t* chosen;  // their numbers in the sequence; nullptr: the same
    std::int64_t kv_head;

    __device__ std::int64_t number(std::int64_t k) const { return chosen == nullptr ? k : chosen[k]; }
    __device__ const std::byte* key(std::int64_t k) const { return key_row(places, blocks, number(k), kv_head); }
    __device__ const std::byte* value(std::int64_t k) const { return value_row(places, blocks, number(k), kv_head); }
};

// Pooled ones first, then those of a window.
struct PooledAndNearKeys {
    SequenceKeys near;
    SequenceKeys pooled;
    std::int64_t n_pooled;
    std::int64_t first_near;

    __device__ const std::byte* key(std::int64_t k) const {
        return k < n_pooled ? pooled_row(pooled.places, pooled.blocks, pooled.number(k))
                            : near.key(first_near + k - n_pooled);
    }
    __device__ const std::byte* value(std::int64_t k) const { return key(k); }
};

// result[h][j]: for head h and value thread + j * kThreads, the sum over keys [begin,
// end), at least one, of e^(score - largest) * value, up to the end of the range. state
// and so_far: the state that it resumes, for the first of the heads. The block's shared
// memory then begins with the heads' Softmax.
template <int kHeads, typename Keys>
__device__ void attend_keys(const AttentionShape& shape, const KvPlaces& places, const QueryHeads& heads,
                            const Keys& keys, const float* query_row, std::int64_t begin, std::int64_t end,
                            const KeyRange& range, const float2* state, const float* so_far,
                            float (&result)[kHeads][kValuesPerThread]) {
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
            const std::byte* key = keys.key(first + k);
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
            const std::byte* values = keys.value(first + k);
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
    attend_keys<kHeads>(shape, places, heads, SequenceKeys{places, item.blocks, chosen, heads.kv_head},
                        queries + item.row * query_stride, begin, end, KeyRange(), nullptr, nullptr, result);

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
    attend_keys<kHeads>(shape, places, heads, SequenceKeys{places, segment.blocks, nullptr, heads.kv_head},
                        queries + row * query_stride, begin, end, range, state,
                        out + (row * shape.n_heads + heads.first) * shape.value_dim, result);

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

struct PooledAttention {
    CudaSegment segment;
    std::byte* const* pooled_blocks;
    AttentionShape shape;
    KvPlaces places;
    KvPlaces pooled;
    const float* queries;
    const std::int32_t* chosen;
    float* out;
};

// grid: (rows, pieces of heads).
__global__ void __launch_bounds__(kThreads) attend_pooled(PooledAttention job) {
    constexpr int kHeads = kMostHeads;
    const AttentionShape& shape = job.shape;
    const std::int64_t token = job.segment.n_tokens - 1 - blockIdx.x;  // the longest first
    const std::int64_t row = job.segment.first_row + token;
    const std::int64_t n_tokens = past_of(job.segment) + token + 1;
    const QueryHeads heads = QueryHeads::of<kHeads>(shape, blockIdx.y);
    const std::int64_t n_near = n_tokens < shape.window ? n_tokens : shape.window;
    std::int64_t n_pooled = n_tokens / job.pooled.key_tokens;
    const bool chooses = shape.top_k > 0 && n_pooled > shape.top_k;
    if (chooses) n_pooled = shape.top_k;
    const PooledAndNearKeys keys{{job.places, job.segment.blocks, nullptr, 0},
                                 {job.pooled, job.pooled_blocks, chooses ? job.chosen + row * shape.top_k : nullptr, 0},
                                 n_pooled,
                                 n_tokens - n_near};
    float result[kHeads][kValuesPerThread];
    attend_keys<kHeads>(shape, job.places, heads, keys, job.queries + row * shape.n_heads * shape.key_dim, 0,
                        n_pooled + n_near, KeyRange(), nullptr, nullptr, result);
    const auto* softmax = shared_memory<Softmax>();
    for (int h = 0; h < kHeads && h < heads.n; ++h) {
        const std::int64_t head = heads.first + h;
        const float divisor = softmax[h].sum + sink_share(shape, head, softmax[h].largest);
        float* to = job.out + (row * shape.n_heads + head) * shape.value_dim;
#pragma unroll
        for (int j = 0; j < kValuesPerThread; ++j) {
            const std::int64_t i = threadIdx.x + j * kThreads;
            if (i < shape.value_dim) to[i] = result[h][j] / divisor;
        }
    }
}

unsigned pieces_of_heads(const AttentionShape& shape, int heads) {
    return static_cast<unsigned>(shape.n_kv_heads) * blocks_for(shape.n_heads / shape.n_kv_heads, heads);
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
        const dim3 grid(static_cast<unsigned>(most_splits), pieces_of_heads(attention.shape, kHeads),
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
                const dim3 grid(static_cast<unsigned>(list.first_unit[list.n]),
                                pieces_of_heads(attention.shape, kHeads));
                attention.worker.start(attend_rows<kHeads>, grid, kThreads, shared_bytes<kHeads>(attention.shape), list,
                                       attention.shape, attention.places, range, attention.queries,
                                       attention.query_stride, attention.out);
            });
        });
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const AttendPooled& op) {
    const AttentionShape& shape = op.shape;
    if (shape.key_dim > kMostValueDim || shape.value_dim != shape.key_dim) {
        worker.failure.set("The kernel for pooled keys serves keys of up to 512 numbers; this model has " +
                           std::to_string(shape.key_dim) + ".");
        return;
    }
    const std::vector<CudaSegment>& segments = device_segments(worker, op.segments);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const PooledAttention job{segment_for_kernel(segments[s]),
                                  op.pooled_segments[s].device_blocks,
                                  shape,
                                  places_in(op.kv, op.layer),
                                  places_in(op.pooled, op.pooled_layer),
                                  op.queries,
                                  op.chosen,
                                  op.out};
        const dim3 grid(blocks_for(segments[s].n_tokens, 1), pieces_of_heads(shape, kMostHeads));
        worker.start(attend_pooled, grid, kThreads, shared_bytes<kMostHeads>(shape), job);
        // The next token's indexer chooses.
        const std::int64_t end = segments[s].past + segments[s].n_tokens;
        if (worker.kept != nullptr && !op.chooses(end) && op.chooses(end + 1)) worker.kept->set_last_of_its_kind();
    }
}

}  // namespace offstage::kernels::ops
