// Few rows of rounded inputs (byte_products.cuh) with files' blocks. A warp forms two
// outputs of each input; a lane takes every 32nd pair of parts of 16 weights, four
// products and their sum in an instruction.
#include "kernels/cuda/block_dots.cuh"
#include "kernels/cuda/byte_dots.cuh"
#include "kernels/cuda/expert_job.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRows = 2;  // of a warp

// Neither kInputs nor the address of the rows changes a sum's bits.
//
// Some types take more registers than most, and on compute capability 12.0 more of them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr bool kTakesMore = true;
#else
constexpr bool kTakesMore = false;
#endif
template <int kInputs>
constexpr int blocks_of(WeightType type) {
    switch (type) {
        case WeightType::kIq3S:
            return 2;
        case WeightType::kQ2K:
            return kInputs > 1 ? kLeastBlocks<kInputs> : kTakesMore ? 2 : 3;
        case WeightType::kQ6K:
            return kTakesMore && kInputs == 1 ? 2 : kLeastBlocks<kInputs>;
        case WeightType::kQ3K:
            return kTakesMore ? (kInputs == 1 ? 3 : 1) : kLeastBlocks<kInputs>;
        case WeightType::kQ5K:
        case WeightType::kIq4Xs:
        case WeightType::kIq1M:
            return kTakesMore && kInputs == 1 ? 3 : kLeastBlocks<kInputs>;
        default:
            return kLeastBlocks<kInputs>;
    }
}

template <RowType kRowsType, int kInputs>
__global__ void __launch_bounds__(kBlockThreads, blocks_of<kInputs>(static_cast<WeightType>(kRowsType)))
    byte_products(ExpertJob job) {
    constexpr WeightType kType = static_cast<WeightType>(kRowsType);
    const FewCall& call = job.list.call(blockIdx.y);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kBlockWarps + threadIdx.x / kWarp) * kRows;
    if (first >= job.n_rows || job.template n_inputs<kInputs>() <= 0) return;
    const unsigned char* rows[kRows];
    // Beyond the end the last one is taken again and its sums are dropped.
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = job.row(first + r < job.n_rows ? first + r : job.n_rows - 1);
    const unsigned char* const inputs = job.rounded + call.scratch_row * rounded_bytes(job.n_columns);
    float sums[kRows][kInputs] = {};
    add_rows_in_place<kType>(rows, inputs, call.n_rows, job.n_columns, lane, sums);
    float mine[kRows] = {};  // for the input that this lane stores
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        if (t >= call.n_rows) break;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const float sum = warp_sum(sums[r][t]);
            if (lane == t) mine[r] = sum;
        }
    }
    if (lane < call.n_rows) job.template store<kInputs>(first, lane, mine);
}

void start(Worker& worker, WeightType type, int n_inputs, const ExpertJob& job) {
    const dim3 grid(blocks_for(job.n_rows, kBlockWarps * kRows), static_cast<unsigned>(job.list.n));
    with_row_type(type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        constexpr RowType kRowsType = kRowType<kType>;
        worker.start(n_inputs == 1 ? byte_products<kRowsType, 1> : byte_products<kRowsType, 8>, grid, kBlockThreads, 0,
                     job);
    });
}

}  // namespace

void byte_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
             const FewCalls& list, const unsigned char* rounded, float* activations) {
    ExpertJob job = ExpertJob::up(list, layout, rows, activations);
    job.rounded = rounded;
    start(worker, row_type(worker, layout, rows, type), n_inputs, job);
}

void byte_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
               const unsigned char* rounded, float* out) {
    ExpertJob job = ExpertJob::of_w2(list, layout, out);
    job.rounded = rounded;
    start(worker, row_type(worker, any_expert(layout).down()), n_inputs, job);
}

void byte_product(Worker& worker, const WeightView& weight, int n_inputs, const FewCalls& list,
                  const unsigned char* rounded, float* y) {
    ExpertJob job = ExpertJob::of_matrix(list, weight, y);
    job.rounded = rounded;
    start(worker, row_type(worker, weight), n_inputs, job);
}

}  // namespace offstage::kernels::cuda
