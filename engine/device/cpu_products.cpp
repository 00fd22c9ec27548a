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

void compute(CpuOperations::State& state, const ops::Multiply& op) {
    state.multiply(op.weight, op.x, op.n, op.y);
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

kernels::CpuProduct CpuOperations::State::product_of(kernels::WeightType type, std::int64_t n) const {
    using kernels::ProductInputs;
    kernels::ProductCase product{kernels::ProductOf::kMatrix, kernels::weights_of(type)};
    product.inputs = rounds_inputs(type, n) ? ProductInputs::kBytes : ProductInputs::kFloat;
    product.rows = product.inputs == ProductInputs::kBytes ? n : counted(n);
    return find_cpu_product(product);
}

CpuOperations::State::Inputs CpuOperations::State::inputs_for(kernels::WeightType type, std::int64_t n_cols,
                                                              const float* x, std::int64_t x_stride, std::int64_t n) {
    const kernels::CpuProduct product = product_of(type, n);
    if (!rounds_inputs(type, n)) return {x, x_stride, n, nullptr, product};
    const std::int64_t bytes = kernels::rounded_input_bytes(n_cols);
    std::byte* const to = room_at_line(rounded, n * bytes);
    room(rounded_rows, n);
    roundings.clear();
    for (std::int64_t t = 0; t < n; ++t) {
        roundings.push_back({type, n_cols, x + t * x_stride, to + t * bytes});
        rounded_rows[as_size(t)] = to + t * bytes;
    }
    round_all();
    reserve_scratch(n_cols);
    return {x, x_stride, n, rounded_rows.data(), product};
}

void CpuOperations::State::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) {
    if (n == 0) return;
    if (product_of(weight.type, n) == kernels::CpuProduct::kOneDnn) {
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
    pool.parallel_for(weight.n_rows, rows_at_once(n) == 1 ? kRowGrain : kGrainOfSeveral,
                      [&](std::int64_t begin, std::int64_t end, int thread) {
                          multiply_rows(weight, inputs, begin, end, y, weight.n_rows, thread);
                      });
}

void compute(CpuOperations::State& state, const ops::MultiplyHeads& op) {
    const kernels::WeightView& weight = op.weight;
    const std::int64_t n = op.n;
    const std::int64_t n_rows = weight.n_rows / op.n_heads;
    const auto of_head = [&](std::int64_t head) {
        kernels::WeightView part = weight;
        part.data = weight.row(head * n_rows);
        part.n_rows = n_rows;
        return part;
    };
    if (n == 0) return;
    const kernels::CpuProduct product = state.product_of(weight.type, n);
    if (product == kernels::CpuProduct::kOneDnn) {
        for (std::int64_t head = 0; head < op.n_heads; ++head) {
            state.gemm.multiply(state.form.many, kernels::GemmLayout::kRowsAreOutputs, op.x + head * op.x_head_stride,
                                op.x_stride, n, of_head(head), op.y + head * op.y_head_stride, op.y_stride);
        }
        return;
    }
    // Few heads (one head if queries, keys and values are separate) are divided among the
    // threads; many heads are not.
    const bool divided = op.n_heads < state.pool.n_threads();
    const std::int64_t rows = divided ? CpuOperations::State::piece_rows(weight) : n_rows;
    const std::int64_t n_pieces = (n_rows + rows - 1) / rows;
    const auto multiply_pieces = [&](const auto& inputs_of) {
        state.pool.parallel_dynamic(op.n_heads * n_pieces, [&](std::int64_t i, int thread) {
            const std::int64_t head = i / n_pieces;
            const std::int64_t begin = i % n_pieces * rows;
            state.multiply_rows(of_head(head), inputs_of(head), begin, std::min(begin + rows, n_rows),
                                op.y + head * op.y_head_stride, op.y_stride, thread);
        });
    };
    if (!state.rounds_inputs(weight.type, n)) {
        multiply_pieces([&](std::int64_t head) {
            return CpuOperations::State::Inputs{op.x + head * op.x_head_stride, op.x_stride, n, nullptr, product};
        });
        return;
    }
    // The rows of a head follow those of another.
    const std::int64_t bytes = kernels::rounded_input_bytes(weight.n_cols);
    std::byte* to = CpuOperations::State::room_at_line(state.rounded, op.n_heads * n * bytes);
    CpuOperations::State::room(state.rounded_rows, op.n_heads * n);
    state.roundings.clear();
    for (std::int64_t i = 0; i < op.n_heads * n; ++i, to += bytes) {
        const float* values = op.x + i / n * op.x_head_stride + i % n * op.x_stride;
        state.roundings.push_back({weight.type, weight.n_cols, values, to});
        state.rounded_rows[as_size(i)] = to;
    }
    state.round_all();
    state.reserve_scratch(weight.n_cols);
    multiply_pieces([&](std::int64_t head) {
        return CpuOperations::State::Inputs{nullptr, 0, n, state.rounded_rows.data() + head * n, product};
    });
}

}  // namespace offstage::engine
