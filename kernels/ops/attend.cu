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
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/staged_keys.cuh"
#include "kernels/ops/attend.h"

namespace offstage::kernels::cuda {
namespace {

constexpr std::int64_t kMostHeadDim = 256;

// ---------------------------------------------------------------- decode

constexpr int kDecodeThreads = 128;
constexpr int kDecodeWarps = kDecodeThreads / kWarp;
constexpr std::int32_t kMostSplits = 64;

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

// grid: (splits, kv heads * groups of kHeads query heads, items). A lane holds kDims
// dimensions; a warp takes kAhead keys at a time, every fourth such piece.
template <int kDims, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads)
    attend_few(DecodeItems list, AttentionShape shape, KvPlaces places, std::int64_t most_splits, const float* queries,
               std::int64_t query_stride, float* partials, float* out) {
    constexpr int kAhead = kDims * kHeads >= 32 ? 2 : 4;
    const DecodeItem item = item_of(list, blockIdx.z, shape);
    const std::int64_t my_split = blockIdx.x;
    if (my_split >= item.n_splits) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const std::int64_t d = shape.key_dim;
    const float scale = shape.scale;
    const std::int64_t group = shape.n_heads / shape.n_kv_heads;
    const std::int64_t pieces = (group + kHeads - 1) / kHeads;
    const std::int64_t kv_head = blockIdx.y / pieces;
    const std::int64_t first_in_group = blockIdx.y % pieces * kHeads;
    const std::int64_t first_head = kv_head * group + first_in_group;
    const int n_here = static_cast<int>(group - first_in_group < kHeads ? group - first_in_group : kHeads);
    const int my_dims = lane * kDims;

    float q[kHeads][kDims];
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
        const std::int64_t head =
            first_head + (h < n_here ? h : 0);  // beyond the group: again the first, dropped later
        const float* row = queries + item.row * query_stride + head * d;
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

    const std::int64_t begin = item.first_key + my_split * item.split_keys;
    const std::int64_t end = begin + item.split_keys < item.n_keys ? begin + item.split_keys : item.n_keys;
    for (std::int64_t first = begin + warp * kAhead; first < end; first += kDecodeWarps * kAhead) {
        float k[kAhead][kDims];
        float v[kAhead][kDims];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const std::int64_t key = first + a < end ? first + a : end - 1;
            load_dims<kDims>(places.type, key_row(places, item.blocks, key, kv_head), my_dims, d, k[a]);
            load_dims<kDims>(places.type, value_row(places, item.blocks, key, kv_head), my_dims, d, v[a]);
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

    // Combines the warps in their order. A warp without keys has weight 0.
    constexpr int kRow = kWarp * kDims;
    float* all_largest = shared_memory<float>();            // (kHeads, kDecodeWarps)
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
    for (int h = 0; h < n_here; ++h) {
        float block_largest = all_largest[h * kDecodeWarps];
        for (int w = 1; w < kDecodeWarps; ++w) {
            block_largest = fmaxf(block_largest, all_largest[h * kDecodeWarps + w]);
        }
        float block_sum = 0.0f;
        for (int w = 0; w < kDecodeWarps; ++w) {
            block_sum += all_sums[h * kDecodeWarps + w] * expf(all_largest[h * kDecodeWarps + w] - block_largest);
        }
        const std::int64_t head = first_head + h;
        const float divisor = block_sum + sink_share(shape, head, block_largest);
        float* partial = item.n_splits == 1
                             ? nullptr
                             : partial_of(partials, blockIdx.z, shape.n_heads, head, most_splits, my_split, d);
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
}

// grid: (heads, items). Combines the splits in the order of their numbers: a warp weighs
// them, 32 at a time, then each thread adds up its values.
__global__ void __launch_bounds__(kDecodeThreads)
    join_splits(DecodeItems list, AttentionShape shape, std::int64_t most_splits, float* partials, float* out) {
    float* const weights = shared_memory<float>();  // (most_splits), then their sum
    const DecodeItem item = item_of(list, blockIdx.y, shape);
    if (item.n_splits == 1) return;  // is there already
    const std::int64_t head = blockIdx.x;
    const std::int64_t n_heads = gridDim.x;
    const std::int64_t value_dim = shape.value_dim;
    const std::int64_t step = value_dim + 2;
    const float* first = partial_of(partials, blockIdx.y, n_heads, head, most_splits, 0, value_dim);
    if (threadIdx.x < kWarp) {
        const int lane = static_cast<int>(threadIdx.x);
        float largest = first[0];
        for (int s = lane; s < item.n_splits; s += kWarp) largest = fmaxf(largest, first[s * step]);
        largest = warp_max(largest);
        float sum = 0.0f;
        for (int s = lane; s < item.n_splits; s += kWarp) {
            weights[s] = expf(first[s * step] - largest);
            sum = fmaf(first[s * step + 1], weights[s], sum);
        }
        sum = warp_sum(sum);
        if (lane == 0) weights[most_splits] = sum + sink_share(shape, head, largest);
    }
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < value_dim; i += kDecodeThreads) {
        float value = 0.0f;
#pragma unroll 8
        for (int s = 0; s < item.n_splits; ++s) value = fmaf(first[s * step + 2 + i], weights[s], value);
        out[(item.row * n_heads + head) * value_dim + i] = value / weights[most_splits];
    }
}

template <int kDims, int kHeads>
void start_few(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, float* partials) {
    const AttentionShape& shape = attention.shape;
    const dim3 grid(static_cast<unsigned>(most_splits),
                    static_cast<unsigned>(shape.n_kv_heads * blocks_for(attention.heads_per_kv(), kHeads)),
                    static_cast<unsigned>(list.n));
    constexpr std::size_t kFloats = std::size_t{kHeads} * kDecodeWarps * (2 + kWarp * kDims);
    attention.worker.start(attend_few<kDims, kHeads>, grid, kDecodeThreads, kFloats * sizeof(float), list, shape,
                           attention.places, most_splits, attention.queries, attention.query_stride, partials,
                           attention.out);
}

template <int kDims>
void start_few(const Attention& attention, const DecodeItems& list, std::int64_t most_splits, float* partials) {
    if (attention.heads_per_kv() == 1) {
        start_few<kDims, 1>(attention, list, most_splits, partials);
    } else if (attention.heads_per_kv() == 2) {
        start_few<kDims, 2>(attention, list, most_splits, partials);
    } else {
        start_few<kDims, 4>(attention, list, most_splits, partials);
    }
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

// The grid size for items whose keys are counted on the device: a power of two of at
// least n_splits.
std::int64_t bucket_of(std::int32_t n_splits) {
    std::int64_t bucket = 1;
    while (bucket < n_splits) bucket *= 2;
    return bucket;
}

std::size_t partial_bytes(std::int64_t n_heads, std::int64_t value_dim, std::int64_t splits) {
    return static_cast<std::size_t>(n_heads * splits * (value_dim + 2)) * sizeof(float);
}

// most_splits: at least as many as any item of the list has.
void few(const Attention& attention, const DecodeItems& list, std::int64_t most_splits) {
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
    if (is_wide(shape)) {
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
__global__ void __launch_bounds__(kTileThreads)
    attend_tiles(SegmentList list, AttentionShape shape, KvPlaces places, KeyRange range, const float* queries_of_rows,
                 std::int64_t query_stride, float* out) {
    constexpr int kPer = 4;  // rows of a thread
    constexpr int kRowGroups = kRows / kPer;
    constexpr int kParts = kTileThreads / kRowGroups;  // threads that share 4 rows
    constexpr int kKeysPer = kTileKeys / kParts < 1 ? 1 : kTileKeys / kParts;
    constexpr int kScoreStride = kTileKeys + 1;
    constexpr int kPerRow = kTileThreads / kRows;  // threads that share a row's softmax
    const int d = static_cast<int>(shape.key_dim);
    const int stride = d + kPer;                     // keeps float4 alignment, spreads the banks
    float* queries = shared_memory<float>();         // (kRows, stride)
    float* keys = queries + kRows * stride;          // (kTileKeys, stride): keys, then values
    float* scores = keys + kTileKeys * stride;       // (kRows, kScoreStride)
    float* shrinks = scores + kRows * kScoreStride;  // (kRows)
    float* sums = shrinks + kRows;                   // (kRows)

    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t unit = blockIdx.x;
    const int index = segment_of(list, unit);
    const CudaSegment& segment = list.segments[index];
    const std::int64_t n_tiles = list.first_unit[index + 1] - list.first_unit[index];
    const std::int64_t tile = n_tiles - 1 - (unit - list.first_unit[index]);  // the longest first
    const std::int64_t kv_head = blockIdx.y;
    const std::int64_t group = shape.n_heads / shape.n_kv_heads;
    const std::int64_t first_pair = tile * kRows;
    const std::int64_t n_pairs = segment.n_tokens * group;

    for (int i = thread; i < kRows * d; i += kTileThreads) {
        const std::int64_t pair = first_pair + i / d;
        float value = 0.0f;
        if (pair < n_pairs) {
            const std::int64_t row = segment.first_row + pair / group;
            value = queries_of_rows[row * query_stride + (kv_head * group + pair % group) * d + i % d] * shape.scale;
        }
        queries[i / d * stride + i % d] = value;
    }

    const std::int64_t last_pair = (first_pair + kRows < n_pairs ? first_pair + kRows : n_pairs) - 1;
    const std::int64_t past = past_of(segment);
    const std::int64_t first_position = past + first_pair / group;
    const std::int64_t last_position = past + last_pair / group;
    std::int64_t begin = 0;
    if (shape.window > 0 && first_position + 1 > shape.window) {
        begin = first_position + 1 - shape.window;
    }

    const int row_group = thread / kParts;
    const int part = thread % kParts;
    const int softmax_row = thread / kPerRow;
    float largest = -INFINITY;
    float sum = 0.0f;
    float result[kPer][kFours][4] = {};
    // Calls body(value, place in out) for each value of the thread.
    const auto for_each_value = [&](const auto& body) {
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
    };
    const std::int64_t softmax_pair = first_pair + softmax_row;
    const std::int64_t state_place = softmax_pair / group * shape.n_heads + kv_head * group + softmax_pair % group;
    if (range.resumes) {
        if (softmax_pair < n_pairs) {
            largest = range.state[state_place].x;
            sum = range.state[state_place].y;
        }
        for_each_value([](float& value, const float& place, int) { value = place; });
    }

    for (std::int64_t first_key = range.first_tile(begin, kTileKeys);
         first_key <= last_position && first_key < range.end; first_key += kTileKeys) {
        const auto load = [&](bool are_keys) {
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
        };
        load(true);
        __syncthreads();

        // Scores (with 8 rows there are more threads than keys). A thread's keys are
        // kParts apart, so that neighbours read different banks.
        if (part < kTileKeys) {
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
                    scores[(row_group * kPer + r) * kScoreStride + part + c * kParts] =
                        seen ? products[r][c] : -INFINITY;
                }
            }
        }
        __syncthreads();

        // Softmax so far; and the values in the keys' place.
        load(false);
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
        __syncthreads();

        // result = result * shrink + probabilities * values.
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
        __syncthreads();  // before the next keys and scores
    }

    if (!range.is_last) {
        if (thread % kPerRow == 0 && softmax_pair < n_pairs) {
            range.state[state_place].x = largest;
            range.state[state_place].y = sum;
        }
        for_each_value([](const float& value, float& place, int) { place = value; });
        return;
    }
    if (thread % kPerRow == 0) {
        const std::int64_t head = kv_head * group + softmax_pair % group;
        sums[softmax_row] = sum + sink_share(shape, head, largest);
    }
    __syncthreads();
    for_each_value([&](const float& value, float& place, int r) { place = value / sums[row_group * kPer + r]; });
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
    const std::uint64_t largest =
        std::max(bytes(shape.value_dim, most_splits_of(shape)), staged_keys_scratch_bytes(step));
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
    const std::vector<CudaSegment>& segments = device_segments(worker, op.segments);
    const std::int32_t limit = most_splits_of(shape);
    DecodeItems list;
    list.most_splits = limit;
    std::int64_t most_splits = 1;
    const auto flush = [&] {
        if (list.n > 0) few(attention, list, most_splits);
        list.n = 0;
        most_splits = 1;
    };
    for (const CudaSegment& segment : segments) {
        if (segment.n_tokens > kFewTokens) continue;
        const bool counted_there = segment.device_past != nullptr && segment.n_tokens == 1;
        for (std::int64_t token = 0; token < segment.n_tokens; ++token) {
            DecodeItem& item = list.items[list.n++];
            item = {};
            set_keys(item, static_cast<std::int32_t>(segment.past + token + 1), shape.window, limit);
            most_splits = std::max(most_splits, counted_there ? bucket_of(item.n_splits) : item.n_splits);
            if (counted_there) {
                item = {};
                item.device_past = segment.device_past;
            }
            item.blocks = segment.blocks;
            item.row = segment.first_row + token;
            if (list.n == kItemsPerLaunch) flush();
        }
    }
    flush();
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
