#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// y (n, weight rows) = x (n, weight columns) * weight^T.
struct Multiply {
    WeightView weight;
    const float* x = nullptr;
    std::int64_t n = 0;
    float* y = nullptr;

    Cost cost() const {
        return {matrix_bytes(weight, weight.n_rows) + as_double(n * (weight.n_rows + weight.n_cols)) * 4,
                2 * as_double(n) * as_double(weight.n_rows * weight.n_cols)};
    }
};
// On the CPU: engine/device/cpu_products.cpp, with the scratch memory of all its
// products.
void compute(cuda::Worker& worker, const Multiply& op);  // kernels/cuda/products.cu

}  // namespace offstage::kernels::ops
