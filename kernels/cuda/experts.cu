// Experts in any layout. Few rows: three kernels over all calls of a layer, which read
// each weight once.
//   up:     activations[row][j] = activation(w1_j . x, w3_j . x)
//   down:   for each stretch of neurons: partials[stretch][row] = sum over its j of
//           activation * w2_j
//   gather: out[row] = the partials added in order
// Plain weights have their kernels for up and down in plain_experts.cu, packed ones in
// split_products.cu, packed_experts.cu and down_products.cu, blocks in block_experts.cu,
// and bf16 with 3 to 8 rows in few_products.cu. Where w1 and w3
// are of different formats, up is two kernels; where the rows of w2 are outputs, down is
// a product with a matrix, for each call or (blocks) for all. No sum depends on when a
// block runs, so results do not vary from run to run; nor do they depend on the other
// calls. Many rows: products of matrices, as they lie in the block; packed ones of all
// calls together (packed_tiles.cu).
#include <algorithm>

#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/expert_sums.cuh"
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/packed_tiles.cuh"
#include "kernels/cuda/split_products.cuh"
#include "kernels/ops/add_bias.h"
#include "kernels/ops/chosen_experts.h"
#include "kernels/ops/experts.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kGatherThreads = 64;
constexpr std::int64_t kBatchRows = 512;  // an expert with many rows, at once

// A thread adds up kColumns columns of a row.
template <int kColumns>
__global__ void __launch_bounds__(kGatherThreads)
    expert_gather(FewCalls list, Gating gating, std::int64_t hidden_dim, const float* partials, float* out) {
    const FewCall& call = list.call(blockIdx.z);
    const std::int64_t row = blockIdx.y;
    const std::int64_t column = (std::int64_t{blockIdx.x} * kGatherThreads + threadIdx.x) * kColumns;
    if (row >= call.n_rows || column >= hidden_dim) return;
    float sums[kColumns] = {};
    add_stretches(call, row, hidden_dim, column, partials, sums);
    // The expert's address is needed only now: read earlier, it would delay the loads.
    const void* const weights = list.weights(blockIdx.z);
    if (weights == nullptr) return;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
        if (gating.spec.biases) sums[i] += gating.biases(weights)[2 * gating.ffn_dim + column + i];
        out[(call.first_row + row) * hidden_dim + column + i] = sums[i];
    }
}

std::size_t few_bytes(std::int64_t hidden_dim, std::int64_t ffn_dim, std::int64_t n_rows) {
    const auto floats = [](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
    const std::int64_t wider = hidden_dim > ffn_dim ? hidden_dim : ffn_dim;
    return Scratch::rounded(floats(n_rows * ffn_dim)) +
           Scratch::rounded(floats(n_rows * n_stretches(ffn_dim, n_rows) * hidden_dim)) +
           Scratch::rounded(static_cast<std::size_t>(n_rows * split_bytes(wider)));  // more than rounded_bytes()
}

// Whether plain rows of a matrix can be read 16 bytes at a time in all calls.
bool are_aligned(const FewCalls& list, std::int64_t hidden_dim, std::size_t offset, std::size_t stride) {
    bool aligned = hidden_dim % kEight == 0 && offset % 16 == 0 && stride % 16 == 0;
    for (int c = 0; c < list.n; ++c) aligned = aligned && is_aligned(list.calls[c].weights);
    return aligned;
}

// The activations of a list's calls, from w1 and w3 or one of them. rounded: the inputs
// in 8 bits, or room for split ones (inputs nullptr: the one that all calls have, split).
void start_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
              const FewCalls& list, const float* inputs, const std::int32_t* row_token, unsigned char* rounded,
              float* activations) {
    const bool aligned =
        is_plain(type) && is_aligned(inputs) &&
        are_aligned(list, layout.hidden_dim, static_cast<std::size_t>(rows.offsets[0] | rows.offsets[1]),
                    static_cast<std::size_t>(rows.stride));
    const bool rounds = worker.byte_inputs.rounds_few(type);
    ProductCase product{ProductOf::kUp, weights_of(type), rounds ? ProductInputs::kBytes : ProductInputs::kFloat,
                        n_inputs};
    product.facts = product_facts(worker, type) | (aligned ? product_needs::kAligned : 0) |
                    (splits_inputs(type, layout.hidden_dim) ? product_needs::kWhole : 0);
    switch (find_cuda_product(product)) {
        case CudaProduct::kByteUp:
            byte_up(worker, layout, rows, type, n_inputs, list, rounded, activations);
            return;
        case CudaProduct::kSplitUp:
            split_up(worker, layout, rows, type, n_inputs, list, inputs, row_token, rounded, activations);
            return;
        case CudaProduct::kPackedUp:
            packed_up(worker, layout, rows, type, n_inputs, list, inputs, row_token, activations);
            return;
        case CudaProduct::kBlockUp:
            block_up(worker, layout, rows, type, n_inputs, list, inputs, row_token, activations);
            return;
        case CudaProduct::kTensorCoreUp:
            up_on_tensor_cores(worker, layout, rows, list, inputs, row_token, activations);
            return;
        default:
            plain_up(worker, layout, rows, type, n_inputs, list, aligned, inputs, row_token, activations);
    }
}

// w2 with the activations. rounded: room for the activations of a list in 8 bits. Where
// the rows of w2 are outputs `out` is whole then; otherwise partials are to be added up.
void start_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                const float* activations, unsigned char* rounded, float* partials, float* out,
                const TokenSum& token = {}) {
    const bool aligned = is_plain(layout.down) && !layout.down_rows_are_outputs &&
                         are_aligned(list, layout.hidden_dim, layout.down_offset(), layout.down_stride());
    const bool rounds = worker.byte_inputs.rounds_few(layout.down);
    ProductCase product{ProductOf::kDown, weights_of(layout.down),
                        rounds ? ProductInputs::kBytes : ProductInputs::kFloat, n_inputs};
    product.facts = product_facts(worker, layout.down) | (aligned ? product_needs::kAligned : 0) |
                    (layout.down_rows_are_outputs ? product_needs::kByOutputs : 0) |
                    (has_whole_columns(layout) ? product_needs::kWhole : 0);
    switch (find_cuda_product(product)) {
        case CudaProduct::kByteDown:
            round_activations(worker, list, activations, layout.ffn_dim, rounded);
            byte_down(worker, layout, n_inputs, list, rounded, out);
            return;
        case CudaProduct::kBlockDown:
            block_down(worker, layout, n_inputs, list, activations, out, token);
            return;
        case CudaProduct::kHeadsDown:
            for (int c = 0; c < list.n; ++c) {
                const FewCall& call = list.calls[c];
                const ExpertView expert{call.weights, layout};
                float* const rows = out + call.first_row * layout.hidden_dim;
                multiply_heads(worker, expert.down(), 1,
                               {activations + call.scratch_row * layout.ffn_dim, layout.ffn_dim, 0}, call.n_rows,
                               {rows, layout.hidden_dim, 0});
                if (layout.spec.biases) {
                    compute(worker, ops::AddBias{expert.biases().down, call.n_rows, layout.hidden_dim, rows});
                }
            }
            return;
        case CudaProduct::kTensorCoreDown:
            down_on_tensor_cores(worker, layout, n_inputs, list, activations, partials, token);
            return;
        case CudaProduct::kPackedDown:
            packed_down(worker, layout, n_inputs, list, activations, partials, token);
            return;
        default:
            plain_down(worker, layout, n_inputs, list, aligned, activations, partials, token);
    }
}

struct ListRows {
    std::int64_t all = 0;
    std::int64_t partials = 0;
};

// Gives each call of the list its rows of intermediate results.
ListRows number_rows(FewCalls& list) {
    ListRows rows;
    list.most_stretches = 1;
    for (int c = 0; c < list.n; ++c) {
        FewCall& call = list.calls[c];
        call.scratch_row = static_cast<std::int32_t>(rows.all);
        call.partial_row = static_cast<std::int32_t>(rows.partials);
        rows.all += call.n_rows;
        rows.partials += static_cast<std::int64_t>(call.n_stretches) * call.n_rows;
        if (call.n_stretches > list.most_stretches) list.most_stretches = call.n_stretches;
    }
    return rows;
}

void start_few(Worker& worker, const ExpertLayout& layout, int n_inputs, FewCalls& list, const float* inputs,
               const std::int32_t* row_token, float* out) {
    const auto [n_rows, n_partials] = number_rows(list);
    worker.scratch.restart();
    auto* activations = worker.scratch.take<float>(n_rows * layout.ffn_dim);
    auto* partials = worker.scratch.take<float>(n_partials * layout.hidden_dim);
    // For the inputs, rounded or split, and then for the activations.
    const std::int64_t wider = layout.hidden_dim > layout.ffn_dim ? layout.hidden_dim : layout.ffn_dim;
    auto* rounded = worker.scratch.take<unsigned char>(n_rows * split_bytes(wider));
    if (activations == nullptr || partials == nullptr || rounded == nullptr) {
        worker.lacks_scratch();
        return;
    }
    if (is_packed(layout.gate) || is_packed(layout.up) || is_packed(layout.down)) {
        for (int c = 0; c < list.n; ++c) {
            if (!can_read_packed(worker, list.calls[c].weights, inputs)) return;
        }
    }
    const ByteInputTypes& bytes = worker.byte_inputs;
    if (bytes.rounds_few(layout.gate) || bytes.rounds_few(layout.up)) {
        round_inputs(worker, list, inputs, row_token, layout.hidden_dim, rounded);
    }
    few_calls(worker, layout, n_inputs, list, inputs, row_token, activations, rounded, partials, out);
}

// The calls with at_least .. n_inputs rows, in as few launches as parameters and scratch
// allow.
void few_rows(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
              int at_least, int n_inputs, const float* inputs, const std::int32_t* row_token, float* out) {
    FewCalls list;
    std::size_t bytes = 0;
    worker.scratch.restart();
    const std::size_t room = worker.scratch.left();
    const auto flush = [&] {
        if (list.n > 0) start_few(worker, layout, n_inputs, list, inputs, row_token, out);
        list.n = 0;
        bytes = 0;
    };
    for (std::size_t c = 0; c < n_calls; ++c) {
        const CudaExpertCall& call = calls[c];
        if (call.n_rows < at_least || call.n_rows > n_inputs) continue;
        const std::size_t needed = few_bytes(layout.hidden_dim, layout.ffn_dim, call.n_rows);
        if (list.n == kCallsPerLaunch || bytes + needed > room) flush();
        bytes += needed;
        FewCall& few = list.calls[list.n++];
        few.weights = call.weights;
        few.first_row = static_cast<std::int32_t>(call.first_row);
        few.n_rows = static_cast<std::int32_t>(call.n_rows);
        few.n_stretches = static_cast<std::int32_t>(n_stretches(layout.ffn_dim, call.n_rows));
    }
    flush();
}

// Calls of one row each, by chosen[first] and the next.
FewCalls list_of_chosen(const ExpertLayout& layout, const std::byte* const* blocks, const std::int32_t* chosen,
                        std::int64_t first, std::int64_t n) {
    FewCalls list;
    list.n = static_cast<int>(n);
    list.blocks = blocks;
    list.chosen = chosen + first;
    for (int c = 0; c < list.n; ++c) {
        list.calls[c].first_row = static_cast<std::int32_t>(first) + c;
        list.calls[c].n_rows = 1;
        list.calls[c].n_stretches = static_cast<std::int32_t>(n_stretches(layout.ffn_dim, 1));
    }
    return list;
}

// Calls of one row each, in as many launches as parameters and scratch take.
void chosen_rows(Worker& worker, const ExpertLayout& layout, const std::byte* const* blocks, const std::int32_t* chosen,
                 std::int64_t n, const float* inputs, const std::int32_t* row_token, float* out) {
    worker.scratch.restart();
    const auto room =
        static_cast<std::int64_t>(worker.scratch.left() / few_bytes(layout.hidden_dim, layout.ffn_dim, 1));
    const std::int64_t most = room < kCallsPerLaunch ? room : kCallsPerLaunch;
    if (most < 1) {
        worker.lacks_scratch();
        return;
    }
    for (std::int64_t first = 0; first < n; first += most) {
        FewCalls list = list_of_chosen(layout, blocks, chosen, first, n - first < most ? n - first : most);
        start_few(worker, layout, 1, list, inputs, row_token, out);
    }
}

// Bytes of one row in a batch: its input, both products, its activation.
std::size_t batch_row_bytes(std::int64_t hidden_dim, std::int64_t ffn_dim, std::size_t input_bytes) {
    return static_cast<std::size_t>(hidden_dim) * input_bytes + static_cast<std::size_t>(ffn_dim) * 2 * sizeof(float) +
           static_cast<std::size_t>(ffn_dim) * input_bytes;
}

constexpr std::size_t kBatchRounding = 4 * 256;  // four pieces

// Room to unpack any of the three matrices.
std::size_t most_unpacked(std::int64_t hidden_dim, std::int64_t ffn_dim, std::size_t unpacked_bytes) {
    std::size_t most = unpack_bytes(ffn_dim, hidden_dim, false, unpacked_bytes);
    for (const std::size_t down : {unpack_bytes(ffn_dim, hidden_dim, true, unpacked_bytes),
                                   unpack_bytes(hidden_dim, ffn_dim, false, unpacked_bytes)}) {
        if (down > most) most = down;
    }
    return most;
}

void many_rows(Worker& worker, const ExpertLayout& layout, const CudaExpertCall& call, const float* inputs,
               const std::int32_t* row_token, float* out) {
    const WeightType gate_type = input_type(worker, layout.gate);
    const WeightType up_type = input_type(worker, layout.up);
    const WeightType down_type = input_type(worker, layout.down);
    std::size_t bytes = bytes_per_weight(down_type);
    for (const WeightType type : {gate_type, up_type}) {
        if (bytes_per_weight(type) > bytes) bytes = bytes_per_weight(type);
    }
    const bool packed = is_packed(layout.gate) || is_packed(layout.up) || is_packed(layout.down);
    const bool unpacked_first =
        unpacks(worker, layout.gate) || unpacks(worker, layout.up) || unpacks(worker, layout.down);
    const std::size_t room_bytes =
        unpacked_first ? most_unpacked(layout.hidden_dim, layout.ffn_dim, worker.unpacked_bytes) : 0;
    worker.scratch.restart();
    const std::size_t fixed = kBatchRounding + room_bytes;
    const std::size_t left = worker.scratch.left() < fixed ? 0 : worker.scratch.left() - fixed;
    const auto room = static_cast<std::int64_t>(left / batch_row_bytes(layout.hidden_dim, layout.ffn_dim, bytes));
    std::int64_t most = room < kBatchRows ? room : kBatchRows;
    if (most < 1) {
        worker.lacks_scratch();
        return;
    }
    if (most > call.n_rows) most = call.n_rows;
    auto* x = worker.scratch.take<unsigned char>(most * layout.hidden_dim * static_cast<std::int64_t>(bytes));
    auto* gate = worker.scratch.take<float>(most * layout.ffn_dim);
    auto* up = worker.scratch.take<float>(most * layout.ffn_dim);
    auto* activation = worker.scratch.take<unsigned char>(most * layout.ffn_dim * static_cast<std::int64_t>(bytes));

    unsigned char* unpacked = nullptr;
    if (unpacked_first) {
        unpacked = worker.scratch.take<unsigned char>(static_cast<std::int64_t>(room_bytes));
        if (unpacked == nullptr) {
            worker.lacks_scratch();
            return;
        }
        if (packed && !can_read_packed(worker, call.weights, inputs)) return;
    }

    const ExpertView expert{call.weights, layout};
    const auto product = [&](const WeightView& weight, bool transposed, const void* from, std::int64_t rows,
                             float* to) {
        if (unpacks(worker, weight.type)) {
            multiply_unpacked(worker, weight, transposed, from, rows, to, unpacked);
            return;
        }
        const std::int64_t n_out = transposed ? weight.n_cols : weight.n_rows;
        const std::int64_t n_in = transposed ? weight.n_rows : weight.n_cols;
        multiply_many(worker, {weight.data, weight.type, n_out, n_in, row_stride(weight), transposed}, from, rows, to,
                      n_out);
    };
    const ExpertBiases biases = expert.biases();
    for (std::int64_t row = 0; row < call.n_rows; row += most) {
        const std::int64_t rows = call.n_rows - row < most ? call.n_rows - row : most;
        const std::int32_t* const tokens = row_token + call.first_row + row;
        gather(worker, inputs, tokens, rows, layout.hidden_dim, gate_type, x);
        product(expert.gate(), false, x, rows, gate);
        if (up_type != gate_type) gather(worker, inputs, tokens, rows, layout.hidden_dim, up_type, x);
        product(expert.up(), false, x, rows, up);
        if (biases.gate != nullptr) {
            compute(worker, ops::AddBias{biases.gate, rows, layout.ffn_dim, gate});
            compute(worker, ops::AddBias{biases.up, rows, layout.ffn_dim, up});
        }
        activate(worker, layout.spec, gate, up, rows * layout.ffn_dim, down_type, activation);
        float* const outputs = out + (call.first_row + row) * layout.hidden_dim;
        product(expert.down(), !layout.down_rows_are_outputs, activation, rows, outputs);
        if (biases.down != nullptr) compute(worker, ops::AddBias{biases.down, rows, layout.hidden_dim, outputs});
    }
}

// For n_networks networks of one size, of which each token passes n_active.
std::uint64_t network_bytes(const CudaStep& step, std::int64_t ffn_dim, std::int64_t n_networks, std::int64_t n_active,
                            std::size_t unpacked_bytes) {
    if (ffn_dim <= 0) return 0;
    // Few rows: room for all calls in one launch, at most 8 for each number of rows;
    // further calls take another launch.
    const std::int64_t all_rows = step.n_tokens * n_active;
    std::uint64_t few = 0;
    for (std::int64_t rows = 1; rows <= CudaContext::kFewRows && rows <= step.n_tokens; ++rows) {
        std::int64_t calls = all_rows / rows;
        if (calls > n_networks) calls = n_networks;
        if (calls > 8) calls = 8;
        if (calls < 1) calls = 1;
        const std::uint64_t bytes = static_cast<std::uint64_t>(calls) * few_bytes(step.hidden_dim, ffn_dim, rows);
        if (bytes > few) few = bytes;
    }
    if (step.n_tokens <= CudaContext::kFewRows) return few;
    const std::int64_t rows = step.n_tokens < kBatchRows ? step.n_tokens : kBatchRows;
    const std::uint64_t many =
        static_cast<std::uint64_t>(rows) * batch_row_bytes(step.hidden_dim, ffn_dim, sizeof(float)) + kBatchRounding +
        most_unpacked(step.hidden_dim, ffn_dim, unpacked_bytes);
    return many > few ? many : few;
}

// Calls of one layout.
void experts_of_layout(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
                       const float* inputs, const std::int32_t* row_token, float* out) {
    if (is_blocks(layout.down) && !layout.down_rows_are_outputs) {
        worker.failure.set("A CUDA operation got experts whose w2 lies in blocks across its outputs.");
        return;
    }
    few_rows(worker, layout, calls, n_calls, 1, 1, inputs, row_token, out);
    few_rows(worker, layout, calls, n_calls, 2, 2, inputs, row_token, out);
    few_rows(worker, layout, calls, n_calls, 3, 4, inputs, row_token, out);
    few_rows(worker, layout, calls, n_calls, 5, 8, inputs, row_token, out);
    if (many_product(worker, layout, CudaContext::kFewRows + 1) == CudaProduct::kExpertByteTiles) {
        many_rows_in_bytes(worker, layout, calls, n_calls, inputs, row_token, out);
        return;
    }
    many_rows_in_tiles(worker, layout, calls, n_calls, inputs, row_token, out);
    for (std::size_t c = 0; c < n_calls; ++c) {
        if (calls[c].n_rows <= CudaContext::kFewRows ||
            many_product(worker, layout, calls[c].n_rows) != CudaProduct::kExpertByMatrices) {
            continue;
        }
        many_rows(worker, layout, calls[c], inputs, row_token, out);
    }
}

}  // namespace

void few_calls(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list, const float* inputs,
               const std::int32_t* row_token, float* activations, unsigned char* rounded, float* partials, float* out) {
    for_each_up(layout, [&](const UpRows& rows, WeightType type) {
        start_up(worker, layout, rows, type, n_inputs, list, inputs, row_token, rounded, activations);
    });
    start_down(worker, layout, n_inputs, list, activations, rounded, partials, out);
    if (layout.down_rows_are_outputs) return;
    const int columns = layout.hidden_dim % 4 == 0 ? 4 : 1;
    const dim3 gather_grid(blocks_for(layout.hidden_dim, kGatherThreads * columns), static_cast<unsigned>(n_inputs),
                           static_cast<unsigned>(list.n));
    worker.start(columns == 4 ? expert_gather<4> : expert_gather<1>, gather_grid, kGatherThreads, 0, list,
                 Gating(layout), layout.hidden_dim, partials, out);
}

CudaProduct many_product(const Worker& worker, const ExpertLayout& layout, std::int64_t n_rows,
                         std::uint32_t further_facts) {
    const bool small = layout.ffn_dim * layout.hidden_dim <= kSmallMatrix;
    const ProductRows many = small ? ProductRows::kManyOfSmallExperts : ProductRows::kMany;
    const auto rounds = [&](WeightType type) { return worker.byte_inputs.rounds(type, many); };
    const bool bytes = rounds(layout.gate) && rounds(layout.up) && rounds(layout.down);
    const auto product_of = [&](WeightType type) {
        ProductCase product{ProductOf::kExperts, weights_of(type),
                            bytes ? ProductInputs::kBytes : ProductInputs::kFloat, n_rows};
        product.facts = product_facts(worker, type) | (small ? product_needs::kSmall : 0) | further_facts;
        return find_cuda_product(product);
    };
    const CudaProduct product = product_of(layout.gate);
    const bool all = product == product_of(layout.up) && product == product_of(layout.down);
    return all ? product : CudaProduct::kExpertByMatrices;
}

namespace {

// Whether ops::GroupedExperts of packed experts computes n tokens, with enough scratch
// memory: where the table has tiles for whatever number of rows an expert gets.
bool groups_packed(const Worker& worker, const ExpertLayout& layout, std::int64_t n) {
    const auto in_tiles = [&](std::int64_t n_rows) {
        return many_product(worker, layout, n_rows, product_needs::kGrouped) == CudaProduct::kExpertPackedTiles;
    };
    return n > CudaContext::kFewRows && n <= kMostGroupedTokens && is_packed(layout.gate) && layout.gate == layout.up &&
           is_packed(layout.down) && !layout.down_rows_are_outputs && in_tiles(CudaContext::kFewRows + 1) &&
           in_tiles(n);
}

// For it, in steps of up to so many tokens. The experts' formats may change between two
// steps, so those of any packed format count.
std::size_t bytes_to_group_packed(const Worker& worker, const CudaStep& step) {
    if (step.hidden_dim % kPackedBlock != 0) return 0;
    std::size_t most = 0;
    for (const FormatTraits& format : kFormats) {
        if (!format.is_packed()) continue;
        const ExpertLayout layout = expert_layout(format.type, step.hidden_dim, step.ffn_dim);
        std::int64_t taken = CudaContext::kFewRows, beyond = step.n_tokens + 1;
        while (beyond - taken > 1) {
            const std::int64_t n = (taken + beyond) / 2;
            (groups_packed(worker, layout, n) ? taken : beyond) = n;
        }
        if (taken == CudaContext::kFewRows) continue;
        const std::size_t bytes = packed_groups_bytes(layout, taken, step.n_active, step.n_experts);
        if (bytes > most) most = bytes;
    }
    return most;
}

}  // namespace

std::uint64_t expert_scratch_bytes(const Worker& worker, const CudaStep& step) {
    if (step.hidden_dim <= 0) return 0;
    const std::size_t unpacked_bytes = worker.unpacked_bytes;
    std::uint64_t most = network_bytes(step, step.dense_ffn_dim, 1, 1, unpacked_bytes);
    if (step.ffn_dim <= 0) return most;
    const std::int64_t n_active = step.n_active > 0 ? step.n_active : 1;
    ExpertLayout layout;
    layout.hidden_dim = step.hidden_dim;
    layout.ffn_dim = step.ffn_dim;
    for (const std::uint64_t bytes :
         {network_bytes(step, step.ffn_dim, step.n_experts, n_active, unpacked_bytes),
          std::uint64_t{step.blocks ? grouped_bytes(layout, step.n_tokens, step.n_active, step.n_experts) : 0},
          std::uint64_t{bytes_to_group_packed(worker, step)}}) {
        if (bytes > most) most = bytes;
    }
    return most;
}

std::size_t chosen_experts_bytes(const ExpertLayout& layout, std::int64_t n_active) {
    return static_cast<std::size_t>(n_active) * few_bytes(layout.hidden_dim, layout.ffn_dim, 1);
}

void add_chosen_experts(Worker& worker, const ops::DecodeExperts& op, unsigned char* prepared) {
    const ExpertLayout& layout = op.layout;
    FewCalls list = list_of_chosen(layout, op.blocks, op.chosen, 0, op.router.n_active);
    const auto [n_rows, n_partials] = number_rows(list);
    auto* activations = worker.scratch.take<float>(n_rows * layout.ffn_dim);
    auto* partials = worker.scratch.take<float>(n_partials * layout.hidden_dim);
    if (activations == nullptr || partials == nullptr) {
        worker.lacks_scratch();
        return;
    }
    const float* const inputs = prepared == nullptr ? op.normalised : nullptr;
    for_each_up(layout, [&](const UpRows& rows, WeightType type) {
        start_up(worker, layout, rows, type, 1, list, inputs, op.row_token, prepared, activations);
    });
    start_down(worker, layout, 1, list, activations, nullptr, partials, op.rows,
               {op.weights, op.x, worker.arrivals, Gating(layout)});
}

bool takes_chosen(const ExpertLayout& layout) {
    return layout.down_rows_are_outputs ? is_blocks(layout.down) : !is_blocks(layout.down);
}

bool takes_grouped(const Worker& worker, const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                   std::int64_t n_experts) {
    if (worker.arrivals == nullptr || n_tokens > kMostGroupedTokens) return false;
    if (!layout.down_rows_are_outputs) {
        return groups_packed(worker, layout, n_tokens) &&
               packed_groups_bytes(layout, n_tokens, n_active, n_experts) <= worker.scratch.size();
    }
    const ByteInputTypes& bytes = worker.byte_inputs;
    return is_blocks(layout.down) && bytes.rounds_few(layout.gate) && bytes.rounds_few(layout.up) &&
           bytes.rounds_few(layout.down) &&
           many_product(worker, layout, CudaContext::kFewRows + 1) == CudaProduct::kExpertByteTiles &&
           grouped_bytes(layout, n_tokens, n_active, n_experts) <= worker.scratch.size();
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const Experts& op) {
    // Experts of one layer have one shape; their formats may differ (some in fewer bits).
    // Experts of one format are computed together, in the order of the calls.
    for (const ExpertCall* first = op.calls.begin(); first != op.calls.end() && worker.failure.none(); ++first) {
        const ExpertLayout& layout = first->weights.layout;
        const auto is_of_it = [&layout](const ExpertCall& call) { return call.weights.layout == layout; };
        if (std::any_of(op.calls.begin(), first, is_of_it)) continue;
        worker.calls.clear();
        for (const ExpertCall* call = first; call != op.calls.end(); ++call) {
            if (is_of_it(*call)) worker.calls.push_back({call->weights.data, call->first_row, call->n_rows});
        }
        experts_of_layout(worker, layout, worker.calls.data(), worker.calls.size(), op.inputs, op.row_token, op.out);
    }
}

void compute(Worker& worker, const ChosenExperts& op) {
    if (!takes_chosen(op.layout)) {
        worker.failure.set("A CUDA operation was to choose among experts of a layout that it does not take.");
        return;
    }
    chosen_rows(worker, op.layout, op.blocks, op.chosen, op.n, op.inputs, op.row_token, op.out);
}

}  // namespace offstage::kernels::ops
