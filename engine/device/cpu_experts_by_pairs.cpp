// Experts in bf16 whose rows are rounded to bf16: by the kernel for pairs, all experts of a layer in one job.

#include <algorithm>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kPairNeurons = 1024;  // of a piece: each costs a sum for each row, written and read once
constexpr std::int64_t kFewNeurons = 64;     // and for each of few rows, whose experts may be too few for all threads
constexpr std::int64_t kMostPieces = 16;     // of an expert
constexpr std::int64_t kPairRows = 64;       // of a piece: what they need lies in a core's second cache

// By the shape alone, and by the number of rows where these are few: the other experts change no bit.
std::int64_t n_pieces(std::int64_t ffn_dim, std::int64_t n_rows, bool are_few) {
    const std::int64_t neurons = are_few ? std::min(kFewNeurons * n_rows, kPairNeurons) : kPairNeurons;
    return std::clamp<std::int64_t>(ffn_dim / neurons, 1, kMostPieces);
}

std::int64_t piece_begin(std::int64_t ffn_dim, std::int64_t pieces, std::int64_t piece) {
    const std::int64_t grains = (ffn_dim + kernels::kPairedNeurons - 1) / kernels::kPairedNeurons;
    return std::min(ffn_dim, grains * piece / pieces * kernels::kPairedNeurons);
}

}  // namespace

void CpuOperations::State::by_pairs(std::span<const ExpertCall> calls, const float* inputs,
                                    const std::int32_t* row_token, float* out) {
    paired.clear();
    std::int64_t n_partials = 0;
    std::int32_t first_token = 0;
    std::int32_t last_token = -1;
    for (const ExpertCall& call : calls) {
        if (call.n_rows == 0 || !goes_by_pairs(call)) continue;
        const std::int64_t n = n_pieces(call.weights.layout.ffn_dim, call.n_rows, are_few(call.n_rows));
        for (std::int64_t piece = 0; piece < n; ++piece) {
            for (std::int64_t row = 0; row < call.n_rows; row += kPairRows) {
                paired.push_back({&call, piece, n, row, n_partials + (piece - 1) * call.n_rows + row});
            }
        }
        n_partials += (n - 1) * call.n_rows;
        const auto [least, most] =
            std::minmax_element(row_token + call.first_row, row_token + call.first_row + call.n_rows);
        first_token = last_token < 0 ? *least : std::min(first_token, *least);
        last_token = std::max(last_token, *most);
    }
    if (paired.empty()) return;
    const std::int64_t hidden = paired.front().call->weights.layout.hidden_dim;  // the model's, the same for all
    const std::int64_t n_tokens = last_token - first_token + 1;
    kernels::Bf16* const narrow = room(narrow_inputs, n_tokens * hidden);
    pool.parallel_for(n_tokens, 4, [&](std::int64_t begin, std::int64_t end, int) {
        kernels.narrow_bf16(inputs + (first_token + begin) * hidden, (end - begin) * hidden, narrow + begin * hidden);
    });
    float* const sums = room(partials, n_partials * hidden);
    for (auto& scratch : pair_scratch) {
        room_for_rounded(scratch, static_cast<std::int64_t>(kernels::bf16_expert_scratch(hidden, kPairRows)));
    }
    begin_counting();
    pool.parallel_dynamic(static_cast<std::int64_t>(paired.size()), [&](std::int64_t i, int thread) {
        const PairedPiece& piece = paired[as_size(i)];
        const ExpertCall& call = *piece.call;
        const std::int64_t n_rows = std::min(kPairRows, call.n_rows - piece.first_row);
        const kernels::Bf16* rows[kPairRows];
        for (std::int64_t r = 0; r < n_rows; ++r) {
            rows[r] = narrow + (row_token[call.first_row + piece.first_row + r] - first_token) * hidden;
        }
        const std::int64_t ffn = call.weights.layout.ffn_dim;
        float* const to =
            piece.index == 0 ? out + (call.first_row + piece.first_row) * hidden : sums + piece.first_partial * hidden;
        auto& scratch = pair_scratch[as_size(thread)];
        expert_ffn_bf16(
            call.weights, rows, n_rows, piece_begin(ffn, piece.pieces, piece.index),
            piece_begin(ffn, piece.pieces, piece.index + 1), to,
            room_for_rounded(scratch, static_cast<std::int64_t>(kernels::bf16_expert_scratch(hidden, kPairRows))),
            thread_neurons[as_size(thread)]);
    });
    end_counting();
    if (n_partials == 0) return;
    pool.parallel_for(hidden, 64, [&](std::int64_t begin, std::int64_t end, int) {
        for (const PairedPiece& piece : paired) {  // an expert's in their order
            if (piece.index == 0) continue;
            const std::int64_t n_rows = std::min(kPairRows, piece.call->n_rows - piece.first_row);
            for (std::int64_t r = 0; r < n_rows; ++r) {
                kernels.axpy(1.0f, sums + (piece.first_partial + r) * hidden + begin, end - begin,
                             out + (piece.call->first_row + piece.first_row + r) * hidden + begin);
            }
        }
    });
}

}  // namespace offstage::engine
