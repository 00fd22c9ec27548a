// Storing each token's keys and values, and copies of blocks, on the GPU.

#include "kernels/cuda/cached_rows.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/segments.cuh"
#include "kernels/ops/copy_kv_block.h"
#include "kernels/ops/rotate_and_store.h"
#include "kernels/ops/rotate_and_store_latent.h"
#include "kernels/ops/rotate_pairs.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRotateThreads = 64;

__device__ inline void rotate_by_block(const float* from, const float* cos, const float* sin, std::int64_t half,
                                       float* to) {
    rotate(from, cos, sin, half, to, static_cast<int>(threadIdx.x), kRotateThreads);
}

template <typename Value>
__device__ inline void store_by_block(const Value& value, std::int64_t n, KvType type, std::byte* row) {
    store_row(value, n, type, row, static_cast<int>(threadIdx.x), kRotateThreads);
}

// One block per row and head.
__global__ void __launch_bounds__(kRotateThreads) rotate_rows(SegmentList list, AttentionShape shape, KvPlaces places,
                                                              const float* cos, const float* sin, float* qkv) {
    const std::int64_t unit = blockIdx.x;
    const int index = segment_of(list, unit);
    const CudaSegment& segment = list.segments[index];
    const std::int64_t token = unit - list.first_unit[index];
    const std::int64_t row = segment.first_row + token;
    const std::int64_t half = shape.rotary_dim / 2;
    const std::int64_t head = blockIdx.y;
    const std::int64_t n_rotated = shape.n_heads + shape.n_kv_heads;
    const std::int64_t all_keys = n_rotated * shape.key_dim;  // and queries
    float* values = qkv + row * (all_keys + shape.n_kv_heads * shape.value_dim);

    if (head >= n_rotated) {  // values are not rotated
        const std::int64_t kv_head = head - n_rotated;
        const float* from = values + all_keys + kv_head * shape.value_dim;
        store_by_block([&](std::int64_t i) { return from[i]; }, shape.value_dim, places.type,
                       value_row(places, segment.blocks, past_of(segment) + token, kv_head));
        return;
    }
    values += head * shape.key_dim;
    float* rotated = values + shape.rotary_first;
    rotate_by_block(rotated, cos + row * half, sin + row * half, half, rotated);
    if (head < shape.n_heads) return;
    __syncthreads();
    store_by_block([&](std::int64_t i) { return values[i]; }, shape.key_dim, places.type,
                   key_row(places, segment.blocks, past_of(segment) + token, head - shape.n_heads));
}

// One block per row and head; the last takes the latent.
__global__ void __launch_bounds__(kRotateThreads)
    rotate_latent_rows(SegmentList list, AttentionShape shape, KvPlaces places, const float* cos, const float* sin,
                       const float* q, std::int64_t q_dim, std::int64_t nope_dim, float* latent, float* queries) {
    const std::int64_t unit = blockIdx.x;
    const int index = segment_of(list, unit);
    const CudaSegment& segment = list.segments[index];
    const std::int64_t token = unit - list.first_unit[index];
    const std::int64_t row = segment.first_row + token;
    const std::int64_t half = shape.rotary_dim / 2;
    const std::int64_t head = blockIdx.y;
    cos += row * half;
    sin += row * half;
    if (head < shape.n_heads) {
        const std::int64_t place = row * shape.n_heads + head;
        rotate_by_block(q + place * q_dim + nope_dim, cos, sin, half,
                        queries + place * shape.key_dim + shape.rotary_first);
        return;
    }
    float* values = latent + row * shape.key_dim;
    rotate_by_block(values + shape.rotary_first, cos, sin, half, values + shape.rotary_first);
    __syncthreads();
    store_by_block([&](std::int64_t i) { return values[i]; }, shape.key_dim, places.type,
                   key_row(places, segment.blocks, past_of(segment) + token, 0));
}

// One block per row and head.
__global__ void __launch_bounds__(kRotateThreads) rotate_row_pairs(ops::RotatePairs op) {
    const std::int64_t row = blockIdx.x, half = op.dim / 2;
    rotate_pairs(op.x + (row * op.n_heads + blockIdx.y) * op.head_dim + op.first, op.cos + row * half,
                 op.sin + row * half, half, op.back, static_cast<int>(threadIdx.x), kRotateThreads);
}

// One block per layer and head (x), token (y), and of keys and values (z). The places are
// those of layer 0.
__global__ void __launch_bounds__(kRotateThreads)
    copy_tokens(KvPlaces source, KvPlaces target, std::int64_t source_layer, std::int64_t target_layer,
                std::int64_t n_kv_heads, const std::byte* from, std::byte* to) {
    const bool keys = blockIdx.z == 0;
    const std::int64_t layer = blockIdx.x / n_kv_heads;
    const std::int64_t head = blockIdx.x % n_kv_heads;
    const std::int64_t token = blockIdx.y;
    const auto offset = [&](const KvPlaces& places, std::int64_t layer_bytes) {
        return layer * layer_bytes + (keys ? places.keys + head * places.key_head + token * places.key_stride
                                           : places.values + head * places.value_head + token * places.value_stride);
    };
    const std::byte* row = from + offset(source, source_layer);
    std::byte* place = to + offset(target, target_layer);
    const std::int64_t n = keys ? source.key_dim : source.value_dim;
    if (source.type == target.type) {
        const std::int64_t words = (keys ? source.key_stride : source.value_stride) / 4;
        for (std::int64_t i = threadIdx.x; i < words; i += kRotateThreads) {
            reinterpret_cast<unsigned*>(place)[i] = reinterpret_cast<const unsigned*>(row)[i];
        }
        return;
    }
    store_by_block([&](std::int64_t i) { return cached_value(source.type, row, n, i); }, n, target.type, place);
}

}  // namespace

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const RotateAndStore& op) {
    const AttentionShape& shape = op.shape;
    for_segment_lists(
        device_segments(worker, op.segments), [](const CudaSegment& segment) { return segment.n_tokens; },
        [&](const SegmentList& list) {
            const dim3 grid(blocks_for(list.first_unit[list.n], 1),
                            static_cast<unsigned>(shape.n_heads + 2 * shape.n_kv_heads));
            worker.start(rotate_rows, grid, kRotateThreads, 0, list, shape, places_in(op.kv, op.layer), op.cos, op.sin,
                         op.qkv);
        });
}

void compute(Worker& worker, const RotateAndStoreLatent& op) {
    const AttentionShape& shape = op.shape;
    for_segment_lists(
        device_segments(worker, op.segments), [](const CudaSegment& segment) { return segment.n_tokens; },
        [&](const SegmentList& list) {
            const dim3 grid(blocks_for(list.first_unit[list.n], 1), static_cast<unsigned>(shape.n_heads + 1));
            worker.start(rotate_latent_rows, grid, kRotateThreads, 0, list, shape, places_in(op.kv, op.layer), op.cos,
                         op.sin, op.q, op.q_dim(), op.nope_dim, op.latent, op.queries);
        });
}

void compute(Worker& worker, const RotatePairs& op) {
    if (op.n <= 0) return;
    const dim3 grid(blocks_for(op.n, 1), static_cast<unsigned>(op.n_heads));
    worker.start(rotate_row_pairs, grid, kRotateThreads, 0, op);
}

void compute(Worker& worker, const CopyKvBlock& op) {
    const KvShape& kv = op.kv;
    KvShape target = kv;
    target.type = op.type;
    if (op.n_rows() == 0) return;
    const dim3 grid(blocks_for(kv.n_layers * kv.n_kv_heads, 1), blocks_for(op.n_rows(), 1), kv.values_in_keys ? 1 : 2);
    worker.start(copy_tokens, grid, kRotateThreads, 0, places_in(kv, 0), places_in(target, 0),
                 kv.layer_token_bytes() * kv.block_rows(), target.layer_token_bytes() * kv.block_rows(), kv.n_kv_heads,
                 op.from.data, op.to.data);
}

}  // namespace offstage::kernels::ops
