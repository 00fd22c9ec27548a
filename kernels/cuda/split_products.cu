// Few rows of split inputs (split_products.cuh, split_dots.cuh) with packed weights.
#include <algorithm>

#include "kernels/cuda/input_rounding.cuh"
#include "kernels/cuda/split_dots.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRoundThreads = 256;

// grid: (blocks of 64 inputs, calls, rows); a warp for each.
template <WeightType kType>
__global__ void __launch_bounds__(kRoundThreads)
    split_rows(FewCalls list, const float* inputs, const std::int32_t* row_token, std::int64_t n_columns,
               unsigned char* to) {
    const FewCall& call = list.call(blockIdx.y);
    const std::int64_t block =
        static_cast<std::int64_t>(blockIdx.x) * (kRoundThreads / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
    const int t = static_cast<int>(blockIdx.z);
    const std::int64_t n_blocks = n_columns / kPackedBlock;
    if (t >= call.n_rows || block >= n_blocks) return;  // whole warps
    const std::int64_t row = call.first_row + t;
    split_block<kType>(inputs + (row_token == nullptr ? row : row_token[row]) * n_columns, block, n_columns,
                       static_cast<int>(threadIdx.x) % kWarp, to + (call.scratch_row + t) * split_bytes(n_columns));
}

struct SplitJob {
    Gating gating;
    UpRows up_rows;  // also for a single matrix
    bool is_up = false;
    bool one_input = false;  // row 0 of `split`, for all calls
    bool staged = false;     // the kernel has kSplitStageBytes: from compute capability 8.0 on
    PackedPlaces places;
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    const unsigned char* split = nullptr;
    float* out = nullptr;  // activations, or a product's outputs
    FewCalls list;         // the end: see KernelCall::pack()

    SplitJob(const FewCalls& calls, const ExpertLayout& layout) : gating(layout), list(calls) {}
};

// Blocks of threads that a multiprocessor has registers for, at least.
template <WeightType kType, int kMatrices, int kGroups>
constexpr int kSplitBlocks = kGroups == 1 && SplitStage<kType, kMatrices>::kUsed ? 4
                             : kMatrices* kGroups >= 4                           ? 2
                                                                                 : 3;

// grid: (16 rows, calls). kGroups: of eight columns.
template <WeightType kType, int kMatrices, int kGroups>
__global__ void __launch_bounds__(kSplitThreads, kSplitBlocks<kType, kMatrices, kGroups>) multiply_split(SplitJob job) {
    float* const exchange = shared_memory<float>();  // kSplitSums<kMatrices, kGroups>, and before them stages
    let_next_begin();
    wait_for_previous();
    const FewCall& call = job.list.call(blockIdx.y);
    const auto* const weights = static_cast<const unsigned char*>(job.list.weights(blockIdx.y));
    if (weights == nullptr) return;  // the whole block
    const int row = static_cast<int>(threadIdx.x) % kWarp / 4;
    const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * kSplitRows;
    const unsigned char* rows[kMatrices][2];
    // Beyond the end the last one is taken again and dropped; so are inputs.
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const std::int64_t wanted = first_row + row + 8 * h;
        const std::int64_t r = wanted < job.n_rows ? wanted : job.n_rows - 1;
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) rows[m][h] = weights + r * job.up_rows.stride + job.up_rows.offsets[m];
    }
    const unsigned char* const split = job.split + (job.one_input ? 0 : call.scratch_row) * split_bytes(job.n_columns);
    constexpr bool kStaged = SplitStage<kType, kMatrices>::kUsed;
    store_split_sums<kType, kMatrices, kGroups, kStaged>(
        rows, job.places, split, call.n_rows, job.n_columns, exchange,
        job.staged ? reinterpret_cast<unsigned char*>(exchange) : nullptr);
    __syncthreads();
    const int r = static_cast<int>(threadIdx.x) % kSplitRows;
    const int t = static_cast<int>(threadIdx.x) / kSplitRows;
    if (t >= call.n_rows || first_row + r >= job.n_rows) return;
    float whole[kMatrices];
#pragma unroll
    for (int m = 0; m < kMatrices; ++m) whole[m] = split_sum<kMatrices, kGroups>(exchange, m, r, t);
    if (job.is_up) {
        job.up_rows.store(job.gating, weights, first_row + r, whole,
                          job.out + (call.scratch_row + t) * job.n_rows + first_row + r);
    } else {
        job.out[(call.first_row + t) * job.n_rows + first_row + r] = whole[0];
    }
}

void start_rows(Worker& worker, WeightType type, const FewCalls& list, int n_inputs, const float* inputs,
                const std::int32_t* row_token, std::int64_t n_columns, unsigned char* split) {
    const dim3 grid(blocks_for(n_columns, kPackedBlock * (kRoundThreads / kWarp)), static_cast<unsigned>(list.n),
                    static_cast<unsigned>(n_inputs));
    with_packed_type(type, [&](auto packed) {
        worker.start(split_rows<decltype(packed)::value>, grid, kRoundThreads, 0, list, inputs, row_token, n_columns,
                     split);
    });
}

template <int kMatrices>
void start_products(Worker& worker, WeightType type, int n_inputs, SplitJob job) {
    const dim3 grid(blocks_for(job.n_rows, kSplitRows), static_cast<unsigned>(job.list.n));
    with_packed_type(type, [&](auto packed) {
        constexpr WeightType kType = decltype(packed)::value;
        constexpr std::size_t kStages = kSplitStageBytes<kType, kMatrices>;
        job.staged = kStages > 0 && worker.compute_major >= 8;
        const auto start = [&](auto* kernel, int n_groups) {
            const auto sums = static_cast<std::size_t>(kSplitSums<kMatrices, 1> * n_groups) * sizeof(float);
            worker.start_dependent(kernel, grid, kSplitThreads, std::max(sums, job.staged ? kStages : std::size_t{0}),
                                   job);
        };
        if (n_inputs <= 2) {
            start(multiply_split<kType, kMatrices, 1>, 1);
        } else if (n_inputs <= 5) {
            start(multiply_split<kType, kMatrices, 2>, 2);
        } else {
            start(multiply_split<kType, kMatrices, 3>, 3);
        }
    });
}

}  // namespace

bool splits_inputs(WeightType type, std::int64_t n_columns) {
    return is_packed(type) && n_columns % (kBlocksAtOnce * kPackedBlock) == 0;
}

void split_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
              const FewCalls& list, const float* inputs, const std::int32_t* row_token, unsigned char* split,
              float* activations) {
    if (inputs != nullptr) start_rows(worker, type, list, n_inputs, inputs, row_token, layout.hidden_dim, split);
    SplitJob job(list, layout);
    job.up_rows = rows;
    job.is_up = true;
    job.one_input = inputs == nullptr;
    job.places = places_of(type, layout.hidden_dim);
    job.n_rows = layout.ffn_dim;
    job.n_columns = layout.hidden_dim;
    job.split = split;
    job.out = activations;
    with_matrices(rows, [&](auto matrices) { start_products<decltype(matrices)::value>(worker, type, n_inputs, job); });
}

void split_product(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, unsigned char* split,
                   float* y) {
    FewCalls list;
    list.n = 1;
    list.calls[0] = {weight.data, 0, static_cast<std::int32_t>(n), 0, 0, 0};
    start_rows(worker, weight.type, list, static_cast<int>(n), x, nullptr, weight.n_cols, split);
    SplitJob job(list, ExpertLayout());
    job.up_rows.stride = static_cast<std::int64_t>(weight.stride_bytes());
    job.places = places_of(weight.type, weight.n_cols);
    job.n_rows = weight.n_rows;
    job.n_columns = weight.n_cols;
    job.split = split;
    job.out = y;
    start_products<1>(worker, weight.type, static_cast<int>(n), job);
}

}  // namespace offstage::kernels::cuda
