// matvec and matvec_multi over Vector.

#include "kernels/cpu/operations.h"
#include "kernels/cpu/packed_simd.h"
#include "kernels/cpu/rows_in_order.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels {
namespace {

// Up to so many tokens memory is the limit, and CpuFeatures::rows_in_turn selects the
// order of reading.
constexpr int kTokensOfOneRow = 4;

// Rows at once for a number of tokens: of more tokens as many sums as registers allow,
// leaving room for the weights and an input.
template <typename Rows, bool kInTurn>
constexpr int matvec_rows_at_once(int n_tokens) {
    if (Rows::kPacked) return kPackedRowsAtOnce;
    if (kInTurn && n_tokens <= kTokensOfOneRow) return 1;
    const int fitting = (kRegisters - 4) / (n_tokens + 1);
    return fitting >= 4 ? 4 : fitting >= 1 ? fitting : 1;
}

template <int kTokens, typename Rows, bool kInTurn>
void multiply_rows(Rows weights, std::int64_t n_cols, const float* x, std::int64_t x_stride, std::int64_t row_begin,
                   std::int64_t row_end, float* y, std::int64_t y_stride) {
    using Row = typename Rows::Row;
    constexpr int kRows = matvec_rows_at_once<Rows, kInTurn>(kTokens);
    constexpr int kRowsAhead = kRows == 1 && kTokens == kTokensOfOneRow ? 2 : kRows;
    std::int64_t row = row_begin;
    if constexpr (kTokens == 1 && !Rows::kPacked && !kInTurn) {  // the bits of kRows beside each other
        const std::int64_t end = row_begin + (row_end - row_begin) / kRows * kRows;
        constexpr int kSums = accumulators_per_pair(kRows);
        if constexpr (kRegisters < 32) {
            const std::int64_t part = (end - row_begin) / kRows;
            for (; row < row_begin + part; ++row) {
                Row rows[kRows];
                for (int r = 0; r < kRows; ++r) rows[r] = weights[row + r * part];
                float sums[kRows];
                multiply_side_by_side<kSums, kRows, 0, false>(rows, x, n_cols, sums);
                for (int r = 0; r < kRows; ++r) y[row + r * part] = sums[r];
            }
            row = end;
        } else {
            for (; row < end; ++row) y[row] = dot_in_order<kSums>(weights[row], x, n_cols);
        }
    }
    for (; row + kRows <= row_end; row += kRows) {
        Row rows[kRows];
        Row ahead[kRows];
        for (int r = 0; r < kRows; ++r) {
            rows[r] = weights[row + r];
            ahead[r] = weights[row + r + kRowsAhead];
        }
        float sums[kRows][kTokens];
        dot_products<kRows, kTokens>(rows, ahead, x, x_stride, n_cols, sums);
        for (int r = 0; r < kRows; ++r) {
            for (int t = 0; t < kTokens; ++t) y[t * y_stride + row + r] = sums[r][t];
        }
    }
    for (; row < row_end; ++row) {
        const Row rows[1] = {weights[row]};
        const Row ahead[1] = {weights[row + 1]};
        float sums[1][kTokens];
        dot_products<1, kTokens>(rows, ahead, x, x_stride, n_cols, sums);
        for (int t = 0; t < kTokens; ++t) y[t * y_stride + row] = sums[0][t];
    }
}

template <typename Rows>
using MultiplyRows = void (*)(Rows, std::int64_t, const float*, std::int64_t, std::int64_t, std::int64_t, float*,
                              std::int64_t);

template <typename Rows, bool kInTurn, int... kTokens>
MultiplyRows<Rows> rows_for(int n_tokens, std::integer_sequence<int, kTokens...> /*tokens*/) {
    static constexpr MultiplyRows<Rows> kByTokens[] = {multiply_rows<kTokens + 1, Rows, kInTurn>...};
    return kByTokens[n_tokens - 1];
}

template <typename Rows>
void multiply_tokens(Rows weights, std::int64_t n_cols, const float* x, std::int64_t x_stride, int n_tokens,
                     std::int64_t row_begin, std::int64_t row_end, float* y, std::int64_t y_stride) {
    const auto run = [&](auto rows, auto multiply) {
        multiply(rows, n_cols, x, x_stride, row_begin, row_end, y, y_stride);
    };
    using All = std::make_integer_sequence<int, 8>;
    if constexpr (!Rows::kPacked) {
        const bool in_turn = n_tokens <= kTokensOfOneRow && cpu_features().rows_in_turn;
        using First = std::make_integer_sequence<int, kTokensOfOneRow>;
        run(weights, in_turn ? rows_for<Rows, true>(n_tokens, First()) : rows_for<Rows, false>(n_tokens, All()));
    } else if (n_tokens == 1) {
        run(weights, multiply_rows<1, Rows, false>);
    } else {
        run(decoded(weights), rows_for<DecodedRows, false>(n_tokens, All()));
    }
}

void multiply_any(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    with_rows(weight.data, weight.type, weight.n_cols, weight.stride_bytes(), [&](auto rows) {
        multiply_tokens(rows, weight.n_cols, x, x_stride, n_tokens, row_begin, row_end, y, y_stride);
    });
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void matvec(const WeightView& weight, const float* x, std::int64_t row_begin, std::int64_t row_end, float* y) {
    multiply_any(weight, x, 0, 1, row_begin, row_end, y, 0);
}

void matvec_multi(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    multiply_any(weight, x, x_stride, n_tokens, row_begin, row_end, y, y_stride);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
