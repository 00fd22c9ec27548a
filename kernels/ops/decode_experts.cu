// ops::DecodeExperts in three to five kernels: router, up and down. Files' blocks with
// rounded inputs: up forms 32 neurons in a block, which are rounded together, in down a
// warp forms a row of all chosen experts; up and down of shared experts come before them.
// Other layouts: the kernels of ops::ChosenExperts, where the last block of w2 with some
// columns adds all experts' to x.

#include "kernels/cuda/byte_dots.cuh"
#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/expert_sums.cuh"
#include "kernels/cuda/input_rounding.cuh"
#include "kernels/cuda/row_norm.cuh"
#include "kernels/cuda_product_table.h"
#include "kernels/router.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kUpThreads = 256;
constexpr int kUpWarps = kUpThreads / kWarp;
constexpr int kUpNeurons = 32;  // with one scale

// The chosen experts, by blockIdx.y in up, or the shared ones.
struct DecodeBytes {
    const std::byte* const* blocks;
    const std::int32_t* chosen;
    const unsigned char* shared;  // a block, instead of the two
    std::int32_t n_active;
    std::int64_t hidden_dim;
    UpRows up_rows;
    Gating gating;
    std::int64_t down_offset;
    std::int64_t down_stride;
    const unsigned char* input;  // rounded
    unsigned char* activations;  // (n_active) rows, rounded
    const float* weights;
    float* x;
    // Of the shared experts: their weight, which the last block of up writes.
    float* shared_weight;
    float shared_factor;
    const float* gate;  // (hidden_dim); nullptr: shared_factor
    const float* normalised;
    bool staged;  // the kernel has stage_bytes()

    __device__ const unsigned char* block(unsigned a) const {
        if (shared != nullptr) return shared;
        return reinterpret_cast<const unsigned char*>(blocks[chosen[a]]);
    }
};

// Blocks that a multiprocessor has registers for; 0: the compiler chooses. For these it
// chooses one too many.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <WeightType kType>
constexpr int kUpBlocks = kType == WeightType::kQ3K || kType == WeightType::kQ6K ? 3 : 0;
#else
template <WeightType kType>
constexpr int kUpBlocks = kType == WeightType::kQ3K ||
                                  kType == laid_out(WeightType::kIq4Nl) || kType == laid_out(WeightType::kQ6K)
                              ? 3
                              : 0;
#endif

template <WeightType kType>
constexpr int kDownBlocks = kType == laid_out(WeightType::kIq4Nl) ? 4 : 0;

// grid: (32 neurons, chosen experts), or (32 neurons and one block more, 1).
template <RowType kRows>
__global__ void __launch_bounds__(kUpThreads, kUpBlocks<static_cast<WeightType>(kRows)>) decode_up(DecodeBytes job) {
    constexpr WeightType kType = static_cast<WeightType>(kRows);
    float* const values = shared_memory<float>();  // (kUpNeurons), then stages
    let_next_begin();
    wait_for_previous();
    if (job.shared != nullptr && blockIdx.x + 1 == gridDim.x) {
        static_assert(kRowWarps <= kUpNeurons, "the sums lie there");
        float weight = job.shared_factor;
        if (job.gate != nullptr) {
            weight = 1.0f / (1.0f + expf(-row_sum(job.gate, job.normalised, job.hidden_dim, values)));
        }
        if (threadIdx.x == 0) *job.shared_weight = weight;
        return;
    }
    const unsigned char* const weights = job.block(blockIdx.y);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const std::int64_t first = std::int64_t{blockIdx.x} * kUpNeurons;
    unsigned char* const stages =
        stages_of_warp<kType, 2>(job.staged, reinterpret_cast<unsigned char*>(values + kUpNeurons));
    const unsigned char* row = weights + (first + warp) * job.up_rows.stride;
    for (int n = warp; n < kUpNeurons; n += kUpWarps, row += kUpWarps * job.up_rows.stride) {
        const unsigned char* const rows[2] = {row + job.up_rows.offsets[0], row + job.up_rows.offsets[1]};
        float sums[2][1] = {};
        add_byte_rows<kType, 2, true>(rows, job.input, job.hidden_dim, lane, stages, sums);
        const float both[2] = {warp_sum(sums[0][0]), warp_sum(sums[1][0])};
        if (lane == 0) job.up_rows.store(job.gating, weights, first + n, both, values + n);
    }
    __syncthreads();
    if (warp != 0) return;
    const std::int64_t ffn_dim = job.gating.ffn_dim;
    store_rounded(values[lane], first + lane, ffn_dim, job.activations + blockIdx.y * rounded_bytes(ffn_dim));
}

// A warp for each row, x among them.
template <RowType kRows>
__global__ void __launch_bounds__(kUpThreads, kDownBlocks<static_cast<WeightType>(kRows)>)
    decode_down(DecodeBytes job) {
    constexpr WeightType kType = static_cast<WeightType>(kRows);
    let_next_begin();
    wait_for_previous();
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int row = static_cast<int>(blockIdx.x) * kUpWarps + static_cast<int>(threadIdx.x) / kWarp;
    if (row >= job.hidden_dim) return;
    unsigned char* const stages = stages_of_warp<kType, 1>(job.staged, shared_memory<unsigned char>());
    const std::int64_t ffn_dim = job.gating.ffn_dim;
    float result = job.x[row];
    const unsigned char* activations = job.activations;
    for (std::int32_t a = 0; a < job.n_active; ++a) {
        const unsigned char* const weights = job.block(static_cast<unsigned>(a));
        const unsigned char* const rows[1] = {weights + job.down_offset + row * job.down_stride};
        float sums[1][1] = {};
        add_byte_rows<kType, 1, true>(rows, activations, ffn_dim, lane, stages, sums);
        float sum = warp_sum(sums[0][0]);
        if (job.gating.spec.biases) sum += job.gating.biases(weights)[2 * ffn_dim + row];
        activations += rounded_bytes(ffn_dim);
        result = fmaf(job.weights[a], sum, result);
    }
    if (lane == 0) job.x[row] = result;
}

// In the order of a layer's kernels behind the router.
enum class DecodeForm : std::uint8_t { kOperations, kBytes, kSplitInputs, kFloatInputs };

// Which kernels compute a layer's experts: the first row that fits. Others are computed
// by the operations.
struct DecodeRow {
    std::uint8_t up, down;  // weights
    bool by_outputs;        // the rows of w2 are outputs
    ProductInputs inputs;   // of up and down
    bool splits;            // w1 and w3 are of one format that splits its inputs
    DecodeForm form;
};
constexpr DecodeRow kDecodeForms[] = {
    {weights::kBlocks, weights::kBlocks, true, ProductInputs::kBytes, false, DecodeForm::kBytes},
    {weights::kBlocks, weights::kBlocks, true, ProductInputs::kFloat, false, DecodeForm::kFloatInputs},
    {weights::kPacked, weights::kPacked | weights::kPlain, false, ProductInputs::kFloat, true,
     DecodeForm::kSplitInputs},
    {weights::kPlain, weights::kPacked | weights::kPlain, false, ProductInputs::kFloat, false,
     DecodeForm::kFloatInputs},
};

DecodeForm form_of(const Worker& worker, const ExpertLayout& layout) {
    if (layout.gate != layout.up) return DecodeForm::kOperations;
    const bool rounds = worker.byte_inputs.rounds_few(layout.gate);
    if (rounds != worker.byte_inputs.rounds_few(layout.down)) return DecodeForm::kOperations;
    const bool splits = splits_inputs(layout.gate, layout.hidden_dim);
    for (const DecodeRow& row : kDecodeForms) {
        if ((row.up & weights_of(layout.gate)) != 0 && (row.down & weights_of(layout.down)) != 0 &&
            row.by_outputs == layout.down_rows_are_outputs && (row.inputs == ProductInputs::kBytes) == rounds &&
            row.splits == splits) {
            return row.form;
        }
    }
    return DecodeForm::kOperations;
}

DecodeInputs inputs_of(DecodeForm form) {
    return form == DecodeForm::kBytes         ? DecodeInputs::kRounded
           : form == DecodeForm::kSplitInputs ? DecodeInputs::kSplit
                                              : DecodeInputs::kFloat;
}

// What both kinds of experts have.
DecodeBytes bytes_job(const ops::DecodeExperts& op, const ExpertLayout& layout, const unsigned char* input,
                      unsigned char* activations) {
    DecodeBytes job{};
    job.n_active = 1;
    job.hidden_dim = layout.hidden_dim;
    for_each_up(layout, [&](const UpRows& rows, WeightType) { job.up_rows = rows; });
    job.gating = Gating(layout);
    job.down_offset = static_cast<std::int64_t>(layout.down_offset());
    job.down_stride = static_cast<std::int64_t>(layout.down_stride());
    job.input = input;
    job.activations = activations;
    job.x = op.x;
    return job;
}

void add_in_bytes(Worker& worker, const ExpertLayout& layout, unsigned n_up_blocks, DecodeBytes job) {
    with_row_type(row_type(worker, any_expert(layout).gate()), [&](auto type) {
        constexpr WeightType kType = decltype(type)::value;
        constexpr std::size_t kValues = kUpNeurons * sizeof(float);
        static_assert(kUpWarps * RowStages<kType>::template kOfWarp<2> + kValues <= kMostSharedBytes, "they fit");
        const std::size_t stages = stage_bytes<kType, 2>(worker, kUpWarps, kValues);
        job.staged = stages > 0;
        worker.start_dependent(decode_up<kRowType<kType>>, dim3(n_up_blocks, static_cast<unsigned>(job.n_active)),
                               kUpThreads, kValues + stages, job);
    });
    with_row_type(row_type(worker, any_expert(layout).down()), [&](auto type) {
        constexpr WeightType kType = decltype(type)::value;
        const std::size_t stages = stage_bytes<kType, 1>(worker, kUpWarps, 0);
        job.staged = stages > 0;
        worker.start_dependent(decode_down<kRowType<kType>>, blocks_for(layout.hidden_dim, kUpWarps), kUpThreads,
                               stages, job);
    });
}

void add_chosen_in_bytes(Worker& worker, const ops::DecodeExperts& op, const unsigned char* input,
                         unsigned char* activations) {
    DecodeBytes job = bytes_job(op, op.layout, input, activations);
    job.blocks = op.blocks;
    job.chosen = op.chosen;
    job.n_active = op.router.n_active;
    job.weights = op.weights;
    add_in_bytes(worker, op.layout, blocks_for(op.layout.ffn_dim, kUpNeurons), job);
}

void add_shared_in_bytes(Worker& worker, const ops::DecodeExperts& op, const unsigned char* input,
                         unsigned char* activations, float* weight) {
    const ExpertLayout& layout = op.shared.layout;
    DecodeBytes job = bytes_job(op, layout, input, activations);
    job.shared = static_cast<const unsigned char*>(op.shared.data);
    job.weights = job.shared_weight = weight;
    job.shared_factor = op.shared_factor;
    job.gate = op.shared_gate;
    job.normalised = op.normalised;
    add_in_bytes(worker, layout, blocks_for(layout.ffn_dim, kUpNeurons) + 1, job);
}

// False: nothing was done.
bool compute_in_few_kernels(Worker& worker, const ops::DecodeExperts& op) {
    const ExpertLayout& layout = op.layout;
    const DecodeForm form = form_of(worker, layout);
    const std::int64_t n_active = op.router.n_active;
    if (form == DecodeForm::kOperations || worker.arrivals == nullptr || n_active > kMostActiveExperts ||
        arrivals_of(layout, n_active) > kArrivals || !routes_in_one_kernel(op)) {
        return false;
    }
    const bool bytes = form == DecodeForm::kBytes;
    const bool shares = op.shared.data != nullptr;
    if (shares && (!bytes || form_of(worker, op.shared.layout) != form)) return false;
    const std::int64_t input_bytes = split_bytes(layout.hidden_dim);  // more than rounded_bytes()
    const std::size_t needed =
        Scratch::rounded(static_cast<std::size_t>(op.router.n_experts) * sizeof(float)) +
        Scratch::rounded(static_cast<std::size_t>(input_bytes)) +
        (bytes ? Scratch::rounded(static_cast<std::size_t>(n_active * rounded_bytes(layout.ffn_dim)))
               : chosen_experts_bytes(layout, n_active)) +
        (shares ? Scratch::rounded(sizeof(float)) +
                      Scratch::rounded(static_cast<std::size_t>(rounded_bytes(op.shared.layout.ffn_dim)))
                : 0);
    worker.scratch.restart();
    if (worker.scratch.left() < needed) return false;
    auto* const logits = worker.scratch.take<float>(op.router.n_experts);
    auto* const input = worker.scratch.take<unsigned char>(input_bytes);
    route_in_one_kernel(worker, op, inputs_of(form), logits, input);
    if (!worker.failure.none()) return true;  // the choice is garbage: no address may follow from it
    if (shares) {
        auto* const weight = worker.scratch.take<float>(1);
        add_shared_in_bytes(worker, op, input,
                            worker.scratch.take<unsigned char>(rounded_bytes(op.shared.layout.ffn_dim)), weight);
    }
    if (bytes) {
        add_chosen_in_bytes(worker, op, input,
                            worker.scratch.take<unsigned char>(n_active * rounded_bytes(layout.ffn_dim)));
    } else {
        add_chosen_experts(worker, op, form == DecodeForm::kSplitInputs ? input : nullptr);
    }
    return true;
}

}  // namespace
}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

void compute(cuda::Worker& worker, const DecodeExperts& op) {
    if (cuda::compute_in_few_kernels(worker, op)) return;
    op.for_each([&](const auto& part) {
        if (worker.failure.none()) compute(worker, part);
    });
}

}  // namespace offstage::kernels::ops
