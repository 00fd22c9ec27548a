#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/segments.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRotateThreads = 64;
constexpr int kCopyThreads = 256;

// One block per row and head.
__global__ void __launch_bounds__(kRotateThreads)
    rotate_rows(SegmentList list, CudaAttentionShape shape, std::int64_t layer, const float* cos, const float* sin,
                float* qkv, KvShape kv) {
    const std::int64_t unit = blockIdx.x;
    const int index = segment_of(list, unit);
    const CudaSegment& segment = list.segments[index];
    const std::int64_t token = unit - list.first_unit[index];
    const std::int64_t row = segment.first_row + token;
    const std::int64_t d = shape.head_dim;
    const std::int64_t half = d / 2;
    const std::int64_t head = blockIdx.y;
    float* values = qkv + (row * (shape.n_heads + 2 * shape.n_kv_heads) + head) * d;

    float* store = nullptr;
    if (head >= shape.n_heads) {
        const std::int64_t part = (head - shape.n_heads) / shape.n_kv_heads;
        const std::int64_t kv_head = (head - shape.n_heads) % shape.n_kv_heads;
        store = row_of(segment.blocks, segment.past + token, d) + part_offset(kv, layer, part, kv_head);
    }
    if (head >= shape.n_heads + shape.n_kv_heads) {  // values are not rotated
        for (std::int64_t i = threadIdx.x; i < d; i += kRotateThreads) store[i] = values[i];
        return;
    }
    for (std::int64_t i = threadIdx.x; i < half; i += kRotateThreads) {
        const float c = cos[row * half + i];
        const float s = sin[row * half + i];
        const float first = values[i];
        const float second = values[i + half];
        const float new_first = first * c - second * s;
        const float new_second = second * c + first * s;
        values[i] = new_first;
        values[i + half] = new_second;
        if (store != nullptr) {
            store[i] = new_first;
            store[i + half] = new_second;
        }
    }
}

// One block column per (layer, part, head).
__global__ void __launch_bounds__(kCopyThreads)
    copy_tokens(std::int64_t part_values, std::int64_t n_values, const float* from, float* to) {
    const std::int64_t part = static_cast<std::int64_t>(blockIdx.x) * part_values;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kCopyThreads + threadIdx.x;
    if (i < n_values) to[part + i] = from[part + i];
}

}  // namespace

void rotate_and_store(Worker& worker, std::int64_t layer, const CudaAttentionShape& shape, const CudaSegment* segments,
                      std::size_t n_segments, const float* cos, const float* sin, float* qkv, const KvShape& kv) {
    for_segment_lists(
        segments, n_segments, [](const CudaSegment& segment) { return segment.n_tokens; },
        [&](const SegmentList& list) {
            const dim3 grid(blocks_for(list.first_unit[list.n], 1),
                            static_cast<unsigned>(shape.n_heads + 2 * shape.n_kv_heads));
            worker.start(rotate_rows, grid, kRotateThreads, 0, list, shape, layer, cos, sin, qkv, kv);
        });
}

void copy_kv_block(Worker& worker, const KvShape& kv, const float* from, float* to, std::int64_t n_tokens) {
    const std::int64_t n_values = n_tokens * kv.head_dim;
    const dim3 grid(blocks_for(kv.n_layers * 2 * kv.n_kv_heads, 1), blocks_for(n_values, kCopyThreads));
    worker.start(copy_tokens, grid, kCopyThreads, 0, kKvBlockTokens * kv.head_dim, n_values, from, to);
}

}  // namespace offstage::kernels::cuda
