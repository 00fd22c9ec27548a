// ops::GroupedExperts of packed experts: those with many rows in tiles (packed_tiles.cu),
// the others, some at a time, by the kernels for few rows.
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/output_tiles.cuh"
#include "kernels/cuda/packed_tiles.cuh"
#include "kernels/cuda/split_products.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr std::int64_t kLeastAtOnce = 8;  // experts with few rows: they fill a GPU

// Scratch memory. Without memory: only its size counts, with room for kLeastAtOnce.
struct PackedGroupsRoom {
    std::int32_t* bounds;
    FewCall* few;
    FewCall* tiles;
    Bf16* inputs;       // of each token
    Bf16* activations;  // of each pair
    // Of the experts with few rows that are computed at once.
    unsigned char* few_inputs;  // split
    float* few_activations;
    float* partials;
    GroupedPartials sums;
    std::size_t bytes;

    PackedGroupsRoom(Scratch& scratch, const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                     std::int64_t n_experts) {
        constexpr std::int64_t kMostFew = CudaContext::kFewRows;
        const std::int64_t n_pairs = n_tokens * n_active;
        ScratchPieces pieces(scratch);
        pieces.take(n_experts + 1, bounds);
        pieces.take(n_experts, few);
        pieces.take(most_tiles_of(n_pairs, n_experts), tiles);
        pieces.take(n_tokens * layout.hidden_dim, inputs);
        pieces.take(n_pairs * layout.ffn_dim, activations);
        std::int64_t rows = 0;  // of partial sums of an expert
        for (std::int64_t n = 1; n <= kMostFew; ++n) {
            const std::int64_t its = n * n_stretches(layout.ffn_dim, n);
            if (its > rows) rows = its;
            sums.stretches[n - 1] = static_cast<std::int32_t>(n_stretches(layout.ffn_dim, n));
        }
        const std::int64_t floats = rows * layout.hidden_dim + kMostFew * layout.ffn_dim;
        const std::int64_t of_expert = floats * std::int64_t{sizeof(float)} + kMostFew * split_bytes(layout.hidden_dim);
        constexpr std::size_t kRounding = 3 * 256;
        const std::size_t left = pieces.left() < kRounding ? 0 : pieces.left() - kRounding;
        const std::int64_t fit = static_cast<std::int64_t>(left) / of_expert;
        std::int64_t at_once = fit > kLeastAtOnce ? fit : kLeastAtOnce;
        if (at_once > n_experts) at_once = n_experts;
        sums.rows_of_expert = static_cast<std::int32_t>(rows);
        sums.experts_at_once = static_cast<std::int32_t>(at_once);
        pieces.take(at_once * kMostFew * split_bytes(layout.hidden_dim), few_inputs);
        pieces.take(at_once * kMostFew * layout.ffn_dim, few_activations);
        pieces.take(at_once * rows * layout.hidden_dim, partials);
        bytes = pieces.bytes();
    }
    bool is_there() const { return partials != nullptr; }
};

}  // namespace

std::size_t packed_groups_bytes(const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                                std::int64_t n_experts) {
    Scratch none;
    return PackedGroupsRoom(none, layout, n_tokens, n_active, n_experts).bytes;
}

void packed_groups(Worker& worker, const ops::GroupedExperts& op) {
    const ExpertLayout& layout = op.layout;
    if (worker.arrivals == nullptr || worker.compute_major < 8 || op.n_tokens <= CudaContext::kFewRows ||
        op.n_tokens > kMostGroupedTokens || !is_packed(layout.gate) || layout.gate != layout.up ||
        !is_packed(layout.down)) {
        worker.failure.set("A CUDA operation got packed experts of several tokens in a form that it does not take.");
        return;
    }
    if (!can_read_packed(worker, nullptr, op.inputs)) return;
    worker.scratch.restart();
    const PackedGroupsRoom room(worker.scratch, layout, op.n_tokens, op.n_active, op.n_experts);
    if (!room.is_there()) {
        worker.lacks_scratch();
        return;
    }
    order_pairs(worker, op, room.bounds, room.few, room.tiles, room.sums);
    const FewCalls tiles = calls_there(room.tiles, most_tiles_of(op.n_pairs(), op.n_experts), kTileRows);
    groups_in_tiles(worker, layout, tiles, op.inputs, op.n_tokens, op.row_token, room.inputs, room.activations, op.out);
    for (std::int64_t first = 0; first < op.n_experts; first += room.sums.experts_at_once) {
        const std::int64_t left = op.n_experts - first;
        FewCalls few =
            calls_there(room.few + first, left < room.sums.experts_at_once ? left : room.sums.experts_at_once,
                        CudaContext::kFewRows);
        for (const std::int32_t n : room.sums.stretches)
            few.most_stretches = few.most_stretches > n ? few.most_stretches : n;
        few_calls(worker, layout, CudaContext::kFewRows, few, op.inputs, op.row_token, room.few_activations,
                  room.few_inputs, room.partials, op.out);
    }
}

}  // namespace offstage::kernels::cuda
