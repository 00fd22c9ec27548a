// Products with whole matrices: few rows by the kernels for few, many by the GEMM, and
// products of inputs rounded to 8 bits.

#include <algorithm>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {
namespace {

// The kernels take 1, 2, 3 or 4 rows of a weight at once, the rest of a range one by one;
// a grain that all of these divide gives every row the same company, and so the same
// bits, on any number of threads.
constexpr std::int64_t kGrainOfSeveral = 12;
constexpr std::int64_t kRoundedRows = 4;  // inputs, rounded in one piece
// Pieces for each thread when few rows of inputs are multiplied by a weight without
// interleaving: with fewer pieces, one for each thread is as good.
constexpr std::int64_t kLeastPieces = 4;

}  // namespace

void CpuOperations::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) {
    state_->multiply(weight, x, n, y);
}

void CpuOperations::State::round_all() {
    const auto n = static_cast<std::int64_t>(roundings.size());
    const auto round = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const Rounding& row = roundings[as_size(i)];
            kernels.round_inputs(row.type, row.values, row.n_cols, 1, row.n_cols, row.to);
        }
    };
    if (n <= kFewTokens) {
        round(0, n);
    } else {
        pool.parallel_for(n, kRoundedRows, [&](std::int64_t begin, std::int64_t end, int) { round(begin, end); });
    }
}

CpuOperations::State::Inputs CpuOperations::State::inputs_for(kernels::WeightType type, std::int64_t n_cols,
                                                              const float* x, std::int64_t x_stride, std::int64_t n) {
    if (n == 0 || !rounds_inputs(type, n)) return {x, x_stride, n, nullptr};
    const std::int64_t bytes = kernels::rounded_input_bytes(n_cols);
    std::byte* const to = room_for_rounded(rounded, n * bytes);
    room(rounded_rows, n);
    roundings.clear();
    for (std::int64_t t = 0; t < n; ++t) {
        roundings.push_back({type, n_cols, x + t * x_stride, to + t * bytes});
        rounded_rows[as_size(t)] = to + t * bytes;
    }
    round_all();
    reserve_scratch(n_cols);
    return {x, x_stride, n, rounded_rows.data()};
}

void CpuOperations::State::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) {
    if (!are_few(n) && !rounds_inputs(weight.type, n)) {
        gemm.multiply(form.many, kernels::GemmLayout::kRowsAreOutputs, x, weight.n_cols, n, weight, y, weight.n_rows);
        return;
    }
    const Inputs inputs = inputs_for(weight.type, weight.n_cols, x, weight.n_cols, n);
    // Memory seldom serves two threads equally: a finished thread takes pieces of the
    // others.
    const std::int64_t rows = piece_rows(weight);
    const bool is_long = weight.n_rows >= kLeastPieces * rows * pool.n_threads();
    if (!are_few(n) || weight.interleaved || is_long) {
        pool.parallel_dynamic((weight.n_rows + rows - 1) / rows, [&](std::int64_t piece, int thread) {
            const std::int64_t begin = piece * rows;
            multiply_rows(weight, inputs, begin, std::min(begin + rows, weight.n_rows), y, weight.n_rows, thread);
        });
        return;
    }
    pool.parallel_for(weight.n_rows, n == 1 ? kRowGrain : kGrainOfSeveral,
                      [&](std::int64_t begin, std::int64_t end, int thread) {
                          multiply_rows(weight, inputs, begin, end, y, weight.n_rows, thread);
                      });
}

void CpuOperations::multiply_heads(const kernels::WeightView& weight, std::int64_t n_heads, const float* x,
                                   std::int64_t x_stride, std::int64_t x_head_stride, std::int64_t n, float* y,
                                   std::int64_t y_stride, std::int64_t y_head_stride) {
    const std::int64_t n_rows = weight.n_rows / n_heads;
    const auto of_head = [&](std::int64_t head) {
        kernels::WeightView part = weight;
        part.data = weight.row(head * n_rows);
        part.n_rows = n_rows;
        return part;
    };
    if (!state_->are_few(n) && !state_->rounds_inputs(weight.type, n)) {
        for (std::int64_t head = 0; head < n_heads; ++head) {
            state_->gemm.multiply(state_->form.many, kernels::GemmLayout::kRowsAreOutputs, x + head * x_head_stride,
                                  x_stride, n, of_head(head), y + head * y_head_stride, y_stride);
        }
        return;
    }
    // Few heads (one head if queries, keys and values are separate) are divided among the
    // threads; many heads are not.
    const bool divided = n_heads < state_->pool.n_threads();
    const std::int64_t rows = divided ? State::piece_rows(weight) : n_rows;
    const std::int64_t n_pieces = (n_rows + rows - 1) / rows;
    const auto multiply_pieces = [&](const auto& inputs_of) {
        state_->pool.parallel_dynamic(n_heads * n_pieces, [&](std::int64_t i, int thread) {
            const std::int64_t head = i / n_pieces;
            const std::int64_t begin = i % n_pieces * rows;
            state_->multiply_rows(of_head(head), inputs_of(head), begin, std::min(begin + rows, n_rows),
                                  y + head * y_head_stride, y_stride, thread);
        });
    };
    if (!state_->rounds_inputs(weight.type, n)) {
        multiply_pieces([&](std::int64_t head) {
            return State::Inputs{x + head * x_head_stride, x_stride, n, nullptr};
        });
        return;
    }
    // The rows of a head follow those of another.
    const std::int64_t bytes = kernels::rounded_input_bytes(weight.n_cols);
    std::byte* to = State::room_for_rounded(state_->rounded, n_heads * n * bytes);
    State::room(state_->rounded_rows, n_heads * n);
    state_->roundings.clear();
    for (std::int64_t i = 0; i < n_heads * n; ++i, to += bytes) {
        const float* values = x + i / n * x_head_stride + i % n * x_stride;
        state_->roundings.push_back({weight.type, weight.n_cols, values, to});
        state_->rounded_rows[as_size(i)] = to;
    }
    state_->round_all();
    state_->reserve_scratch(weight.n_cols);
    multiply_pieces([&](std::int64_t head) {
        return State::Inputs{nullptr, 0, n, state_->rounded_rows.data() + head * n};
    });
}

}  // namespace offstage::engine
