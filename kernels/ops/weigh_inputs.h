#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// out[r] = weights[r] x[r], and weights[r] becomes 1: what would multiply a row's output
// multiplies its input. x, out: (n, dim).
struct WeighInputs {
    const float* x = nullptr;
    float* weights = nullptr;  // (n)
    std::int64_t n = 0;
    std::int64_t dim = 0;
    float* out = nullptr;

    Cost cost() const { return {as_double(n * dim) * 8}; }
};
void compute(CpuWorker& worker, const WeighInputs& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const WeighInputs& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
