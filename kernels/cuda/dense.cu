#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    embed_rows(const T* table, std::int64_t stride, std::int64_t hidden_dim, const std::int32_t* tokens, float* x) {
    const std::int64_t row = blockIdx.x;
    const T* from = table + static_cast<std::int64_t>(tokens[row]) * stride;
    for (std::int64_t i = threadIdx.x; i < hidden_dim; i += kThreads) x[row * hidden_dim + i] = widen(from[i]);
}

// Every thread of the block gets the sum of `value` over all of them. sums: (kWarps) of
// shared memory, free again at the next barrier.
__device__ inline float block_sum(float value, float* sums) {
    value = warp_sum(value);
    if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < kWarps; ++w) sum += sums[w];
    return sum;
}

// One block per row and piece of `dim` values; rows of x and out are `stride` values
// apart. weight nullptr: all 1.
__global__ void __launch_bounds__(kThreads)
    norm_rows(const float* x, const float* weight, std::int64_t dim, std::int64_t stride, float eps, float* out) {
    float* sums = shared_memory<float>();  // (kWarps)
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * stride + blockIdx.y * dim;
    const float* from = x + first;
    float squares = 0.0f;
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) squares = fmaf(from[i], from[i], squares);
    const float sum = block_sum(squares, sums);
    const float factor = 1.0f / sqrtf(sum / static_cast<float>(dim) + eps);
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) {
        out[first + i] = from[i] * factor * (weight == nullptr ? 1.0f : weight[i]);
    }
}

__global__ void __launch_bounds__(kThreads)
    layer_norm_rows(const float* x, const float* weight, const float* bias, std::int64_t dim, float eps, float* out) {
    float* sums = shared_memory<float>();  // (2, kWarps)
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * dim;
    const float* from = x + first;
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) sum += from[i];
    const float mean = block_sum(sum, sums) / static_cast<float>(dim);
    float squares = 0.0f;
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) {
        squares = fmaf(from[i] - mean, from[i] - mean, squares);
    }
    const float factor = 1.0f / sqrtf(block_sum(squares, sums + kWarps) / static_cast<float>(dim) + eps);
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) {
        out[first + i] = (from[i] - mean) * factor * weight[i] + (bias == nullptr ? 0.0f : bias[i]);
    }
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

__global__ void __launch_bounds__(kThreads)
    add_gated_rows(const float* gate, const float* input, const float* y, std::int64_t dim, float* x) {
    float* sums = shared_memory<float>();  // (kWarps)
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * dim;
    float logit = 0.0f;
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) logit = fmaf(gate[i], input[first + i], logit);
    const float factor = 1.0f / (1.0f + expf(-block_sum(logit, sums)));
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) x[first + i] = fmaf(factor, y[first + i], x[first + i]);
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
    if (kind == NormKind::kRms) {
        worker.start(norm_rows, blocks_for(n, 1), kThreads, kWarps * sizeof(float), x, weight, dim, dim, eps, out);
    } else {
        worker.start(layer_norm_rows, blocks_for(n, 1), kThreads, 2 * kWarps * sizeof(float), x, weight, bias, dim, eps,
                     out);
    }
}

void norm_pieces(Worker& worker, const float* weight, std::int64_t dim, float eps, std::int64_t n, std::int64_t stride,
                 std::int64_t n_pieces, float* x) {
    worker.start(norm_rows, dim3(blocks_for(n, 1), blocks_for(n_pieces, 1)), kThreads, kWarps * sizeof(float), x,
                 weight, dim, stride, eps, x);
}

void add_bias(Worker& worker, const float* bias, std::int64_t n, std::int64_t dim, float* x) {
    worker.start(add_to_rows, dim3(blocks_for(n, 1), blocks_for(dim, kThreads)), kThreads, 0, bias, dim, x);
}

void add(Worker& worker, const float* y, std::int64_t n, float* x, float factor) {
    worker.start(add_values, blocks_of_values(n), kThreads, 0, y, n, factor, x);
}

void add_gated(Worker& worker, const float* gate, const float* input, const float* y, std::int64_t n, std::int64_t dim,
               float* x) {
    worker.start(add_gated_rows, blocks_for(n, 1), kThreads, kWarps * sizeof(float), gate, input, y, dim, x);
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
