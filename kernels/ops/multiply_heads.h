#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// A product for each head: y[t][h][r] = sum_c weight[h * n_rows + r][c] * x[t][h][c] with
// n_rows = weight rows / n_heads; x[t][h] begins at t * x_stride + h * x_head_stride, y
// alike (in floats). The CPU rounds inputs as in Multiply; a GPU (kernels/byte_inputs.h)
// does so only for a single row of one head.
struct MultiplyHeads {
    WeightView weight;
    std::int64_t n_heads = 0;
    const float* x = nullptr;
    std::int64_t x_stride = 0;
    std::int64_t x_head_stride = 0;
    std::int64_t n = 0;
    float* y = nullptr;
    std::int64_t y_stride = 0;
    std::int64_t y_head_stride = 0;

    Cost cost() const {
        return {matrix_bytes(weight, weight.n_rows) + as_double(n * (weight.n_rows + n_heads * weight.n_cols)) * 4,
                2 * as_double(n) * as_double(weight.n_rows * weight.n_cols)};
    }
};
// On the CPU: engine/device/cpu_products.cpp, with the scratch memory of all its
// products.
void compute(cuda::Worker& worker, const MultiplyHeads& op);  // kernels/cuda/products.cu

}  // namespace offstage::kernels::ops
