// Few rows of rounded inputs (byte_products.cuh) with files' blocks. A warp forms two
// outputs of each input; a lane takes every 32nd pair of parts of 16 weights, four
// products and their sum in an instruction.
#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/expert_job.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kRows = 2;  // of a warp

// The value of code 0 in unsigned codes. The inputs' sum corrects for it.
template <WeightType kType>
constexpr int kCodesBegin = code_zero(kType) == 128 ? 0 : code_zero(kType);

// sums[r][t] += the lane's share of rows[r] with input t: every 32nd pair of parts.
template <WeightType kType, int kInputs, bool kAligned>
__device__ inline void add_byte_products(const unsigned char* const (&rows)[kRows], const unsigned char* inputs,
                                         int n_inputs, std::int64_t n_columns, int lane,
                                         float (&sums)[kRows][kInputs]) {
    using Pair = BlockPair<kType>;
    const int n_pairs = static_cast<int>(n_columns / (2 * kPartWeights));
    const std::int64_t row_bytes = rounded_bytes(n_columns);
    // Enough loads in flight to hide the memory's latency.
#pragma unroll(kInputs == 1 && !has_codebook(kType) ? 2 : 1)
    for (int index = lane; index < n_pairs; index += kWarp) {
        const int block = index / Pair::kPairs;
        const int pair = index % Pair::kPairs;
        Pair pairs[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            pairs[r].template load<kAligned>(rows[r] + static_cast<std::int64_t>(block) * BlockSizes<kType>::kBytes,
                                             pair);
            if constexpr (kCodesBegin<kType> == 0) {
#pragma unroll
                for (auto& of_part : pairs[r].words) {
#pragma unroll
                    for (unsigned& word : of_part) word = signed_codes<kType>(word);
                }
            }
        }
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            if (t >= n_inputs) break;
            const unsigned char* const x = inputs + t * row_bytes;
            uint4 codes[2];
            InputPart of_part[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int part = block * BlockSizes<kType>::kParts + Pair::part_of(pair, i);
                codes[i] = reinterpret_cast<const uint4*>(x)[part];
                of_part[i] = reinterpret_cast<const InputPart*>(x + n_columns)[part];
            }
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                float& sum = sums[r][t];
                int dot = 0;
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const unsigned words[4] = {codes[i].x, codes[i].y, codes[i].z, codes[i].w};
                    if (i == 0 || !Pair::kOneScale) dot = 0;
                    if constexpr (kCodesBegin<kType> != 0) dot -= kCodesBegin<kType> * of_part[i].sum;
#pragma unroll
                    for (int w = 0; w < 4; ++w) {
                        dot = __dp4a(static_cast<int>(pairs[r].words[i][w]), static_cast<int>(words[w]), dot);
                    }
                    if (i == 0 && Pair::kOneScale) continue;  // both parts' inputs have one scale, too
                    const BlockPart& weights = pairs[r].parts[Pair::kOneScale ? 0 : i];
                    sum = fmaf(weights.scale * of_part[i].scale, static_cast<float>(dot), sum);
                    if constexpr (has_bias(kType)) {
                        const int total = Pair::kOneScale ? of_part[0].sum + of_part[1].sum : of_part[i].sum;
                        sum = fmaf(weights.bias * of_part[i].scale, static_cast<float>(total), sum);
                    }
                }
            }
        }
    }
}

// Neither kInputs nor the address of the rows changes a sum's bits.
template <WeightType kType, int kInputs>
__global__ void __launch_bounds__(kBlockThreads, kLeastBlocks<kInputs>) byte_products(ExpertJob job) {
    const FewCall& call = job.list.calls[blockIdx.y];
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kBlockWarps + threadIdx.x / kWarp) * kRows;
    if (first >= job.n_rows || job.template n_inputs<kInputs>() <= 0) return;
    const unsigned char* rows[kRows];
    bool aligned = BlockSizes<kType>::kVector;
    // Beyond the end the last one is taken again and its sums are dropped.
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        rows[r] = job.row(first + r < job.n_rows ? first + r : job.n_rows - 1);
        aligned = aligned && is_aligned(rows[r]);
    }
    const unsigned char* const inputs = job.rounded + call.scratch_row * rounded_bytes(job.n_columns);
    float sums[kRows][kInputs] = {};
    if (BlockSizes<kType>::kVector && aligned) {
        add_byte_products<kType, kInputs, BlockSizes<kType>::kVector>(rows, inputs, call.n_rows, job.n_columns, lane,
                                                                      sums);
    } else {
        add_byte_products<kType, kInputs, false>(rows, inputs, call.n_rows, job.n_columns, lane, sums);
    }
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
