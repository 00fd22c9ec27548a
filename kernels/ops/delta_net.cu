// Gated DeltaNet: see DeltaNetShape.

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/segments.cuh"
#include "kernels/ops/delta_net.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

// DeltaNetShape for device code, and the offset of the layer's state in a block, in
// bytes.
struct DeltaNetSizes {
    std::int64_t n_key_heads, n_value_heads, key_dim, value_dim, kernel_size;
    std::int64_t qkv_width, states, place;
    bool tiled;
    const float* convolution;
    const float* decay_rate;
    const float* time_bias;
};

__device__ inline float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

__device__ inline const float* kept_from(const DeltaNetSizes& sizes, const CudaSegment& segment) {
    const std::byte* const from = segment.blocks[0];
    return from == nullptr ? nullptr : reinterpret_cast<const float*>(from + sizes.place);
}
__device__ inline float* kept_to(const DeltaNetSizes& sizes, const CudaSegment& segment) {
    return reinterpret_cast<float*>(segment.blocks[1] + sizes.place);
}

// One thread per channel (x) of a sequence (y), in place: the last token first, as the
// others are its inputs.
__global__ void __launch_bounds__(kThreads) convolve_rows(SegmentList list, DeltaNetSizes sizes, float* qkv) {
    const CudaSegment& segment = list.segments[blockIdx.y];
    const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    const std::int64_t width = sizes.qkv_width;
    if (c >= width) return;
    const std::int64_t n_before = sizes.kernel_size - 1;
    const float* const kept = kept_from(sizes, segment);
    float* const rows = qkv + segment.first_row * width + c;
    const auto input = [&](std::int64_t t) {
        if (t >= 0) return rows[t * width];
        return kept == nullptr ? 0.0f : kept[sizes.states + (t + n_before) * width + c];
    };
    float* const kept_rows = kept_to(sizes, segment) + sizes.states + c;
    for (std::int64_t i = 0; i < n_before; ++i) kept_rows[i * width] = input(segment.n_tokens - n_before + i);
    const float* const weights = sizes.convolution + c * sizes.kernel_size;
    for (std::int64_t t = segment.n_tokens - 1; t >= 0; --t) {
        float sum = 0.0f;
        for (std::int64_t i = 0; i < sizes.kernel_size; ++i) sum = fmaf(weights[i], input(t - n_before + i), sum);
        rows[t * width] = silu(sum);
    }
}

// One warp per query or key (blockIdx.y * kWarps + warp) of row blockIdx.x; the warps
// after them compute decay and beta from a and b.
__global__ void __launch_bounds__(kThreads) prepare_rows(DeltaNetSizes sizes, float* qkv, float* decay_beta) {
    const std::int64_t unit = static_cast<std::int64_t>(blockIdx.y) * kWarps + threadIdx.x / kWarp;
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    if (unit < 2 * sizes.n_key_heads) {
        float* const x = qkv + blockIdx.x * sizes.qkv_width + unit * sizes.key_dim;
        float squares = 0.0f;
        for (std::int64_t i = lane; i < sizes.key_dim; i += kWarp) squares = fmaf(x[i], x[i], squares);
        const float of_queries = unit < sizes.n_key_heads ? static_cast<float>(sizes.key_dim) : 1.0f;
        const float factor = 1.0f / sqrtf((warp_sum(squares) + 1e-6f) * of_queries);
        for (std::int64_t i = lane; i < sizes.key_dim; i += kWarp) x[i] *= factor;
        return;
    }
    const std::int64_t head = (unit - 2 * sizes.n_key_heads) * kWarp + lane;
    if (head >= sizes.n_value_heads) return;
    float* const gates = decay_beta + blockIdx.x * 2 * sizes.n_value_heads + head;
    const float a = gates[0] + sizes.time_bias[head];
    gates[0] = expf(sizes.decay_rate[head] * (a > 20.0f ? a : log1pf(expf(a))));
    gates[sizes.n_value_heads] = sigmoid(gates[sizes.n_value_heads]);
}

// 32 columns (x) of a value head's state (y) of a sequence (z): a lane for each column, a
// warp for every kWarps-th key, of which a thread has at most kRows.
template <int kRows>
__global__ void __launch_bounds__(kThreads)
    delta_rule_columns(SegmentList list, DeltaNetSizes sizes, const float* qkv, const float* decay_beta, float* out) {
    float* const keys = shared_memory<float>();     // (key_dim)
    float* const queries = keys + sizes.key_dim;    // (key_dim)
    float* const sums = queries + sizes.key_dim;    // (kWarps, kWarp)
    float* const out_sums = sums + kWarps * kWarp;  // the same
    const CudaSegment& segment = list.segments[blockIdx.z];
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    const int warp = static_cast<int>(threadIdx.x / kWarp);
    const std::int64_t head = blockIdx.y;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane;
    const bool is_column = column < sizes.value_dim;
    const std::int64_t key_head =
        sizes.tiled ? head % sizes.n_key_heads : head / (sizes.n_value_heads / sizes.n_key_heads);
    const std::int64_t first = head * sizes.key_dim * sizes.value_dim + column;
    const float* const from = kept_from(sizes, segment);
    float state[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        const std::int64_t key = r * kWarps + warp;
        const bool there = from != nullptr && is_column && key < sizes.key_dim;
        state[r] = there ? from[first + key * sizes.value_dim] : 0.0f;
    }
    for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
        const std::int64_t row = segment.first_row + t;
        const float* const values = qkv + row * sizes.qkv_width;
        const float* const gates = decay_beta + row * 2 * sizes.n_value_heads + head;
        for (std::int64_t i = threadIdx.x; i < sizes.key_dim; i += kThreads) {
            queries[i] = values[key_head * sizes.key_dim + i];
            keys[i] = values[(sizes.n_key_heads + key_head) * sizes.key_dim + i];
        }
        __syncthreads();
        float sum = 0.0f;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const std::int64_t key = r * kWarps + warp;
            if (key < sizes.key_dim) sum = fmaf(keys[key], state[r], sum);
        }
        sums[warp * kWarp + lane] = sum;
        __syncthreads();
        float known = 0.0f;
        for (int w = 0; w < kWarps; ++w) known += sums[w * kWarp + lane];
        const float decay = gates[0];
        const float value =
            is_column ? values[2 * sizes.n_key_heads * sizes.key_dim + head * sizes.value_dim + column] : 0.0f;
        const float change = gates[sizes.n_value_heads] * (value - decay * known);
        float attended = 0.0f;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const std::int64_t key = r * kWarps + warp;
            if (key < sizes.key_dim) {
                state[r] = fmaf(keys[key], change, decay * state[r]);
                attended = fmaf(queries[key], state[r], attended);
            }
        }
        out_sums[warp * kWarp + lane] = attended;
        __syncthreads();
        if (warp == 0 && is_column) {
            float all = 0.0f;
            for (int w = 0; w < kWarps; ++w) all += out_sums[w * kWarp + lane];
            out[(row * sizes.n_value_heads + head) * sizes.value_dim + column] = all;
        }
    }
    float* const to = kept_to(sizes, segment);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        const std::int64_t key = r * kWarps + warp;
        if (is_column && key < sizes.key_dim) to[first + key * sizes.value_dim] = state[r];
    }
}

// One warp per head: rows of value_dim values.
__global__ void __launch_bounds__(kThreads) norm_and_gate(const float* weight, const float* z, std::int64_t n_rows,
                                                          std::int64_t value_dim, float eps, float* out) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
    if (row >= n_rows) return;
    float* const x = out + row * value_dim;
    float squares = 0.0f;
    for (std::int64_t i = threadIdx.x % kWarp; i < value_dim; i += kWarp) squares = fmaf(x[i], x[i], squares);
    const float factor = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(value_dim) + eps);
    for (std::int64_t i = threadIdx.x % kWarp; i < value_dim; i += kWarp) {
        x[i] = x[i] * factor * weight[i] * silu(z[row * value_dim + i]);
    }
}

}  // namespace

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const DeltaNet& op) {
    const DeltaNetShape& shape = op.shape;
    constexpr int kSmallRows = 16, kLargeRows = 32;
    if (shape.key_dim > kLargeRows * kWarps) {
        worker.failure.set("A DeltaNet layer has keys of more than 256 values, which CUDA devices do not compute.");
        return;
    }
    const DeltaNetSizes sizes = {
        shape.n_key_heads, shape.n_value_heads, shape.key_dim,       shape.value_dim,
        shape.kernel_size, shape.qkv_width(),   shape.states_size(), op.kv.keys_offset(op.layer, 0),
        shape.tiled,       shape.convolution,   shape.decay_rate,    shape.time_bias};
    std::int64_t n_rows = 0;
    for (const AttentionSegment& segment : op.segments) n_rows += segment.n_tokens;
    const std::int64_t units = 2 * shape.n_key_heads + blocks_for(shape.n_value_heads, kWarp);
    const auto run = [&](const auto& body) {
        for_segment_lists(
            device_segments(worker, op.segments), [](const CudaSegment&) { return std::int64_t{1}; }, body);
    };
    run([&](const SegmentList& list) {
        worker.start(convolve_rows, dim3(blocks_for(sizes.qkv_width, kThreads), static_cast<unsigned>(list.n)),
                     kThreads, 0, list, sizes, op.qkv);
    });
    worker.start(prepare_rows, dim3(blocks_for(n_rows, 1), blocks_for(units, kWarps)), kThreads, 0, sizes, op.qkv,
                 op.decay_beta);
    run([&](const SegmentList& list) {
        const dim3 grid(blocks_for(shape.value_dim, kWarp), blocks_for(shape.n_value_heads, 1),
                        static_cast<unsigned>(list.n));
        const std::size_t shared = static_cast<std::size_t>(2 * shape.key_dim + 2 * kThreads) * sizeof(float);
        worker.start(
            shape.key_dim <= kSmallRows * kWarps ? delta_rule_columns<kSmallRows> : delta_rule_columns<kLargeRows>,
            grid, kThreads, shared, list, sizes, op.qkv, op.decay_beta, op.out);
    });
    worker.start(norm_and_gate, blocks_for(n_rows * shape.n_value_heads, kWarps), kThreads, 0, shape.norm, op.z,
                 n_rows * shape.n_value_heads, shape.value_dim, shape.norm_eps, op.out);
}

}  // namespace offstage::kernels::ops
