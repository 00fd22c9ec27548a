// Attention of many tokens on tensor cores, after FlashAttention-2 (arXiv:2307.08691),
// for keys and values in bf16. Scores are sums over the products of keys with queries,
// results sums over those of values with e^(score - largest). The float32 factor of
// either is split into three bf16, whose sum it is, and each of them is multiplied.
//
// Tiles of keys begin at the same keys for every step, window and range, and no number of
// one token is added to one of another: a token's bits do not depend on the other tokens.
#include "kernels/cuda/async_copies.cuh"
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/staged_keys.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = kThreads / kWarp * 16;  // (token, head of the group) pairs: each warp 16
constexpr int kTileKeys = 32;
static_assert(kKvBlockTokens % kTileKeys == 0, "a tile's keys lie in one block");
constexpr int kMostDims = 128;
constexpr int kParts = 3;  // 24 bits, as float32 has; two are not enough for the tests' tolerance
// While one tile of keys and values is multiplied the next two are on their way.
constexpr int kBuffers = 3;
constexpr int kChunk = 8;  // numbers in 16 bytes
constexpr float kLog2E = 1.44269504f;

// kTileKeys rows of kDims numbers, those beyond the head's zero. A row's chunks are
// permuted so that one chunk of eight rows that follow each other is in 32 banks.
template <int kDims>
struct KeyTile {
    static constexpr int kChunks = kDims / kChunk;
    static constexpr int kSize = kTileKeys * kChunks;
    uint4 chunks[kSize];

    // The place of chunk `chunk ^ c` is place(row, chunk) ^ c, also after a whole number
    // of tiles.
    __device__ static int place(int row, int chunk) { return row * kChunks + (chunk ^ (row % 8)); }

    // Loads from one block of the cache, whose first row is at rows; zeros beyond rows
    // [begin, end).
    __device__ void load(AsyncCopies& copies, const std::byte* rows, int stride, int d, int begin, int end) {
        constexpr int kRowsAtOnce = kThreads / kChunks;
        static_assert(kRowsAtOnce % 8 == 0, "a thread's chunks are permuted alike");
        const int chunk = static_cast<int>(threadIdx.x) % kChunks;
        const int first_row = static_cast<int>(threadIdx.x) / kChunks;
        const bool has_chunk = chunk * kChunk < d;
        uint4* const to = chunks + place(first_row, chunk);
        const std::byte* const from =
            rows + first_row * stride + (has_chunk ? chunk : 0) * static_cast<int>(sizeof(uint4));
#pragma unroll
        for (int i = 0; i < kTileKeys; i += kRowsAtOnce) {
            const int row = first_row + i;
            const bool there = has_chunk && row >= begin && row < end;
            copies.copy(to + i * kChunks, from + i * stride, there ? static_cast<int>(sizeof(uint4)) : 0);
        }
    }
};

// (token, head) pairs of a segment, which run through the heads of one head of the cache
// and then through the tokens.
struct Pairs {
    int group;  // heads
    int first_head;
    int n_heads;

    __device__ int token(int pair) const { return pair / group; }
    __device__ int head(int pair) const { return first_head + pair % group; }
    // In (tokens, n_heads).
    __device__ std::int64_t place(int pair) const {
        return static_cast<std::int64_t>(token(pair)) * n_heads + head(pair);
    }
};

// The (token, head) pairs of a block of the grid, and the keys that they see in this
// launch.
struct Work {
    Pairs pairs;
    int n_pairs;  // of the segment
    int past;
    int window;
    int begin;          // the first key that one of them sees
    int last_position;  // the last
    int first_tile;
    int end_tile;
    // Positions of the warp's first and last pair. Pairs beyond the segment's last use
    // its query, and are not stored; a warp with only such pairs has -1, and multiplies
    // nothing.
    int warp_first;
    int warp_last;
    int my_pair;  // the lane's first; its second is 8 further

    __device__ bool has(int h) const { return my_pair + 8 * h < n_pairs; }
    // True if one of the warp's pairs sees one of a tile's keys.
    __device__ bool sees(int first_key) const {
        return first_key <= warp_last && (window == 0 || first_key + kTileKeys > warp_first + 1 - window);
    }
    __device__ bool sees_all(int first_key) const {
        return first_key + kTileKeys - 1 <= warp_first && (window == 0 || first_key > warp_last - window);
    }
};

__device__ inline Work work_of(const CudaSegment& segment, const Pairs& pairs, int first_pair,
                               const AttentionShape& shape, const KeyRange& range) {
    Work work;
    work.pairs = pairs;
    work.n_pairs = static_cast<int>(segment.n_tokens) * pairs.group;
    work.past = static_cast<int>(past_of(segment));
    work.window = static_cast<int>(shape.window);

    const int first_position = work.past + pairs.token(first_pair);
    const int end_pair = first_pair + kRows < work.n_pairs ? first_pair + kRows : work.n_pairs;
    work.last_position = work.past + pairs.token(end_pair - 1);
    work.begin = work.window > 0 && first_position + 1 > work.window ? first_position + 1 - work.window : 0;
    work.first_tile = static_cast<int>(range.first_tile(work.begin / kTileKeys * kTileKeys, kTileKeys) / kTileKeys);
    const int n_tiles_seen = work.last_position / kTileKeys + 1;
    work.end_tile = n_tiles_seen < range.end / kTileKeys ? n_tiles_seen : static_cast<int>(range.end / kTileKeys);

    const int warp_pair = first_pair + static_cast<int>(threadIdx.x) / kWarp * 16;
    work.warp_first = work.past + pairs.token(warp_pair);
    work.warp_last = warp_pair < work.n_pairs ? work.past + pairs.token(warp_pair + 15) : -1;
    work.my_pair = warp_pair + static_cast<int>(threadIdx.x) % kWarp / 4;
    return work;
}

// Copies the block's tiles of keys and values into its buffers.
template <int kDims>
struct TileCopies {
    using Tile = KeyTile<kDims>;
    static constexpr int kTilesPerBlock = kKvBlockTokens / kTileKeys;
    const Work& work;
    const KvPlaces& places;
    std::byte* const* blocks;
    int d;
    Tile* tiles;                       // (kBuffers, 2): keys, values
    const std::byte* block = nullptr;  // of the cache, with the tile that is copied next
    AsyncCopies copies = {};

    __device__ void find_block(int tile) {
        if (tile < work.end_tile) block = blocks[tile / kTilesPerBlock];
    }
    __device__ void load(int tile, int buffer) {
        if (tile < work.end_tile) {
            const int first = work.begin - tile * kTileKeys;
            const int end = work.last_position + 1 - tile * kTileKeys;
            const auto key_stride = static_cast<int>(places.key_stride);
            const auto value_stride = static_cast<int>(places.value_stride);
            const int row = tile % kTilesPerBlock * kTileKeys;
            tiles[2 * buffer].load(copies, block + places.keys + blockIdx.y * places.key_head + row * key_stride,
                                   key_stride, d, first, end);
            tiles[2 * buffer + 1].load(copies,
                                       block + places.values + blockIdx.y * places.value_head + row * value_stride,
                                       value_stride, d, first, end);
        }
        copies.commit();
    }
};

// A lane's part of the queries, as multiply_bf16() takes them.
template <int kSteps>
__device__ inline void load_queries(const Work& work, const float* queries_of_rows, std::int64_t first_row,
                                    std::int64_t query_stride, int d, float scale,
                                    unsigned (&queries)[kSteps][kParts][4]) {
    const int place = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int pair = work.has(h) ? work.my_pair + 8 * h : work.n_pairs - 1;
        const float* const row =
            queries_of_rows + (first_row + work.pairs.token(pair)) * query_stride + work.pairs.head(pair) * d;
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
#pragma unroll
            for (int s = 0; s < 2; ++s) {
                float2 q = {0.0f, 0.0f};
                if (16 * step < d) q = *reinterpret_cast<const float2*>(row + 16 * step + 8 * s + 2 * place);
                unsigned parts[kParts];
                split_bf16(q.x * scale, q.y * scale, parts);
#pragma unroll
                for (int p = 0; p < kParts; ++p) queries[step][p][2 * s + h] = parts[p];
            }
        }
    }
}

// scores += queries * keys of the tile in a buffer.
template <int kDims>
__device__ inline void score_keys(const KeyTile<kDims>* tiles, int buffer,
                                  const unsigned (&queries)[kDims / 16][kParts][4], float (&scores)[kTileKeys / 8][4]) {
    using Tile = KeyTile<kDims>;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int my_keys = 2 * buffer * Tile::kSize + Tile::place(lane / 16 * 8 + lane % 8, lane / 8 % 2);
#pragma unroll
    for (int s = 0; s < kDims / 16; ++s) {
        const uint4* const keys = tiles->chunks + (my_keys ^ 2 * s);
#pragma unroll
        for (int n = 0; n < kTileKeys / 8; n += 4) {
            unsigned k[4][2];
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                unsigned words[4];
                load_matrices<false>(words, keys + (n + i) * 8 * Tile::kChunks);
                k[i][0] = words[0], k[i][1] = words[1];
                k[i + 1][0] = words[2], k[i + 1][1] = words[3];
            }
#pragma unroll
            for (int p = kParts - 1; p >= 0; --p) {
#pragma unroll
                for (int i = 0; i < 4; ++i) multiply_bf16(scores[n + i], queries[s][p], k[i]);
            }
        }
    }
}

// Sets the scores of keys that a pair does not see.
__device__ inline void hide_unseen(const Work& work, int first_key, float (&scores)[kTileKeys / 8][4]) {
    const int place = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int last = work.past + work.pairs.token(work.my_pair + 8 * h) - first_key;
        const int before = work.window == 0 ? -1 : last - work.window;
#pragma unroll
        for (int n = 0; n < kTileKeys / 8; ++n) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int key = 8 * n + 2 * place + i;
                if (key > last || key <= before) scores[n][2 * h + i] = -INFINITY;
            }
        }
    }
}

// A lane's sums over the keys so far, of its two pairs; a pair is four lanes'.
template <int kDims>
struct Sums {
    float largest[2] = {-INFINITY, -INFINITY};
    float sum[2] = {0.0f, 0.0f};
    float result[kDims / 8][4] = {};

    // Turns scores into e^(score - largest), and lets the sums follow.
    __device__ void add_scores(float (&scores)[kTileKeys / 8][4]) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float new_largest = largest[h];
#pragma unroll
            for (int n = 0; n < kTileKeys / 8; ++n) {
                new_largest = fmaxf(new_largest, fmaxf(scores[n][2 * h], scores[n][2 * h + 1]));
            }
            new_largest = fmaxf(new_largest, __shfl_xor_sync(kAllLanes, new_largest, 1));
            new_largest = fmaxf(new_largest, __shfl_xor_sync(kAllLanes, new_largest, 2));
            const float base = new_largest == -INFINITY ? 0.0f : new_largest;  // nothing seen yet: all weights are 0
            float tile_sum = 0.0f;
#pragma unroll
            for (int n = 0; n < kTileKeys / 8; ++n) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    scores[n][2 * h + i] = exp2f(scores[n][2 * h + i] - base);
                    tile_sum += scores[n][2 * h + i];
                }
            }
            tile_sum += __shfl_xor_sync(kAllLanes, tile_sum, 1);
            tile_sum += __shfl_xor_sync(kAllLanes, tile_sum, 2);
            const float shrink = exp2f(largest[h] - base);
            sum[h] = sum[h] * shrink + tile_sum;
            largest[h] = new_largest;
#pragma unroll
            for (int n = 0; n < kDims / 8; ++n) {
                result[n][2 * h] *= shrink;
                result[n][2 * h + 1] *= shrink;
            }
        }
    }

    // result += probabilities * values of the tile in a buffer.
    __device__ void add_values(const KeyTile<kDims>* tiles, int buffer, const float (&scores)[kTileKeys / 8][4]) {
        using Tile = KeyTile<kDims>;
        const int lane = static_cast<int>(threadIdx.x) % kWarp;
        const int my_values = (2 * buffer + 1) * Tile::kSize + Tile::place(lane % 16, lane / 16);
        unsigned probabilities[kTileKeys / 16][kParts][4];
#pragma unroll
        for (int s = 0; s < kTileKeys / 16; ++s) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                unsigned parts[kParts];
                const float(&two)[4] = scores[2 * s + i / 2];
                split_bf16(two[2 * (i % 2)], two[2 * (i % 2) + 1], parts);
#pragma unroll
                for (int p = 0; p < kParts; ++p) probabilities[s][p][i] = parts[p];
            }
        }
#pragma unroll
        for (int n = 0; n < kDims / 8; n += 4) {
#pragma unroll
            for (int s = 0; s < kTileKeys / 16; ++s) {
                unsigned v[4][2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    unsigned words[4];
                    load_matrices<true>(words, tiles->chunks + (my_values ^ (n + 2 * i)) + 16 * s * Tile::kChunks);
                    v[2 * i][0] = words[0], v[2 * i][1] = words[1];
                    v[2 * i + 1][0] = words[2], v[2 * i + 1][1] = words[3];
                }
#pragma unroll
                for (int p = kParts - 1; p >= 0; --p) {
#pragma unroll
                    for (int i = 0; i < 4; ++i) multiply_bf16(result[n + i], probabilities[s][p], v[i]);
                }
            }
        }
    }

    // Calls body(two values, their place in out, h). out: of the segment's first row.
    template <typename Body>
    __device__ void for_each_two(const Work& work, float* out, int d, const Body& body) {
        const int place = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (!work.has(h)) continue;
            float* const to = out + work.pairs.place(work.my_pair + 8 * h) * d + 2 * place;
#pragma unroll
            for (int n = 0; n < kDims / 8; ++n) {
                if (8 * n < d) body(result[n][2 * h], result[n][2 * h + 1], *reinterpret_cast<float2*>(to + 8 * n), h);
            }
        }
    }

    // Takes what an earlier launch left.
    __device__ void resume(const Work& work, const float2* state, float* out, int d) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (!work.has(h)) continue;
            const float2 kept = state[work.pairs.place(work.my_pair + 8 * h)];
            largest[h] = kept.x;
            sum[h] = kept.y;
        }
        for_each_two(work, out, d, [](float& x, float& y, const float2& from, int) { x = from.x, y = from.y; });
    }

    // Leaves the sums to the next launch.
    __device__ void keep(const Work& work, float2* state, float* out, int d) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (threadIdx.x % 4 == 0 && work.has(h)) {
                state[work.pairs.place(work.my_pair + 8 * h)] = {largest[h], sum[h]};
            }
        }
        for_each_two(work, out, d, [](float x, float y, float2& to, int) { to = {x, y}; });
    }

    __device__ void divide(const Work& work, const float* sinks, float* out, int d) {
        float factor[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float sink = 0.0f;
            if (sinks != nullptr) sink = exp2f(sinks[work.pairs.head(work.my_pair + 8 * h)] * kLog2E - largest[h]);
            factor[h] = 1.0f / (sum[h] + sink);
        }
        for_each_two(work, out, d, [&](float x, float y, float2& to, int h) { to = {x * factor[h], y * factor[h]}; });
    }
};

// grid: (tiles of pairs, kv heads). Lane 4 * r + place of a warp has its pairs r and r +
// 8: of scores and results as multiply_bf16() leaves them. Scores are in units of log(2).
template <int kDims>
__global__ void __launch_bounds__(kThreads, 2)
    attend_on_tensor_cores(SegmentList list, AttentionShape shape, KvPlaces places, KeyRange range,
                           const float* queries_of_rows, std::int64_t query_stride, float* out) {
    auto* const tiles = shared_memory<KeyTile<kDims>>();  // (kBuffers, 2): keys, values
    const int d = static_cast<int>(shape.key_dim);
    const Pairs pairs{static_cast<int>(shape.n_heads / shape.n_kv_heads),
                      static_cast<int>(blockIdx.y) * static_cast<int>(shape.n_heads / shape.n_kv_heads),
                      static_cast<int>(shape.n_heads)};
    const int index = segment_of(list, blockIdx.x);
    const CudaSegment& segment = list.segments[index];
    const int first_pair = static_cast<int>(list.first_unit[index + 1] - 1 - blockIdx.x) * kRows;  // the longest first
    const Work work = work_of(segment, pairs, first_pair, shape, range);
    float* const its_out = out + segment.first_row * pairs.n_heads * d;

    unsigned queries[kDims / 16][kParts][4];
    load_queries(work, queries_of_rows, segment.first_row, query_stride, d, shape.scale * kLog2E, queries);
    Sums<kDims> sums;
    if (range.resumes) sums.resume(work, range.state, its_out, d);

    TileCopies<kDims> copies{work, places, segment.blocks, d, tiles};
    copies.find_block(work.first_tile);
    copies.load(work.first_tile, 0);
    copies.find_block(work.first_tile + 1);
    copies.load(work.first_tile + 1, 1);
    copies.find_block(work.first_tile + 2);
    int buffer = 0;
#pragma unroll 1
    for (int tile = work.first_tile; tile < work.end_tile; ++tile) {
        copies.copies.template wait<kBuffers - 2>();
        __syncthreads();
        // The tile is complete, and all threads have multiplied the tile before, whose
        // buffer the next copy overwrites.
        copies.load(tile + 2, buffer > 0 ? buffer - 1 : kBuffers - 1);
        copies.find_block(tile + 3);

        const int first_key = tile * kTileKeys;
        if (work.sees(first_key)) {
            float scores[kTileKeys / 8][4] = {};
            score_keys<kDims>(tiles, buffer, queries, scores);
            if (!work.sees_all(first_key)) hide_unseen(work, first_key, scores);
            sums.add_scores(scores);
            sums.add_values(tiles, buffer, scores);
        }
        buffer = buffer + 1 < kBuffers ? buffer + 1 : 0;
    }
    if (range.is_last) {
        sums.divide(work, shape.sinks, its_out, d);
    } else {
        sums.keep(work, range.state, its_out, d);
    }
}

template <int kDims>
void start(const Attention& attention, const SegmentList& list, const KeyRange& range) {
    const dim3 grid(static_cast<unsigned>(list.first_unit[list.n]), static_cast<unsigned>(attention.shape.n_kv_heads));
    attention.worker.start(attend_on_tensor_cores<kDims>, grid, kThreads, 2 * kBuffers * sizeof(KeyTile<kDims>), list,
                           attention.shape, attention.places, range, attention.queries, attention.query_stride,
                           attention.out);
}

bool holds_pairs(const void* data, std::int64_t stride) {
    return reinterpret_cast<std::uintptr_t>(data) % sizeof(float2) == 0 && stride % 2 == 0;
}

}  // namespace

bool takes_tensor_cores(const Attention& attention) {
    const AttentionShape& shape = attention.shape;
    return attention.worker.compute_major >= 8 && attention.places.type == KvType::kBf16 && !shape.values_in_keys &&
           shape.key_dim == shape.value_dim && shape.key_dim % 16 == 0 && shape.key_dim <= kMostDims &&
           holds_pairs(attention.queries, attention.query_stride) && holds_pairs(attention.out, shape.key_dim);
}

void attend_many_on_tensor_cores(const Attention& attention, const CudaSegment* segments, std::size_t n_segments,
                                 const KeyRange& range) {
    for_segment_lists(
        segments, n_segments,
        [&](const CudaSegment& segment) {
            if (segment.n_tokens <= kFewTokens || has_staged_keys(segment)) return std::int64_t{0};
            return std::int64_t{blocks_for(segment.n_tokens * attention.heads_per_kv(), kRows)};
        },
        [&](const SegmentList& list) {
            if (attention.shape.key_dim <= 64) {
                start<64>(attention, list, range);
            } else {
                start<kMostDims>(attention, list, range);
            }
        });
}

}  // namespace offstage::kernels::cuda
