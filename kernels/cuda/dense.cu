#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    embed_rows(const T* table, std::int64_t stride, std::int64_t hidden_dim, const std::int32_t* tokens, float* x) {
    const std::int64_t row = blockIdx.x;
    const T* from = table + static_cast<std::int64_t>(tokens[row]) * stride;
    for (std::int64_t i = threadIdx.x; i < hidden_dim; i += kThreads) x[row * hidden_dim + i] = widen(from[i]);
}

// Kernels of one block per row: a thread takes every blockDim.x-th quad of a row. The
// first kHeld stay in registers between two passes, and all loads of a pass are in flight
// at once. The distribution of quads to threads depends on the row's length alone.
constexpr int kRowThreads = 512;  // at most
constexpr int kRowWarps = kRowThreads / kWarp;
constexpr int kQuad = 4;
constexpr int kHeld = 4;

// body(h, column): the thread's quads of a row of n values; h: which of the held ones,
// kHeld: none.
template <typename Body>
__device__ inline void for_my_quads(std::int64_t n, const Body& body) {
    const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * kQuad;
    std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kQuad;
#pragma unroll
    for (int h = 0; h < kHeld; ++h, column += step) {
        if (column < n) body(h, column);
    }
    for (; column < n; column += step) body(kHeld, column);
}

// Four values of a row of n, zeros beyond its end. kVector: 16-byte aligned, n a multiple
// of four.
template <bool kVector>
struct Quad {
    float values[kQuad] = {};
    __device__ static Quad of(const float* row, std::int64_t column, std::int64_t n) {
        Quad quad;
        if constexpr (kVector) {
            const float4 four = *reinterpret_cast<const float4*>(row + column);
            quad.values[0] = four.x, quad.values[1] = four.y, quad.values[2] = four.z, quad.values[3] = four.w;
        } else {
#pragma unroll
            for (int i = 0; i < kQuad; ++i) quad.values[i] = column + i < n ? row[column + i] : 0.0f;
        }
        return quad;
    }
    __device__ void store(float* row, std::int64_t column, std::int64_t n) const {
        if constexpr (kVector) {
            store_four(row + column, values);
        } else {
#pragma unroll
            for (int i = 0; i < kQuad; ++i) {
                if (column + i < n) row[column + i] = values[i];
            }
        }
    }
};

template <bool kVector>
struct HeldQuads {
    Quad<kVector> held[kHeld];
    // row nullptr: all are `otherwise`.
    __device__ void load(const float* row, std::int64_t n, float otherwise = 0.0f) {
        for_my_quads(n, [&](int h, std::int64_t column) {
            if (h < kHeld) held[h] = row == nullptr ? all(otherwise) : Quad<kVector>::of(row, column, n);
        });
    }
    __device__ Quad<kVector> get(int h, const float* row, std::int64_t column, std::int64_t n,
                                 float otherwise = 0.0f) const {
        if (h < kHeld) return held[h];
        return row == nullptr ? all(otherwise) : Quad<kVector>::of(row, column, n);
    }

  private:
    __device__ static Quad<kVector> all(float value) {
        Quad<kVector> quad;
#pragma unroll
        for (int i = 0; i < kQuad; ++i) quad.values[i] = value;
        return quad;
    }
};

// Every thread of the block gets the sum of `value` over all of them. sums: (kRowWarps)
// of shared memory, free again at the next barrier.
__device__ inline float block_sum(float value, float* sums) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int n_warps = static_cast<int>(blockDim.x) / kWarp;
    value = warp_sum(value);
    if (lane == 0) sums[threadIdx.x / kWarp] = value;
    __syncthreads();
    return warp_sum(lane < n_warps ? sums[lane] : 0.0f);
}

// One block per row and piece of `dim` values; rows of x and out are `stride` values
// apart. weight nullptr: all 1. out may be x.
template <bool kVector>
__global__ void __launch_bounds__(kRowThreads)
    norm_rows(const float* x, const float* weight, std::int64_t dim, std::int64_t stride, float eps, float* out) {
    float* sums = shared_memory<float>();  // (kRowWarps)
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * stride + blockIdx.y * dim;
    const float* from = x + first;
    HeldQuads<kVector> mine;
    HeldQuads<kVector> weights;
    mine.load(from, dim);
    weights.load(weight, dim, 1.0f);
    float squares = 0.0f;
    for_my_quads(dim, [&](int h, std::int64_t column) {
        const Quad<kVector> quad = mine.get(h, from, column, dim);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) squares = fmaf(quad.values[i], quad.values[i], squares);
    });
    const float factor = 1.0f / sqrtf(block_sum(squares, sums) / static_cast<float>(dim) + eps);
    for_my_quads(dim, [&](int h, std::int64_t column) {
        Quad<kVector> quad = mine.get(h, from, column, dim);
        const Quad<kVector> its_weight = weights.get(h, weight, column, dim, 1.0f);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) quad.values[i] = quad.values[i] * factor * its_weight.values[i];
        quad.store(out + first, column, dim);
    });
}

template <bool kVector>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_rows(const float* x, const float* weight, const float* bias, std::int64_t dim, float eps, float* out) {
    float* sums = shared_memory<float>();  // (2, kRowWarps)
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * dim;
    const float* from = x + first;
    HeldQuads<kVector> mine;
    HeldQuads<kVector> weights;
    HeldQuads<kVector> biases;
    mine.load(from, dim);
    weights.load(weight, dim);
    biases.load(bias, dim);
    float sum = 0.0f;
    for_my_quads(dim, [&](int h, std::int64_t column) {
        const Quad<kVector> quad = mine.get(h, from, column, dim);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) sum += quad.values[i];
    });
    const float mean = block_sum(sum, sums) / static_cast<float>(dim);
    float squares = 0.0f;
    for_my_quads(dim, [&](int h, std::int64_t column) {
        const Quad<kVector> quad = mine.get(h, from, column, dim);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) {
            const float difference = column + i < dim ? quad.values[i] - mean : 0.0f;
            squares = fmaf(difference, difference, squares);
        }
    });
    const float factor = 1.0f / sqrtf(block_sum(squares, sums + kRowWarps) / static_cast<float>(dim) + eps);
    for_my_quads(dim, [&](int h, std::int64_t column) {
        Quad<kVector> quad = mine.get(h, from, column, dim);
        const Quad<kVector> its_weight = weights.get(h, weight, column, dim);
        const Quad<kVector> its_bias = biases.get(h, bias, column, dim);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) {
            quad.values[i] = (quad.values[i] - mean) * factor * its_weight.values[i] + its_bias.values[i];
        }
        quad.store(out + first, column, dim);
    });
}

__global__ void __launch_bounds__(kThreads) add_to_rows(const float* bias, std::int64_t dim, float* x) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
    if (i < dim) x[blockIdx.x * dim + i] += bias[i];
}

// change(i): value i of n.
template <typename Change>
__device__ inline void for_values(std::int64_t n, const Change& change) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) change(i);
}

__global__ void __launch_bounds__(kThreads) add_values(const float* y, std::int64_t n, float factor, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = fmaf(factor, y[i], x[i]); });
}

__global__ void __launch_bounds__(kThreads) scale_values(float factor, std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] *= factor; });
}

__global__ void __launch_bounds__(kThreads) multiply_by_sigmoid(const float* gate, std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] /= 1.0f + expf(-gate[i]); });
}

__global__ void __launch_bounds__(kThreads) clamp_values(float limit, std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = fminf(fmaxf(x[i], -limit), limit); });
}

__global__ void __launch_bounds__(kThreads) cap_values(float limit, std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = limit * tanhf(x[i] / limit); });
}

__global__ void __launch_bounds__(kThreads) clear_values(std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = 0.0f; });
}

__global__ void __launch_bounds__(kThreads) store_words(const std::uint32_t* from, std::int64_t n, std::uint32_t* to) {
    for_values(n, [&](std::int64_t i) { to[i] = from[i]; });
}

template <bool kVector>
__global__ void __launch_bounds__(kRowThreads)
    add_gated_rows(const float* gate, const float* input, const float* y, std::int64_t dim, float* x) {
    float* sums = shared_memory<float>();  // (kRowWarps)
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * dim;
    HeldQuads<kVector> gates;
    HeldQuads<kVector> inputs;
    HeldQuads<kVector> added;
    HeldQuads<kVector> mine;
    gates.load(gate, dim);
    inputs.load(input + first, dim);
    added.load(y + first, dim);
    mine.load(x + first, dim);
    float logit = 0.0f;
    for_my_quads(dim, [&](int h, std::int64_t column) {
        const Quad<kVector> its_gate = gates.get(h, gate, column, dim);
        const Quad<kVector> its_input = inputs.get(h, input + first, column, dim);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) logit = fmaf(its_gate.values[i], its_input.values[i], logit);
    });
    const float factor = 1.0f / (1.0f + expf(-block_sum(logit, sums)));
    for_my_quads(dim, [&](int h, std::int64_t column) {
        Quad<kVector> quad = mine.get(h, x + first, column, dim);
        const Quad<kVector> its_y = added.get(h, y + first, column, dim);
#pragma unroll
        for (int i = 0; i < kQuad; ++i) quad.values[i] = fmaf(factor, its_y.values[i], quad.values[i]);
        quad.store(x + first, column, dim);
    });
}

// Threads of a block for a row of n values: one for each quad, up to kRowThreads.
int row_threads(std::int64_t n) {
    const std::int64_t warps = (n + kWarp * kQuad - 1) / (kWarp * kQuad);
    return static_cast<int>(warps < 1 ? 1 : warps < kRowWarps ? warps : kRowWarps) * kWarp;
}

unsigned blocks_of_values(std::int64_t n) {
    constexpr std::int64_t kMostBlocks = 4096;
    const std::int64_t blocks = blocks_for(n, kThreads);
    return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

__global__ void __launch_bounds__(kThreads)
    combine_rows(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n_active,
                 std::int64_t hidden_dim, float* x) {
    const std::int64_t token = blockIdx.x;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
    if (i >= hidden_dim) return;
    float sum = x[token * hidden_dim + i];
    for (std::int64_t a = token * n_active; a < (token + 1) * n_active; ++a) {
        sum = fmaf(weights[a], rows[static_cast<std::int64_t>(row_of[a]) * hidden_dim + i], sum);
    }
    x[token * hidden_dim + i] = sum;
}

}  // namespace

void embed(Worker& worker, const WeightView& table, const std::int32_t* tokens, std::int64_t n, float* x) {
    if (is_blocks(table.type)) {
        unpack_block_rows(worker, table, tokens, n, WeightType::kF32, x);
        return;
    }
    with_type(table.type, [&](auto* type) {
        using T = ValueOf<decltype(type)>;
        worker.start(embed_rows<T>, blocks_for(n, 1), kThreads, 0, static_cast<const T*>(table.data), row_stride(table),
                     table.n_cols, tokens, x);
    });
}

void norm(Worker& worker, NormKind kind, const float* weight, const float* bias, std::int64_t dim, float eps,
          const float* x, std::int64_t n, float* out) {
    const bool vector = dim % kQuad == 0 && is_aligned(x) && is_aligned(weight) && is_aligned(bias) && is_aligned(out);
    if (kind == NormKind::kRms) {
        worker.start(vector ? norm_rows<true> : norm_rows<false>, blocks_for(n, 1), row_threads(dim),
                     kRowWarps * sizeof(float), x, weight, dim, dim, eps, out);
    } else {
        worker.start(vector ? layer_norm_rows<true> : layer_norm_rows<false>, blocks_for(n, 1), row_threads(dim),
                     2 * kRowWarps * sizeof(float), x, weight, bias, dim, eps, out);
    }
}

void norm_pieces(Worker& worker, const float* weight, std::int64_t dim, float eps, std::int64_t n, std::int64_t stride,
                 std::int64_t n_pieces, float* x) {
    const bool vector = dim % kQuad == 0 && stride % kQuad == 0 && is_aligned(x) && is_aligned(weight);
    worker.start(vector ? norm_rows<true> : norm_rows<false>, dim3(blocks_for(n, 1), blocks_for(n_pieces, 1)),
                 row_threads(dim), kRowWarps * sizeof(float), x, weight, dim, stride, eps, x);
}

void add_bias(Worker& worker, const float* bias, std::int64_t n, std::int64_t dim, float* x) {
    worker.start(add_to_rows, dim3(blocks_for(n, 1), blocks_for(dim, kThreads)), kThreads, 0, bias, dim, x);
}

void add(Worker& worker, const float* y, std::int64_t n, float* x, float factor) {
    worker.start(add_values, blocks_of_values(n), kThreads, 0, y, n, factor, x);
}

void add_gated(Worker& worker, const float* gate, const float* input, const float* y, std::int64_t n, std::int64_t dim,
               float* x) {
    const bool vector = dim % kQuad == 0 && is_aligned(gate) && is_aligned(input) && is_aligned(y) && is_aligned(x);
    worker.start(vector ? add_gated_rows<true> : add_gated_rows<false>, blocks_for(n, 1), row_threads(dim),
                 kRowWarps * sizeof(float), gate, input, y, dim, x);
}

void scale(Worker& worker, float factor, std::int64_t n, float* x) {
    worker.start(scale_values, blocks_of_values(n), kThreads, 0, factor, n, x);
}

void multiply_sigmoid(Worker& worker, const float* gate, std::int64_t n, float* x) {
    worker.start(multiply_by_sigmoid, blocks_of_values(n), kThreads, 0, gate, n, x);
}

void clamp(Worker& worker, float limit, std::int64_t n, float* x) {
    worker.start(clamp_values, blocks_of_values(n), kThreads, 0, limit, n, x);
}

void soft_cap(Worker& worker, float limit, std::int64_t n, float* x) {
    worker.start(cap_values, blocks_of_values(n), kThreads, 0, limit, n, x);
}

void clear(Worker& worker, std::int64_t n, float* x) {
    worker.start(clear_values, blocks_of_values(n), kThreads, 0, n, x);
}

void store(Worker& worker, const std::uint32_t* from, std::int64_t n, std::uint32_t* to) {
    worker.start(store_words, blocks_of_values(n), kThreads, 0, from, n, to);
}

void combine(Worker& worker, const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
             std::int64_t n_active, std::int64_t hidden_dim, float* x) {
    worker.start(combine_rows, dim3(blocks_for(n, 1), blocks_for(hidden_dim, kThreads)), kThreads, 0, rows, row_of,
                 weights, n_active, hidden_dim, x);
}

}  // namespace offstage::kernels::cuda
