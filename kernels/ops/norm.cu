// Operations whose blocks have a row each on the GPU: norms and ops::AddGated.

#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/row_norm.cuh"
#include "kernels/ops/add_gated.h"
#include "kernels/ops/norm.h"
#include "kernels/ops/norm_pieces.h"

namespace offstage::kernels::cuda {
namespace {

// Kernels of one block per row: a thread takes every blockDim.x-th quad of a row. The
// first kHeld stay in registers between two passes, and all loads of a pass are in flight
// at once. The distribution of quads to threads depends on the row's length alone.
constexpr int kHeld = 4;

// body(h, column): the thread's quads of a row of n values; h: which of the held ones,
// kHeld: none.
template <typename Body>
__device__ inline void for_my_quads(std::int64_t n, const Body& body) {
    const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * kRowQuad;
    std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kRowQuad;
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
    float values[kRowQuad] = {};
    __device__ static Quad of(const float* row, std::int64_t column, std::int64_t n) {
        Quad quad;
        if constexpr (kVector) {
            const float4 four = *reinterpret_cast<const float4*>(row + column);
            quad.values[0] = four.x, quad.values[1] = four.y, quad.values[2] = four.z, quad.values[3] = four.w;
        } else {
#pragma unroll
            for (int i = 0; i < kRowQuad; ++i) quad.values[i] = column + i < n ? row[column + i] : 0.0f;
        }
        return quad;
    }
    __device__ void store(float* row, std::int64_t column, std::int64_t n) const {
        if constexpr (kVector) {
            store_four(row + column, values);
        } else {
#pragma unroll
            for (int i = 0; i < kRowQuad; ++i) {
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
        for (int i = 0; i < kRowQuad; ++i) quad.values[i] = value;
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
// apart. weight nullptr: all 1; pieces have weights of their own, weight_stride values
// apart, or one for all. out may be x.
template <bool kVector>
__global__ void __launch_bounds__(kRowThreads)
    norm_rows(const float* x, const float* weight, std::int64_t weight_stride, std::int64_t dim, std::int64_t stride,
              float eps, float* out) {
    float* sums = shared_memory<float>();  // (kRowWarps)
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * stride + blockIdx.y * dim;
    const float* from = x + first;
    if (weight_stride > 0) weight += blockIdx.y * weight_stride;
    HeldQuads<kVector> mine;
    HeldQuads<kVector> weights;
    mine.load(from, dim);
    weights.load(weight, dim, 1.0f);
    float squares = 0.0f;
    for_my_quads(dim, [&](int h, std::int64_t column) {
        const Quad<kVector> quad = mine.get(h, from, column, dim);
#pragma unroll
        for (int i = 0; i < kRowQuad; ++i) squares = fmaf(quad.values[i], quad.values[i], squares);
    });
    const float factor = 1.0f / sqrtf(block_sum(squares, sums) / static_cast<float>(dim) + eps);
    for_my_quads(dim, [&](int h, std::int64_t column) {
        Quad<kVector> quad = mine.get(h, from, column, dim);
        const Quad<kVector> its_weight = weights.get(h, weight, column, dim, 1.0f);
#pragma unroll
        for (int i = 0; i < kRowQuad; ++i) quad.values[i] = quad.values[i] * factor * its_weight.values[i];
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
        for (int i = 0; i < kRowQuad; ++i) sum += quad.values[i];
    });
    const float mean = block_sum(sum, sums) / static_cast<float>(dim);
    float squares = 0.0f;
    for_my_quads(dim, [&](int h, std::int64_t column) {
        const Quad<kVector> quad = mine.get(h, from, column, dim);
#pragma unroll
        for (int i = 0; i < kRowQuad; ++i) {
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
        for (int i = 0; i < kRowQuad; ++i) {
            quad.values[i] = (quad.values[i] - mean) * factor * its_weight.values[i] + its_bias.values[i];
        }
        quad.store(out + first, column, dim);
    });
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
        for (int i = 0; i < kRowQuad; ++i) logit = fmaf(its_gate.values[i], its_input.values[i], logit);
    });
    const float factor = 1.0f / (1.0f + expf(-block_sum(logit, sums)));
    for_my_quads(dim, [&](int h, std::int64_t column) {
        Quad<kVector> quad = mine.get(h, x + first, column, dim);
        const Quad<kVector> its_y = added.get(h, y + first, column, dim);
#pragma unroll
        for (int i = 0; i < kRowQuad; ++i) quad.values[i] = fmaf(factor, its_y.values[i], quad.values[i]);
        quad.store(x + first, column, dim);
    });
}

}  // namespace
}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const Norm& op) {
    const NormWeights& norm = op.norm;
    const bool vector = norm.dim % kRowQuad == 0 && is_aligned(op.x) && is_aligned(norm.weight) &&
                        is_aligned(norm.bias) && is_aligned(op.out);
    if (norm.kind == NormKind::kRms) {
        worker.start(vector ? norm_rows<true> : norm_rows<false>,
                     dim3(blocks_for(op.n / op.n_weights, 1), blocks_for(op.n_weights, 1)), row_threads(norm.dim),
                     kRowWarps * sizeof(float), op.x, norm.weight, op.n_weights == 1 ? 0 : norm.dim, norm.dim,
                     op.n_weights * norm.dim, norm.eps, op.out);
    } else {
        worker.start(vector ? layer_norm_rows<true> : layer_norm_rows<false>, blocks_for(op.n, 1),
                     row_threads(norm.dim), 2 * kRowWarps * sizeof(float), op.x, norm.weight, norm.bias, norm.dim,
                     norm.eps, op.out);
    }
}

void compute(Worker& worker, const NormPieces& op) {
    const NormWeights& norm = op.norm;
    const bool vector =
        norm.dim % kRowQuad == 0 && op.stride % kRowQuad == 0 && is_aligned(op.x) && is_aligned(norm.weight);
    worker.start(vector ? norm_rows<true> : norm_rows<false>, dim3(blocks_for(op.n, 1), blocks_for(op.n_pieces, 1)),
                 row_threads(norm.dim), kRowWarps * sizeof(float), op.x, norm.weight, std::int64_t{0}, norm.dim,
                 op.stride, norm.eps, op.x);
}

void compute(Worker& worker, const AddGated& op) {
    const bool vector =
        op.dim % kRowQuad == 0 && is_aligned(op.gate) && is_aligned(op.input) && is_aligned(op.y) && is_aligned(op.x);
    worker.start(vector ? add_gated_rows<true> : add_gated_rows<false>, blocks_for(op.n, 1), row_threads(op.dim),
                 kRowWarps * sizeof(float), op.gate, op.input, op.y, op.dim, op.x);
}

}  // namespace offstage::kernels::ops
