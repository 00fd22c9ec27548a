// Experts of many rows by the kernels that compute w1, w3 and w2 of some neurons, all
// experts of a layer in one job: with rows rounded to bytes, and experts in bf16 with rows
// rounded to bf16 or in float32.

#include <algorithm>
#include <array>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kPieceNeurons = 1024;  // of a piece: each costs one write and read of a sum for each row
constexpr std::int64_t kFewNeurons = 64;      // and for each of few rows, whose experts may be too few for all threads
constexpr std::int64_t kMostPieces = 16;      // of an expert
constexpr std::int64_t kRowsOfPiece = 64;     // their inputs and sums fit in a core's second-level cache
static_assert(kRowsOfPiece <= kernels::kMostByteTileTokens);
static_assert(kernels::kPairedNeurons == kernels::kRoundedNeurons);

constexpr std::array<float, kRowsOfPiece> kEqualScales = [] {
    std::array<float, kRowsOfPiece> scales = {};
    scales.fill(1.0f);
    return scales;
}();

// Depends only on the shape and, for few rows, on their number: so other experts change
// no bit.
std::int64_t n_pieces(std::int64_t ffn_dim, std::int64_t n_rows, bool are_few) {
    const std::int64_t neurons = are_few ? std::min(kFewNeurons * n_rows, kPieceNeurons) : kPieceNeurons;
    return std::clamp<std::int64_t>(ffn_dim / neurons, 1, kMostPieces);
}

std::int64_t piece_begin(std::int64_t ffn_dim, std::int64_t pieces, std::int64_t piece) {
    const std::int64_t grains = (ffn_dim + kernels::kRoundedNeurons - 1) / kernels::kRoundedNeurons;
    return std::min(ffn_dim, grains * piece / pieces * kernels::kRoundedNeurons);
}

}  // namespace

// Adds the expert's pieces. n_partials: rows of partial sums of the experts before it;
// returns the number with this expert's.
std::int64_t CpuOperations::State::divide(const ExpertCall& call, const std::byte* const* rows,
                                          std::int64_t n_partials) {
    const std::int64_t n = n_pieces(call.weights.layout.ffn_dim, call.n_rows, are_few(call.n_rows));
    for (std::int64_t piece = 0; piece < n; ++piece) {
        for (std::int64_t row = 0; row < call.n_rows; row += kRowsOfPiece) {
            rounded_pieces.push_back({&call, rows, piece, n, row, n_partials + (piece - 1) * call.n_rows + row});
        }
    }
    return n_partials + (n - 1) * call.n_rows;
}

void CpuOperations::State::by_bf16_rows(kernels::CpuProduct product, kernels::Span<ExpertCall> calls,
                                        const float* inputs, const std::int32_t* row_token, float* out) {
    const bool rounds = product == kernels::CpuProduct::kExpertBf16Pairs;
    rounded_pieces.clear();
    std::int64_t n_partials = 0;
    std::int32_t first_token = 0;  // of the rounded ones
    std::int32_t last_token = -1;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const ExpertCall& call = calls[i];
        if (call.n_rows == 0 || products[i] != product) continue;
        n_partials = divide(call, nullptr, n_partials);
        if (!rounds) continue;
        const auto [least, most] =
            std::minmax_element(row_token + call.first_row, row_token + call.first_row + call.n_rows);
        first_token = last_token < 0 ? *least : std::min(first_token, *least);
        last_token = std::max(last_token, *most);
    }
    if (rounded_pieces.empty()) return;
    const std::int64_t hidden = rounded_pieces.front().call->weights.layout.hidden_dim;  // the model's
    kernels::Bf16* narrow = nullptr;
    if (rounds) {
        const std::int64_t n_tokens = last_token - first_token + 1;
        narrow = room(narrow_inputs, n_tokens * hidden);
        pool.parallel_for(n_tokens, 4, [&](std::int64_t begin, std::int64_t end, int) {
            kernels.narrow_bf16(inputs + (first_token + begin) * hidden, (end - begin) * hidden,
                                narrow + begin * hidden);
        });
    }
    float* const sums = room(partials, n_partials * hidden);
    reserve_thread_scratch(static_cast<std::int64_t>(rounds ? kernels::bf16_expert_scratch(hidden, kRowsOfPiece)
                                                            : kernels::widened_expert_scratch(hidden, kRowsOfPiece)));
    begin_counting();
    pool.parallel_dynamic(static_cast<std::int64_t>(rounded_pieces.size()), [&](std::int64_t i, int thread) {
        const RoundedPiece& piece = rounded_pieces[as_size(i)];
        const ExpertCall& call = *piece.call;
        const std::int64_t n_rows = std::min(kRowsOfPiece, call.n_rows - piece.first_row);
        const std::int32_t* const tokens = row_token + call.first_row + piece.first_row;
        const std::int64_t ffn = call.weights.layout.ffn_dim;
        const std::int64_t begin = piece_begin(ffn, piece.pieces, piece.index);
        const std::int64_t end = piece_begin(ffn, piece.pieces, piece.index + 1);
        float* const to =
            piece.index == 0 ? out + (call.first_row + piece.first_row) * hidden : sums + piece.first_partial * hidden;
        if (rounds) {
            const kernels::Bf16* rows[kRowsOfPiece];
            for (std::int64_t r = 0; r < n_rows; ++r) rows[r] = narrow + (tokens[r] - first_token) * hidden;
            expert_ffn_bf16(call.weights, rows, n_rows, begin, end, to, scratch_of(thread),
                            thread_neurons[as_size(thread)]);
        } else {
            const float* rows[kRowsOfPiece];
            for (std::int64_t r = 0; r < n_rows; ++r) rows[r] = inputs + tokens[r] * hidden;
            expert_ffn_widened(call.weights, rows, n_rows, begin, end, to, scratch_of(thread));
        }
    });
    end_counting();
    add_pieces(n_partials, hidden, out);
}

void CpuOperations::State::by_bytes(kernels::Span<ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                                    float* out) {
    few.clear();
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (calls[i].n_rows == 0 || products[i] != kernels::CpuProduct::kQuantizedExpertTiles) continue;
        add_few(calls[i], products[i]);
    }
    if (few.empty()) return;
    round_for_first_job(inputs, row_token);
    rounded_pieces.clear();
    std::int64_t n_partials = 0;
    for (const ExpertRows& expert : few) n_partials = divide(*expert.call, expert.gate_inputs.rounded, n_partials);
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;
    float* const sums = room(partials, n_partials * hidden);
    reserve_thread_scratch(kernels::byte_expert_scratch(hidden, kRowsOfPiece));
    pool.parallel_dynamic(static_cast<std::int64_t>(rounded_pieces.size()), [&](std::int64_t i, int thread) {
        const RoundedPiece& piece = rounded_pieces[as_size(i)];
        const ExpertCall& call = *piece.call;
        const std::int64_t n_rows = std::min(kRowsOfPiece, call.n_rows - piece.first_row);
        const std::int64_t ffn = call.weights.layout.ffn_dim;
        float* const to =
            piece.index == 0 ? out + (call.first_row + piece.first_row) * hidden : sums + piece.first_partial * hidden;
        std::fill_n(to, n_rows * hidden, 0.0f);
        expert_ffn_bytes(call.weights, piece.inputs + piece.first_row, kEqualScales.data(), static_cast<int>(n_rows),
                         piece_begin(ffn, piece.pieces, piece.index), piece_begin(ffn, piece.pieces, piece.index + 1),
                         to, scratch_of(thread));
    });
    add_pieces(n_partials, hidden, out);
}

void CpuOperations::State::add_pieces(std::int64_t n_partials, std::int64_t hidden, float* out) {
    if (n_partials == 0) return;
    pool.parallel_for(hidden, 64, [&](std::int64_t begin, std::int64_t end, int) {
        for (const RoundedPiece& piece : rounded_pieces) {  // an expert's in their order
            if (piece.index == 0) continue;
            const std::int64_t n_rows = std::min(kRowsOfPiece, piece.call->n_rows - piece.first_row);
            for (std::int64_t r = 0; r < n_rows; ++r) {
                kernels.axpy(1.0f, partials.data() + (piece.first_partial + r) * hidden + begin, end - begin,
                             out + (piece.call->first_row + piece.first_row + r) * hidden + begin);
            }
        }
    });
}

}  // namespace offstage::engine
