// Few rows of rounded inputs (byte_products.cuh) with files' blocks. A warp forms two
// outputs of each input; a lane takes every 32nd part of 16 weights, four products and
// their sum in an instruction.
#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/expert_job.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRows = 2;  // of a warp

// What the codes are counted from where they are not signed: the inputs' sum takes it
// away.
template <WeightType kType>
constexpr int kCodesBegin = code_zero(kType) == 128 ? 0 : code_zero(kType);

// What kInputs is does not change a sum's bits.
template <WeightType kType, int kInputs>
__global__ void __launch_bounds__(kBlockThreads, kLeastBlocks<kInputs>) byte_products(ExpertJob job) {
    const FewCall& call = job.list.calls[blockIdx.y];
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kBlockWarps + threadIdx.x / kWarp) * kRows;
    if (first >= job.n_rows || job.template n_inputs<kInputs>() <= 0) return;
    const unsigned char* rows[kRows];
    // Beyond the end the last one is taken again and its sums are dropped.
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = job.row(first + r < job.n_rows ? first + r : job.n_rows - 1);
    const std::int64_t row_bytes = rounded_bytes(job.n_columns);
    const unsigned char* const inputs = job.rounded + call.scratch_row * row_bytes;
    const int n_parts = static_cast<int>(job.n_columns / kPartWeights);
    float sums[kRows][kInputs] = {};
    // Enough loads in flight to hide the memory's latency.
#pragma unroll(kInputs == 1 ? 2 : 1)
    for (int part = lane; part < n_parts; part += kWarp) {
        RowPart<kType> parts[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            parts[r].load(rows[r], part);
            if constexpr (kCodesBegin<kType> == 0) {
#pragma unroll
                for (unsigned& word : parts[r].words) word = signed_codes<kType>(word);
            }
        }
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            if (t >= call.n_rows) break;
            const unsigned char* const x = inputs + t * row_bytes;
            const uint4 codes = reinterpret_cast<const uint4*>(x)[part];
            const InputPart of_part = reinterpret_cast<const InputPart*>(x + job.n_columns)[part];
            const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                int dot = -kCodesBegin<kType> * of_part.sum;
#pragma unroll
                for (int w = 0; w < 4; ++w) {
                    dot = __dp4a(static_cast<int>(parts[r].words[w]), static_cast<int>(words[w]), dot);
                }
                float& sum = sums[r][t];
                sum = fmaf(parts[r].scale * of_part.scale, static_cast<float>(dot), sum);
                if constexpr (has_bias(kType)) {
                    sum = fmaf(parts[r].bias * of_part.scale, static_cast<float>(of_part.sum), sum);
                }
            }
        }
    }
    float mine[kRows] = {};  // of the input that this lane stores
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
    with_block_type(type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        worker.start(n_inputs == 1 ? byte_products<kType, 1> : byte_products<kType, 8>, grid, kBlockThreads, 0, job);
    });
}

}  // namespace

void byte_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
             const FewCalls& list, const unsigned char* rounded, float* activations) {
    ExpertJob job = ExpertJob::up(list, layout, rows, activations);
    job.rounded = rounded;
    start(worker, type, n_inputs, job);
}

void byte_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
               const unsigned char* rounded, float* out) {
    ExpertJob job = ExpertJob::of_w2(list, layout, out);
    job.rounded = rounded;
    start(worker, layout.down, n_inputs, job);
}

void byte_product(Worker& worker, const WeightView& weight, int n_inputs, const FewCalls& list,
                  const unsigned char* rounded, float* y) {
    ExpertJob job = ExpertJob::of_matrix(list, weight, y);
    job.rounded = rounded;
    start(worker, weight.type, n_inputs, job);
}

}  // namespace offstage::kernels::cuda
