// Products and experts whose inputs are rounded to 8 bits (byte_products.cuh), step by
// step.
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/output_tiles.cuh"
#include "kernels/cuda/rows_in_lists.cuh"

namespace offstage::kernels::cuda {

bool multiply_in_bytes(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, bool in_tiles,
                       float* y) {
    worker.scratch.restart();
    const std::int64_t row = rounded_bytes(weight.n_cols);
    std::int64_t most = static_cast<std::int64_t>(worker.scratch.left()) / row;
    if (most > kMostRowsOfCall) most = kMostRowsOfCall;
    if (most < 1) return false;
    auto* const rounded = worker.scratch.take<unsigned char>((most < n ? most : n) * row);
    if (rounded == nullptr) return false;
    for (std::int64_t first = 0; first < n; first += most) {
        FewCalls list = all_rows(n - first < most ? n - first : most);
        FewCall& call = list.calls[0];
        call.weights = weight.data;
        call.first_row = static_cast<std::int32_t>(first);
        round_inputs(worker, list, x, nullptr, weight.n_cols, rounded);
        if (in_tiles) {
            TiledMatrix matrix = tiled_matrix(weight);  // whose offset says whether it can be laid out
            matrix.offset = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(weight.data) % 2);
            call.weights = static_cast<const unsigned char*>(weight.data) - matrix.offset;
            byte_tiles(worker, matrix, list, rounded, y);
        } else {
            byte_product(worker, weight, call.n_rows, list, rounded, y);
        }
    }
    return true;
}

void many_rows_in_bytes(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
                        const float* inputs, const std::int32_t* row_token, float* out) {
    const std::int64_t input_bytes = rounded_bytes(layout.hidden_dim);
    const std::int64_t activation_bytes = rounded_bytes(layout.ffn_dim);
    run_rows_in_lists(
        worker, calls, n_calls, static_cast<std::size_t>(input_bytes + activation_bytes),
        [](const CudaExpertCall& call) { return call.n_rows > CudaContext::kFewRows; },
        [&](const FewCalls& list, std::int64_t n_rows) {
            if (list.n == 0) return;
            worker.scratch.restart();
            auto* const rounded = worker.scratch.take<unsigned char>(n_rows * input_bytes);
            auto* const activations = worker.scratch.take<unsigned char>(n_rows * activation_bytes);
            round_inputs(worker, list, inputs, row_token, layout.hidden_dim, rounded);
            byte_up_tiles(worker, layout, list, rounded, nullptr, activations);
            byte_tiles(worker, ExpertMatrices(layout).down, list, activations, out);
        });
}

namespace {

// Scratch memory of ops::GroupedExperts. Without memory: only its size counts.
struct GroupedRoom {
    std::int32_t* bounds;
    FewCall* few;
    FewCall* tiles;
    unsigned char* rounded;      // of each token
    unsigned char* activations;  // of each pair
    // Of the experts with few rows: inputs and then activations, rounded.
    unsigned char* few_rounded;
    float* few_activations;
    std::size_t bytes;

    GroupedRoom(Scratch& scratch, const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                std::int64_t n_experts) {
        const std::int64_t n_pairs = n_tokens * n_active;
        const std::int64_t all_few = CudaContext::kFewRows * n_experts;
        const std::int64_t n_few = n_pairs < all_few ? n_pairs : all_few;
        const std::int64_t wider = layout.hidden_dim > layout.ffn_dim ? layout.hidden_dim : layout.ffn_dim;
        const bool many = n_tokens > CudaContext::kFewRows;
        ScratchPieces pieces(scratch);
        pieces.take(n_experts + 1, bounds);
        pieces.take(n_experts, few);
        pieces.take(most_tiles_of(n_pairs, n_experts), tiles);
        pieces.take(many ? n_tokens * rounded_bytes(layout.hidden_dim) : 0, rounded);
        pieces.take(many ? n_pairs * rounded_bytes(layout.ffn_dim) : 0, activations);
        pieces.take(n_few * rounded_bytes(wider), few_rounded);
        pieces.take(n_few * layout.ffn_dim, few_activations);
        bytes = pieces.bytes();
    }
    bool is_there() const { return few_activations != nullptr; }
};

void start_grouped(Worker& worker, const ops::GroupedExperts& op) {
    const ExpertLayout& layout = op.layout;
    worker.scratch.restart();
    const GroupedRoom room(worker.scratch, layout, op.n_tokens, op.n_active, op.n_experts);
    if (!room.is_there()) {
        worker.lacks_scratch();
        return;
    }
    order_pairs(worker, op, room.bounds, room.few, room.tiles);
    if (op.n_tokens > CudaContext::kFewRows) {
        round_inputs(worker, all_rows(op.n_tokens), op.inputs, nullptr, layout.hidden_dim, room.rounded);
        const FewCalls tiles = calls_there(room.tiles, most_tiles_of(op.n_pairs(), op.n_experts), kTileRows);
        byte_up_tiles(worker, layout, tiles, room.rounded, op.row_token, room.activations);
        byte_tiles(worker, ExpertMatrices(layout).down, tiles, room.activations, op.out);
    }
    const FewCalls few = calls_there(room.few, op.n_experts, CudaContext::kFewRows);
    round_inputs(worker, few, op.inputs, op.row_token, layout.hidden_dim, room.few_rounded);
    for_each_up(layout, [&](const UpRows& rows, WeightType type) {
        byte_up(worker, layout, rows, type, CudaContext::kFewRows, few, room.few_rounded, room.few_activations);
    });
    round_activations(worker, few, room.few_activations, layout.ffn_dim, room.few_rounded);
    byte_down(worker, layout, CudaContext::kFewRows, few, room.few_rounded, op.out);
}

}  // namespace

std::size_t grouped_bytes(const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                          std::int64_t n_experts) {
    Scratch none;
    return GroupedRoom(none, layout, n_tokens, n_active, n_experts).bytes;
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

void compute(cuda::Worker& worker, const GroupedExperts& op) {
    // Packed ones also beyond the rows for which the table of products has them: a
    // measurement asks for it.
    if (!op.layout.down_rows_are_outputs) {
        cuda::packed_groups(worker, op);
        return;
    }
    if (!cuda::takes_grouped(worker, op.layout, op.n_tokens, op.n_active, op.n_experts)) {
        worker.failure.set("A CUDA operation got the experts of several tokens in a form that it does not take.");
        return;
    }
    cuda::start_grouped(worker, op);
}

}  // namespace offstage::kernels::ops
