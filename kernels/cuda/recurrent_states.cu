#include "kernels/cuda/recurrent_states.cuh"
#include "kernels/cuda/segments.cuh"

namespace offstage::kernels::cuda {
namespace {

// What a layer keeps of a sequence, `place` bytes from the begin of its blocks. nullptr:
// zeros.
__device__ inline const float* kept_from(const CudaSegment& segment, std::int64_t place) {
    const std::byte* const from = segment.blocks[0];
    return from == nullptr ? nullptr : reinterpret_cast<const float*>(from + place);
}
__device__ inline float* kept_to(const CudaSegment& segment, std::int64_t place, std::int64_t state) {
    return reinterpret_cast<float*>(segment.blocks[1 + state] + place);
}

// One thread per channel (x) of a sequence (y), in place: the last token first, as the
// others are its inputs. stride: from one row to the next.
__global__ void __launch_bounds__(kStateThreads)
    convolve_rows(SegmentList list, ConvolutionShape shape, std::int64_t place, float* values, std::int64_t stride) {
    const CudaSegment& segment = list.segments[blockIdx.y];
    const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kStateThreads + threadIdx.x;
    const std::int64_t width = shape.n_channels;
    if (c >= width) return;
    const std::int64_t n_before = shape.kernel_size - 1;
    const float* const kept = kept_from(segment, place);
    float* const rows = values + segment.first_row * stride + c;
    const auto input = [&](std::int64_t t) {
        if (t >= 0) return rows[t * stride];
        return kept == nullptr ? 0.0f : kept[(t + n_before) * width + c];
    };
    for (std::int64_t state = 0; state < segment.n_states; ++state) {
        float* const kept_rows = kept_to(segment, place, state) + c;
        const std::int64_t first = (state + 1) * segment.n_tokens / segment.n_states - n_before;
        for (std::int64_t i = 0; i < n_before; ++i) kept_rows[i * width] = input(first + i);
    }
    const float* const weights = shape.weights + c * shape.kernel_size;
    for (std::int64_t t = segment.n_tokens - 1; t >= 0; --t) {
        float sum = 0.0f;
        for (std::int64_t i = 0; i < shape.kernel_size; ++i) sum = fmaf(weights[i], input(t - n_before + i), sum);
        if (shape.bias != nullptr) sum += shape.bias[c];
        rows[t * stride] = shape.silu ? silu(sum) : sum;
    }
}

// 32 columns (x) of a value head's state (y) of a sequence (z): a lane for each column, a
// warp for every kStateWarps-th key, of which a thread has at most kRows.
template <int kRows, bool kCorrects>
__global__ void __launch_bounds__(kStateThreads) state_columns(SegmentList list, StateRows rule) {
    const StateShape& shape = rule.shape;
    float* const keys = shared_memory<float>();          // (key_dim)
    float* const queries = keys + shape.key_dim;         // (key_dim)
    float* const sums = queries + shape.key_dim;         // (kStateWarps, kWarp)
    float* const out_sums = sums + kStateWarps * kWarp;  // the same
    const CudaSegment& segment = list.segments[blockIdx.z];
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    const int warp = static_cast<int>(threadIdx.x / kWarp);
    const std::int64_t head = blockIdx.y;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane;
    const bool is_column = column < shape.value_dim;
    const std::int64_t key_head =
        shape.tiled ? head % shape.n_key_heads : head / (shape.n_value_heads / shape.n_key_heads);
    const std::int64_t first = head * shape.key_dim * shape.value_dim + column;
    const float* const from = kept_from(segment, rule.place);
    float state[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        const std::int64_t key = r * kStateWarps + warp;
        const bool there = from != nullptr && is_column && key < shape.key_dim;
        state[r] = there ? from[first + key * shape.value_dim] : 0.0f;
    }
    for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
        const std::int64_t row = segment.first_row + t;
        const std::int64_t at = row * rule.stride + key_head * shape.key_dim;
        const std::int64_t gate = row * rule.gate_stride + head;
        for (std::int64_t i = threadIdx.x; i < shape.key_dim; i += kStateThreads) {
            queries[i] = rule.q[at + i];
            keys[i] = rule.k[at + i];
        }
        __syncthreads();
        const float decay = rule.decay[gate];
        float known = 0.0f;
        if (kCorrects) {
            float sum = 0.0f;
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const std::int64_t key = r * kStateWarps + warp;
                if (key < shape.key_dim) sum = fmaf(keys[key], state[r], sum);
            }
            sums[warp * kWarp + lane] = sum;
            __syncthreads();
            for (int w = 0; w < kStateWarps; ++w) known += sums[w * kWarp + lane];
        }
        const float value = is_column ? rule.v[row * rule.stride + head * shape.value_dim + column] : 0.0f;
        const float change = rule.beta[gate] * (value - decay * known);
        float attended = 0.0f;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const std::int64_t key = r * kStateWarps + warp;
            if (key < shape.key_dim) {
                state[r] = fmaf(keys[key], change, decay * state[r]);
                attended = fmaf(queries[key], state[r], attended);
            }
        }
        out_sums[warp * kWarp + lane] = attended;
        __syncthreads();
        if (warp == 0 && is_column) {
            float all = 0.0f;
            for (int w = 0; w < kStateWarps; ++w) all += out_sums[w * kWarp + lane];
            rule.out[(row * shape.n_value_heads + head) * shape.value_dim + column] = all;
        }
        if (t + 1 < segment.n_tokens && segment.n_states == 1) continue;
        float* const to = kept_to(segment, rule.place, segment.n_states == 1 ? 0 : t);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const std::int64_t key = r * kStateWarps + warp;
            if (is_column && key < shape.key_dim) to[first + key * shape.value_dim] = state[r];
        }
    }
}

template <typename Body>
void for_sequences(Worker& worker, Span<AttentionSegment> segments, const Body& body) {
    device_segments(worker, segments);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        worker.segments[s].n_states = static_cast<std::int64_t>(segments[s].blocks.size()) - 1;
    }
    for_segment_lists(
        worker.segments, [](const CudaSegment&) { return std::int64_t{1}; }, body);
}

}  // namespace

void convolve(Worker& worker, const ConvolutionShape& shape, Span<AttentionSegment> segments, std::int64_t place,
              std::int64_t states_size, float* rows, std::int64_t stride) {
    place += states_size * static_cast<std::int64_t>(sizeof(float));
    for_sequences(worker, segments, [&](const SegmentList& list) {
        worker.start(convolve_rows, dim3(blocks_for(shape.n_channels, kStateThreads), static_cast<unsigned>(list.n)),
                     kStateThreads, 0, list, shape, place, rows, stride);
    });
}

void update_states(Worker& worker, Span<AttentionSegment> segments, const StateRows& rule) {
    constexpr int kSmallRows = 16, kLargeRows = 32;
    const StateShape& shape = rule.shape;
    const std::size_t shared = static_cast<std::size_t>(2 * shape.key_dim + 2 * kStateThreads) * sizeof(float);
    const bool small = shape.key_dim <= kSmallRows * kStateWarps;
    const auto kernel = rule.corrects ? small ? state_columns<kSmallRows, true> : state_columns<kLargeRows, true>
                        : small ? state_columns<kSmallRows, false>
                                      : state_columns<kLargeRows, false>;
    for_sequences(worker, segments, [&](const SegmentList& list) {
        const dim3 grid(blocks_for(shape.value_dim, kWarp), blocks_for(shape.n_value_heads, 1),
                        static_cast<unsigned>(list.n));
        worker.start(kernel, grid, kStateThreads, shared, list, rule);
    });
}

}  // namespace offstage::kernels::cuda
