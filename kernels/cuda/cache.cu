#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/segments.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRotateThreads = 64;
constexpr int kCopyThreads = 256;

// Rotates the pairs (i, i + half) of `from` to `to`, which may be the same; a copy goes to `store` unless nullptr.
__device__ inline void rotate(const float* from, const float* cos, const float* sin, std::int64_t half, float* to,
                              float* store) {
    for (std::int64_t i = threadIdx.x; i < half; i += kRotateThreads) {
        const float c = cos[i];
        const float s = sin[i];
        const float first = from[i];
        const float second = from[i + half];
        const float new_first = first * c - second * s;
        const float new_second = second * c + first * s;
        to[i] = new_first;
        to[i + half] = new_second;
        if (store != nullptr) {
            store[i] = new_first;
            store[i + half] = new_second;
        }
    }
}

__device__ inline void copy(const float* from, std::int64_t begin, std::int64_t end, float* to) {
    for (std::int64_t i = begin + threadIdx.x; i < end; i += kRotateThreads) to[i] = from[i];
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
        copy(values + all_keys + kv_head * shape.value_dim, 0, shape.value_dim,
             value_row(places, segment.blocks, segment.past + token, kv_head));
        return;
    }
    values += head * shape.key_dim;
    float* rotated = values + shape.rotary_first;
    cos += row * half;
    sin += row * half;
    if (head < shape.n_heads) {
        rotate(rotated, cos, sin, half, rotated, nullptr);
        return;
    }
    float* key = key_row(places, segment.blocks, segment.past + token, head - shape.n_heads);
    rotate(rotated, cos, sin, half, rotated, key + shape.rotary_first);
    copy(values, 0, shape.rotary_first, key);
    copy(values, shape.rotary_first + shape.rotary_dim, shape.key_dim, key);
}

// One block per row and head; the last takes the latent.
__global__ void __launch_bounds__(kRotateThreads)
    rotate_latent_rows(SegmentList list, AttentionShape shape, KvPlaces places, const float* cos, const float* sin,
                       const float* q, std::int64_t nope_dim, float* latent, float* queries) {
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
        rotate(q + place * (nope_dim + shape.rotary_dim) + nope_dim, cos, sin, half,
               queries + place * shape.key_dim + shape.rotary_first, nullptr);
        return;
    }
    float* values = latent + row * shape.key_dim;
    float* key = key_row(places, segment.blocks, segment.past + token, 0);
    rotate(values + shape.rotary_first, cos, sin, half, values + shape.rotary_first, key + shape.rotary_first);
    copy(values, 0, shape.rotary_first, key);
    copy(values, shape.rotary_first + shape.rotary_dim, shape.key_dim, key);
}

// One block column per layer and head; blockIdx.z: keys, values.
__global__ void __launch_bounds__(kCopyThreads)
    copy_tokens(KvPlaces places, std::int64_t layer_floats, std::int64_t n_kv_heads, std::int64_t n_tokens,
                const float* from, float* to) {
    const bool keys = blockIdx.z == 0;
    const std::int64_t layer = blockIdx.x / n_kv_heads;
    const std::int64_t head = blockIdx.x % n_kv_heads;
    const std::int64_t first =
        layer * layer_floats + (keys ? places.keys + head * places.key_head : places.values + head * places.value_head);
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kCopyThreads + threadIdx.x;
    if (i < n_tokens * (keys ? places.key_stride : places.value_stride)) to[first + i] = from[first + i];
}

}  // namespace

void rotate_and_store(Worker& worker, std::int64_t layer, const AttentionShape& shape, const CudaSegment* segments,
                      std::size_t n_segments, const float* cos, const float* sin, float* qkv, const KvShape& kv) {
    for_segment_lists(
        segments, n_segments, [](const CudaSegment& segment) { return segment.n_tokens; },
        [&](const SegmentList& list) {
            const dim3 grid(blocks_for(list.first_unit[list.n], 1),
                            static_cast<unsigned>(shape.n_heads + 2 * shape.n_kv_heads));
            worker.start(rotate_rows, grid, kRotateThreads, 0, list, shape, places_in(kv, layer), cos, sin, qkv);
        });
}

void rotate_and_store_latent(Worker& worker, std::int64_t layer, const AttentionShape& shape,
                             const CudaSegment* segments, std::size_t n_segments, const float* cos, const float* sin,
                             const float* q, std::int64_t nope_dim, float* latent, float* queries, const KvShape& kv) {
    for_segment_lists(
        segments, n_segments, [](const CudaSegment& segment) { return segment.n_tokens; },
        [&](const SegmentList& list) {
            const dim3 grid(blocks_for(list.first_unit[list.n], 1), static_cast<unsigned>(shape.n_heads + 1));
            worker.start(rotate_latent_rows, grid, kRotateThreads, 0, list, shape, places_in(kv, layer), cos, sin, q,
                         nope_dim, latent, queries);
        });
}

void copy_kv_block(Worker& worker, const KvShape& kv, const float* from, float* to, std::int64_t n_tokens) {
    const std::int64_t widest = kv.key_dim > kv.stored_value_dim() ? kv.key_dim : kv.stored_value_dim();
    const dim3 grid(blocks_for(kv.n_layers * kv.n_kv_heads, 1), blocks_for(n_tokens * widest, kCopyThreads),
                    kv.values_in_keys ? 1 : 2);
    worker.start(copy_tokens, grid, kCopyThreads, 0, places_in(kv, 0), kv.layer_floats(), kv.n_kv_heads, n_tokens, from,
                 to);
}

}  // namespace offstage::kernels::cuda
