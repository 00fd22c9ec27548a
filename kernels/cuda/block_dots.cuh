#pragma once
// Dot products of files' blocks with float32 inputs. The inputs lie in shared memory, in
// parts as the weights do (blocks.cuh), so that they are read as float4 without two lanes
// meeting in a bank.

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/blocks.cuh"

namespace offstage::kernels::cuda {

// A part's inputs in shared memory: 16 of them and their sum, this many floats apart.
constexpr int kPartStride = 20;
// Columns of so many inputs that lie there at once.
constexpr int kStagedFloats = 4096;
template <int kInputs>
constexpr int kStagedColumns = kStagedFloats / kInputs;

__host__ __device__ constexpr int staged_stride(int n_columns) {
    return n_columns / kPartWeights * kPartStride;
}

// Columns first .. first + n_columns (a multiple of 32) of the job's inputs, into
// `staged` (kInputs, stride); beyond n_inputs the last one again. By the whole block.
template <WeightType kType, int kInputs, typename Job>
__device__ inline void stage_inputs(const Job& job, int n_inputs, std::int64_t first, int n_columns, int stride,
                                    float* staged) {
    decltype(job.template input<kInputs>(0)) inputs[kInputs];
#pragma unroll
    for (int t = 0; t < kInputs; ++t) inputs[t] = job.template input<kInputs>(t < n_inputs ? t : n_inputs - 1);
    for (int i = static_cast<int>(threadIdx.x); i < n_columns; i += static_cast<int>(blockDim.x)) {
        const int place = i / kPartWeights * kPartStride + i % kPartWeights;
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            const float value = inputs[t][first + i];
            staged[t * stride + place] = value;
            if constexpr (has_bias(kType)) {
                float sum = value;
#pragma unroll
                for (int distance = kPartWeights / 2; distance > 0; distance /= 2) {
                    sum += __shfl_xor_sync(kAllLanes, sum, distance);
                }
                if (i % kPartWeights == 0) staged[t * stride + place + kPartWeights] = sum;
            }
        }
    }
}

// sums[r][t] += the lane's share of rows[r] . inputs[t], n_parts parts of them from part
// `first` of the row of n_all, whose inputs lie in `staged`. A lane takes every 32nd part, in
// order: kRows and kInputs do not change a sum's bits.
template <WeightType kType, int kRows, int kInputs>
__device__ inline void add_block_products(const unsigned char* const (&rows)[kRows], int first, int n_parts, int n_all,
                                          const float* staged, int stride, int lane, float (&sums)[kRows][kInputs]) {
    // Enough loads in flight to hide the memory's latency, few enough to stay in
    // registers.
    constexpr int kAhead = kInputs == 1 ? 2 : 1;
    for (int begin = lane; begin < n_parts; begin += kAhead * kWarp) {
        RowPart<kType> parts[kAhead][kRows];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const int part = begin + a * kWarp;
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                if (part < n_parts) {
                    parts[a][r].load(rows[r], first + part, n_all);
                } else {
                    parts[a][r].clear();
                }
            }
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            const int part = begin + a * kWarp;
            if (part >= n_parts) break;
            const float* const x = staged + part * kPartStride;
            float products[kRows][kInputs] = {};
#pragma unroll
            for (int k = 0; k < kPartWeights / 4; ++k) {
                float codes[kRows][4];
#pragma unroll
                for (int r = 0; r < kRows; ++r) parts[a][r].quad(k, codes[r]);
#pragma unroll
                for (int t = 0; t < kInputs; ++t) {
                    const float4 four = *reinterpret_cast<const float4*>(x + t * stride + 4 * k);
#pragma unroll
                    for (int r = 0; r < kRows; ++r) {
                        float& product = products[r][t];
                        product = fmaf(codes[r][0], four.x, product);
                        product = fmaf(codes[r][1], four.y, product);
                        product = fmaf(codes[r][2], four.z, product);
                        product = fmaf(codes[r][3], four.w, product);
                    }
                }
            }
#pragma unroll
            for (int t = 0; t < kInputs; ++t) {
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    float& sum = sums[r][t];
                    sum = fmaf(parts[a][r].scale, products[r][t], sum);
                    if constexpr (has_bias(kType)) sum = fmaf(parts[a][r].bias, x[t * stride + kPartWeights], sum);
                }
            }
        }
    }
}

constexpr int kBlockThreads = 256;
constexpr int kBlockWarps = kBlockThreads / kWarp;

// Weight rows of a warp. More for more inputs: an input's values then serve several rows.
template <int kInputs>
constexpr int kRowsPerWarp = kInputs >= 8 ? 4 : 2;

// Blocks that a multiprocessor has registers for, at least.
template <int kInputs>
constexpr int kLeastBlocks = kInputs >= 8   ? 2
                             : kInputs >= 4 ? 3
                                            : 4;

// Products of a Job's rows with its inputs, both of which depend on the block (blockIdx.y
// and z); blockIdx.x selects the rows. Members of a Job:
//   n_rows, n_columns          of the weight rows of one block's job
//   n_inputs<kInputs>()        number of inputs that exist, of kInputs
//   input<kInputs>(t), row(r)  where they begin
//   store(r, t, sums)          takes the sums of kRowsPerWarp rows from row r with input
//   t
//   finish<kInputs>(r, n, flag)  behind them, by the whole block, whose n rows begin with
//   r; flag: a word of shared memory
template <RowType kRowsType, int kInputs, typename Job>
__global__ void __launch_bounds__(kBlockThreads, kLeastBlocks<kInputs>) block_products(Job job) {
    constexpr WeightType kType = static_cast<WeightType>(kRowsType);
    constexpr int kRows = kRowsPerWarp<kInputs>;
    float* const staged = shared_memory<float>();  // (kInputs, staged_stride())
    let_next_begin();
    wait_for_previous();
    const int n_inputs = job.template n_inputs<kInputs>();
    if (n_inputs <= 0) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first_row = (static_cast<std::int64_t>(blockIdx.x) * kBlockWarps + threadIdx.x / kWarp) * kRows;
    const unsigned char* rows[kRows];
    // Beyond the end the last one is taken again and its sums are dropped: the warp stays
    // together.
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = job.row(first_row + r < job.n_rows ? first_row + r : job.n_rows - 1);
    float sums[kRows][kInputs] = {};
    const int n_columns = static_cast<int>(job.n_columns);
    const int at_once = n_columns < kStagedColumns<kInputs> ? n_columns : kStagedColumns<kInputs>;
    const int stride = staged_stride(at_once);
    for (int first = 0; first < n_columns; first += at_once) {
        const int columns = n_columns - first < at_once ? n_columns - first : at_once;
        if (first > 0) __syncthreads();
        stage_inputs<kType, kInputs>(job, n_inputs, first, columns, stride, staged);
        __syncthreads();
        if (first_row >= job.n_rows) continue;
        add_block_products<kType, kRows, kInputs>(rows, first / kPartWeights, columns / kPartWeights,
                                                  n_columns / kPartWeights, staged, stride, lane, sums);
    }
    float mine[kRows] = {};  // for the input that this lane stores
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const float sum = warp_sum(sums[r][t]);
            if (lane == t) mine[r] = sum;
        }
    }
    if (lane < n_inputs && first_row < job.n_rows) job.template store<kInputs>(first_row, lane, mine);
    constexpr int kRowsOfBlock = kBlockWarps * kRows;
    job.template finish<kInputs>(std::int64_t{blockIdx.x} * kRowsOfBlock, kRowsOfBlock, reinterpret_cast<int*>(staged));
}

// Calls body with std::integral_constant<int, n>, for the numbers of inputs that
// block_products() is made for.
template <typename Body>
void with_block_inputs(std::int64_t n, const Body& body) {
    if (n <= 1) {
        body(std::integral_constant<int, 1>());
    } else if (n <= 4) {
        body(std::integral_constant<int, 4>());
    } else {
        body(std::integral_constant<int, 8>());
    }
}

// grid.x is found here.
template <int kInputs, typename Job>
void start_block_products(Worker& worker, WeightType type, dim3 grid, const Job& job) {
    const std::int64_t columns = job.n_columns < kStagedColumns<kInputs> ? job.n_columns : kStagedColumns<kInputs>;
    const auto bytes = static_cast<std::size_t>(kInputs * staged_stride(static_cast<int>(columns))) * sizeof(float);
    grid.x = blocks_for(job.n_rows, kBlockWarps * kRowsPerWarp<kInputs>);
    with_row_type(type, [&](auto block_type) {
        worker.start_dependent(block_products<kRowType<decltype(block_type)::value>, kInputs, Job>, grid, kBlockThreads,
                               bytes, job);
    });
}

}  // namespace offstage::kernels::cuda
