#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/packed_tiles.cuh"
#include "kernels/cuda/split_products.cuh"
#include "kernels/ops/multiply.h"
#include "kernels/ops/multiply_heads.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kFewThreads = 128;
constexpr int kFewWarps = kFewThreads / kWarp;
constexpr int kValueThreads = 256;

// A warp forms kRows outputs of up to kInputs inputs: each weight is read once, 16 bytes
// per lane at a time. grid: (outputs of a head, heads, pieces of kInputs inputs).
template <typename T, int kRows, int kInputs, bool kVector>
__global__ void __launch_bounds__(kFewThreads)
    multiply_few(const T* weight, std::int64_t n_rows, std::int64_t n_columns, std::int64_t stride, InputRows x,
                 int n_inputs, OutputRows y) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kFewWarps + threadIdx.x / kWarp) * kRows;
    if (first >= n_rows) return;
    const std::int64_t head = blockIdx.y;
    const int first_input = static_cast<int>(blockIdx.z) * kInputs;
    const T* rows[kRows];
    const float* inputs[kInputs];
    // Beyond the end the last one is taken again and its sums are dropped: the warp stays
    // together.
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        rows[r] = weight + (head * n_rows + (first + r < n_rows ? first + r : n_rows - 1)) * stride;
    }
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        const int input = first_input + t < n_inputs ? first_input + t : n_inputs - 1;
        inputs[t] = x.data + input * x.stride + head * x.head_stride;
    }
    float sums[kRows][kInputs] = {};
    add_products<T, kRows, kInputs, kVector>(rows, inputs, n_columns, lane, sums);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            const float sum = warp_sum(sums[r][t]);
            if (lane == r * kInputs + t && first + r < n_rows && first_input + t < n_inputs) {
                y.data[(first_input + t) * y.stride + head * y.head_stride + first + r] = sum;
            }
        }
    }
}

template <typename T, int kRows, int kInputs>
void start_few(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x, std::int64_t n,
               const OutputRows& y) {
    static_assert(kRows * kInputs <= kWarp, "each lane stores one sum");
    const bool vector = weight.n_cols % kEight == 0 && is_aligned(weight.data) && is_aligned(x.data) &&
                        x.stride % 4 == 0 && x.head_stride % 4 == 0 && weight.stride_bytes() % 16 == 0;
    const std::int64_t n_rows = weight.n_rows / n_heads;
    const dim3 grid(blocks_for(n_rows, kFewWarps * kRows), static_cast<unsigned>(n_heads), blocks_for(n, kInputs));
    const auto* data = static_cast<const T*>(weight.data);
    worker.start(vector ? multiply_few<T, kRows, kInputs, true> : multiply_few<T, kRows, kInputs, false>, grid,
                 kFewThreads, 0, data, n_rows, weight.n_cols, row_stride(weight), x, static_cast<int>(n), y);
}

// More inputs use more weight rows per warp: an input's values, which come from the
// caches, then serve several rows.
template <typename T>
void multiply_plain_heads(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x,
                          std::int64_t n, const OutputRows& y) {
    if (n == 1) {
        start_few<T, 1, 1>(worker, weight, n_heads, x, n, y);
    } else if (n == 2) {
        start_few<T, 2, 2>(worker, weight, n_heads, x, n, y);
    } else if (n <= 4) {
        start_few<T, 2, 4>(worker, weight, n_heads, x, n, y);
    } else {
        start_few<T, 4, 8>(worker, weight, n_heads, x, n, y);
    }
}

// The product of many rows where cuBLAS cannot form it: float32 throughout. A block forms
// kTile x kTile outputs, a thread 4 x 4 of them, from kDepth inputs at a time.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kTileStride = kTile + 4;  // keeps float4 alignment, spreads the banks
constexpr int kTileThreads = 256;
constexpr int kPer = 4;

template <typename T>
__global__ void __launch_bounds__(kTileThreads)
    multiply_tiled(const T* weight, std::int64_t out_stride, std::int64_t in_stride, std::int64_t n_out,
                   std::int64_t n_in, const float* x, std::int64_t n, float* y, std::int64_t y_stride) {
    float* weights = shared_memory<float>();         // (kDepth, kTileStride)
    float* inputs = weights + kDepth * kTileStride;  // the same
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t first_out = static_cast<std::int64_t>(blockIdx.x) * kTile;
    const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTile;
    const int my_out = thread % (kTile / kPer) * kPer;
    const int my_row = thread / (kTile / kPer) * kPer;
    float sums[kPer][kPer] = {};
    for (std::int64_t begin = 0; begin < n_in; begin += kDepth) {
        for (int i = thread; i < kTile * kDepth; i += kTileThreads) {
            // Neighbouring threads read neighbouring weights.
            const int out = in_stride == 1 ? i / kDepth : i % kTile;
            const int depth = in_stride == 1 ? i % kDepth : i / kTile;
            const bool inside = first_out + out < n_out && begin + depth < n_in;
            weights[depth * kTileStride + out] =
                inside ? widen(weight[(first_out + out) * out_stride + (begin + depth) * in_stride]) : 0.0f;
            const int row = i / kDepth;
            const int column = i % kDepth;
            const bool there = first_row + row < n && begin + column < n_in;
            inputs[column * kTileStride + row] = there ? x[(first_row + row) * n_in + begin + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int depth = 0; depth < kDepth; ++depth) {
            const float4 w = *reinterpret_cast<const float4*>(weights + depth * kTileStride + my_out);
            const float4 v = *reinterpret_cast<const float4*>(inputs + depth * kTileStride + my_row);
            const float ws[kPer] = {w.x, w.y, w.z, w.w};
            const float vs[kPer] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int r = 0; r < kPer; ++r) {
#pragma unroll
                for (int o = 0; o < kPer; ++o) sums[r][o] = fmaf(ws[o], vs[r], sums[r][o]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < kPer; ++r) {
#pragma unroll
        for (int o = 0; o < kPer; ++o) {
            const std::int64_t row = first_row + my_row + r;
            const std::int64_t out = first_out + my_out + o;
            if (row < n && out < n_out) y[row * y_stride + out] = sums[r][o];
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(kValueThreads)
    gather_rows(const float* from, const std::int32_t* tokens, std::int64_t n_columns, T* to) {
    const std::int64_t row = blockIdx.x;
    const float* source = from + (tokens == nullptr ? row : static_cast<std::int64_t>(tokens[row])) * n_columns;
    for (std::int64_t i = threadIdx.x; i < n_columns; i += kValueThreads)
        to[row * n_columns + i] = narrow<T>(source[i]);
}

template <typename T>
__global__ void __launch_bounds__(kValueThreads)
    activate_values(ExpertSpec spec, const float* gate, const float* up, std::int64_t n, T* to) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kValueThreads + threadIdx.x;
    if (i < n) to[i] = narrow<T>(activation(spec, gate[i], up[i]));
}

cudaDataType_t cuda_type(WeightType type) {
    return type == WeightType::kF32 ? CUDA_R_32F : type == WeightType::kF16 ? CUDA_R_16F : CUDA_R_16BF;
}

// Tensor cores support bf16 since 8.0; before that cuBLAS refuses it.
bool cublas_serves(const Worker& worker, WeightType type) {
    return worker.cublas != nullptr && (type != WeightType::kBf16 || worker.compute_major >= 8);
}

// As many rows at once as scratch memory has room for. False: it has room for none.
bool multiply_split_few(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y) {
    if (!can_read_packed(worker, weight.data, x)) return true;
    worker.scratch.restart();
    const std::int64_t room = static_cast<std::int64_t>(worker.scratch.left()) / split_bytes(weight.n_cols);
    const std::int64_t most = room < n ? room : n;
    auto* const split = most < 1 ? nullptr : worker.scratch.take<unsigned char>(most * split_bytes(weight.n_cols));
    if (split == nullptr) return false;
    for (std::int64_t first = 0; first < n; first += most) {
        split_product(worker, weight, x + first * weight.n_cols, n - first < most ? n - first : most, split,
                      y + first * weight.n_rows);
    }
    return true;
}

}  // namespace

std::uint64_t product_scratch_bytes(const CudaStep& step, std::size_t unpacked_bytes) {
    const std::int64_t heads = step.attention.output_width();
    std::int64_t columns = step.hidden_dim > heads ? step.hidden_dim : heads;
    if (step.widest_row > columns) columns = step.widest_row;
    const std::int64_t n_few = step.n_tokens < CudaContext::kFewRows ? step.n_tokens : CudaContext::kFewRows;
    const std::uint64_t few = Scratch::rounded(static_cast<std::size_t>(n_few * split_bytes(columns)));
    if (step.n_tokens <= CudaContext::kFewRows) return few;
    const std::int64_t rows = step.n_tokens < kProductRows ? step.n_tokens : kProductRows;
    // Weights that are unpacked: queries, keys and values in one (rows by hidden_dim),
    // the attention's output matrix, and the logits'.
    std::size_t unpacked = unpack_bytes(step.hidden_dim, heads, false, unpacked_bytes);
    for (const std::int64_t n_rows : {step.attention.qkv_width(), step.vocab_size}) {
        const std::size_t bytes = unpack_bytes(n_rows, step.hidden_dim, false, unpacked_bytes);
        if (bytes > unpacked) unpacked = bytes;
    }
    const std::uint64_t many =
        Scratch::rounded(static_cast<std::size_t>(rows * columns) * sizeof(std::uint16_t)) + unpacked;
    return few > many ? few : many;
}

WeightType input_type(const Worker& worker, WeightType weights) {
    if (worker.cublas == nullptr) return WeightType::kF32;
    if (is_plain(weights) && cublas_serves(worker, weights)) return weights;
    return worker.compute_major >= 8 ? WeightType::kBf16 : WeightType::kF16;
}

std::uint32_t product_facts(const Worker& worker, WeightType weights) {
    return (worker.compute_major >= 8 ? product_needs::kTensorCores : 0) |
           (worker.cublas == nullptr ? product_needs::kNoCublas : 0) |
           (cublas_serves(worker, weights) ? product_needs::kCublasServes : 0);
}

// The product of many rows where tiles of packed weights do not form it.
CudaProduct product_by_matrix(const Worker& worker, WeightType weights) {
    const std::uint32_t facts = product_facts(worker, weights) & ~product_needs::kTensorCores;
    return find_cuda_product(
        {ProductOf::kMatrix, weights_of(weights), ProductInputs::kFloat, CudaContext::kFewRows + 1, facts});
}

bool unpacks(const Worker& worker, WeightType weights) {
    return product_by_matrix(worker, weights) == CudaProduct::kUnpacked;
}

void multiply_many(Worker& worker, const Factor& factor, const void* x, std::int64_t n, float* y,
                   std::int64_t y_stride) {
    if (product_by_matrix(worker, factor.type) == CudaProduct::kFloatTiles) {
        with_type(factor.type, [&](auto* type) {
            using T = ValueOf<decltype(type)>;
            const dim3 grid(blocks_for(factor.n_out, kTile), blocks_for(n, kTile));
            worker.start(multiply_tiled<T>, grid, kTileThreads, 2 * kDepth * kTileStride * sizeof(float),
                         static_cast<const T*>(factor.data), factor.transposed ? 1 : factor.stride,
                         factor.transposed ? factor.stride : 1, factor.n_out, factor.n_in, static_cast<const float*>(x),
                         n, y, y_stride);
        });
        return;
    }
    worker.start_kept();  // cuBLAS starts its kernels itself
    // cuBLAS counts by columns: rows (n, n_out) here are its (n_out, n).
    const CublasFunctions& cublas = worker.cublas->functions();
    const cublasHandle_t handle = worker.cublas->handle();
    const cublasOperation_t operation = factor.transposed ? CUBLAS_OP_N : CUBLAS_OP_T;
    const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
    const float one = 1.0f;
    const float zero = 0.0f;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (factor.type == WeightType::kF32) {
        status = cublas.sgemm(handle, operation, CUBLAS_OP_N, as_int(factor.n_out), as_int(n), as_int(factor.n_in),
                              &one, static_cast<const float*>(factor.data), as_int(factor.stride),
                              static_cast<const float*>(x), as_int(factor.n_in), &zero, y, as_int(y_stride));
    } else {
        const cudaDataType_t type = cuda_type(factor.type);
        status = cublas.gemm_ex(handle, operation, CUBLAS_OP_N, as_int(factor.n_out), as_int(n), as_int(factor.n_in),
                                &one, factor.data, type, as_int(factor.stride), x, type, as_int(factor.n_in), &zero, y,
                                CUDA_R_32F, as_int(y_stride), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        (void)cudaGetLastError();
        worker.failure.set("A cuBLAS product failed (status " + std::to_string(static_cast<int>(status)) + ").");
    }
}

void multiply_heads(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x, std::int64_t n,
                    const OutputRows& y) {
    switch (find_cuda_product({ProductOf::kHeads, weights_of(weight.type), ProductInputs::kFloat, n})) {
        case CudaProduct::kPackedRows:
            multiply_packed_heads(worker, weight, n_heads, x, n, y);
            return;
        case CudaProduct::kBlockRows:
            multiply_block_heads(worker, weight, n_heads, x, n, y);
            return;
        default:
            with_type(weight.type, [&](auto* type) {
                multiply_plain_heads<ValueOf<decltype(type)>>(worker, weight, n_heads, x, n, y);
            });
    }
}

namespace {

// Many rows, in batches of as many as scratch memory has room for.
void multiply_by_matrix(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y) {
    if (is_packed(weight.type) && !can_read_packed(worker, weight.data, x)) return;
    const bool unpacked_first = unpacks(worker, weight.type);
    const WeightType type = input_type(worker, weight.type);
    worker.scratch.restart();
    unsigned char* unpacked = nullptr;
    if (unpacked_first) {
        const std::size_t bytes = unpack_bytes(weight.n_rows, weight.n_cols, false, worker.unpacked_bytes);
        unpacked = worker.scratch.take<unsigned char>(static_cast<std::int64_t>(bytes));
        if (unpacked == nullptr) {
            worker.lacks_scratch();
            return;
        }
    }
    const auto product = [&](const void* from, std::int64_t rows, float* to) {
        if (unpacked_first) {
            multiply_unpacked(worker, weight, false, from, rows, to, unpacked);
            return;
        }
        const Factor factor{weight.data, weight.type, weight.n_rows, weight.n_cols, row_stride(weight), false};
        multiply_many(worker, factor, from, rows, to, weight.n_rows);
    };
    if (type == WeightType::kF32) {
        product(x, n, y);
        return;
    }
    const auto room = static_cast<std::int64_t>(worker.scratch.left() / sizeof(std::uint16_t)) / weight.n_cols;
    const std::int64_t most = room < kProductRows ? room : kProductRows;
    if (most < 1) {
        worker.lacks_scratch();
        return;
    }
    auto* converted = worker.scratch.take<std::uint16_t>((most < n ? most : n) * weight.n_cols);
    if (converted == nullptr) {
        worker.lacks_scratch();
        return;
    }
    for (std::int64_t row = 0; row < n; row += most) {
        const std::int64_t rows = n - row < most ? n - row : most;
        gather(worker, x + row * weight.n_cols, nullptr, rows, weight.n_cols, type, converted);
        product(converted, rows, y + row * weight.n_rows);
    }
}

}  // namespace

void multiply(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y) {
    if (n <= 0) return;
    const bool few = n <= CudaContext::kFewRows;
    const bool rounds = few ? worker.byte_inputs.rounds_few(weight.type) : worker.byte_inputs.rounds_many(weight.type);
    const bool aligned =
        weight.n_cols % kEight == 0 && is_aligned(weight.data) && is_aligned(x) && weight.stride_bytes() % 16 == 0;
    ProductCase product{ProductOf::kMatrix, weights_of(weight.type),
                        rounds ? ProductInputs::kBytes : ProductInputs::kFloat, n};
    product.facts = product_facts(worker, weight.type) | (aligned ? product_needs::kAligned : 0) |
                    (splits_inputs(weight.type, weight.n_cols) ? product_needs::kWhole : 0) |
                    (weight.n_rows * weight.n_cols <= kSmallMatrix ? product_needs::kSmall : 0);
    // Without scratch memory for a row of rounded or split inputs the product is another.
    if (rounds) {
        const bool in_tiles = find_cuda_product(product) == CudaProduct::kByteTiles;
        if (multiply_in_bytes(worker, weight, x, n, in_tiles, y)) return;
        product.inputs = ProductInputs::kFloat;
    }
    if (find_cuda_product(product) == CudaProduct::kSplitRows) {
        if (multiply_split_few(worker, weight, x, n, y)) return;
        product.facts &= ~product_needs::kWhole;
    }
    switch (find_cuda_product(product)) {
        case CudaProduct::kPackedTiles:
            multiply_in_tiles(worker, weight, x, n, y);
            return;
        case CudaProduct::kTensorCoreRows:
            multiply_on_tensor_cores(worker, weight, x, n, y);
            return;
        case CudaProduct::kPlainRows:
        case CudaProduct::kPackedRows:
        case CudaProduct::kBlockRows:
            multiply_heads(worker, weight, 1, {x, weight.n_cols, 0}, n, {y, weight.n_rows, 0});
            return;
        default:
            multiply_by_matrix(worker, weight, x, n, y);
    }
}

void gather(Worker& worker, const float* from, const std::int32_t* tokens, std::int64_t n, std::int64_t n_columns,
            WeightType type, void* to) {
    with_type(type, [&](auto* pointer) {
        using T = ValueOf<decltype(pointer)>;
        worker.start(gather_rows<T>, blocks_for(n, 1), kValueThreads, 0, from, tokens, n_columns, static_cast<T*>(to));
    });
}

void activate(Worker& worker, const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n,
              WeightType type, void* to) {
    with_type(type, [&](auto* pointer) {
        using T = ValueOf<decltype(pointer)>;
        worker.start(activate_values<T>, blocks_for(n, kValueThreads), kValueThreads, 0, spec, gate, up, n,
                     static_cast<T*>(to));
    });
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

void compute(cuda::Worker& worker, const Multiply& op) {
    cuda::multiply(worker, op.weight, op.x, op.n, op.y);
}

void compute(cuda::Worker& worker, const MultiplyHeads& op) {
    if (op.n_heads == 1 && op.n == 1 && worker.byte_inputs.rounds_few(op.weight.type)) {
        cuda::multiply(worker, op.weight, op.x, 1, op.y);
        return;
    }
    cuda::multiply_heads(worker, op.weight, op.n_heads, {op.x, op.x_stride, op.x_head_stride}, op.n,
                         {op.y, op.y_stride, op.y_head_stride});
}

}  // namespace offstage::kernels::ops
