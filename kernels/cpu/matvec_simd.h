#pragma once
// matvec and matvec_multi over Vector. Included after simd_avx2.h or simd_avx512.h.

#include "kernels/cpu/operations.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {
namespace {

// Rows at once for a number of tokens: as many sums as registers allow, leaving room for the weights and an input.
constexpr int rows_at_once(int n_tokens) {
    const int fitting = (kRegisters - 4) / (n_tokens + 1);
    return fitting >= 4 ? 4 : fitting >= 1 ? fitting : 1;
}

template <int kTokens, typename Weight>
void multiply_rows(const Weight* weights, std::int64_t row_stride, std::int64_t n_cols, const float* x,
                   std::int64_t x_stride, std::int64_t row_begin, std::int64_t row_end, float* y,
                   std::int64_t y_stride) {
    constexpr int kRows = rows_at_once(kTokens);
    std::int64_t row = row_begin;
    for (; row + kRows <= row_end; row += kRows) {
        const Weight* rows[kRows];
        const Weight* ahead[kRows];
        for (int r = 0; r < kRows; ++r) {
            rows[r] = weights + (row + r) * row_stride;
            ahead[r] = rows[r] + kRows * row_stride;
        }
        float sums[kRows][kTokens];
        dot_products<kRows, kTokens>(rows, ahead, x, x_stride, n_cols, sums);
        for (int r = 0; r < kRows; ++r) {
            for (int t = 0; t < kTokens; ++t) y[t * y_stride + row + r] = sums[r][t];
        }
    }
    for (; row < row_end; ++row) {
        const Weight* const rows[1] = {weights + row * row_stride};
        const Weight* const ahead[1] = {rows[0] + row_stride};
        float sums[1][kTokens];
        dot_products<1, kTokens>(rows, ahead, x, x_stride, n_cols, sums);
        for (int t = 0; t < kTokens; ++t) y[t * y_stride + row] = sums[0][t];
    }
}

template <typename Weight>
void multiply_tokens(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens,
                     std::int64_t row_begin, std::int64_t row_end, float* y, std::int64_t y_stride) {
    using MultiplyRows = void (*)(const Weight*, std::int64_t, std::int64_t, const float*, std::int64_t, std::int64_t,
                                  std::int64_t, float*, std::int64_t);
    static constexpr MultiplyRows kByTokens[8] = {
        multiply_rows<1, Weight>, multiply_rows<2, Weight>, multiply_rows<3, Weight>, multiply_rows<4, Weight>,
        multiply_rows<5, Weight>, multiply_rows<6, Weight>, multiply_rows<7, Weight>, multiply_rows<8, Weight>,
    };
    kByTokens[n_tokens - 1](static_cast<const Weight*>(weight.data), weight.row_stride, weight.n_cols, x, x_stride,
                            row_begin, row_end, y, y_stride);
}

void multiply_any(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    switch (weight.type) {
        case WeightType::kF32:
            multiply_tokens<float>(weight, x, x_stride, n_tokens, row_begin, row_end, y, y_stride);
            return;
        case WeightType::kF16:
            multiply_tokens<F16>(weight, x, x_stride, n_tokens, row_begin, row_end, y, y_stride);
            return;
        case WeightType::kBf16:
            multiply_tokens<Bf16>(weight, x, x_stride, n_tokens, row_begin, row_end, y, y_stride);
            return;
        default:
            return;
    }
}

}  // namespace
}  // namespace offstage::kernels
