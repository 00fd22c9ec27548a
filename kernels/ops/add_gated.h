#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x[t] += sigmoid(gate . input[t]) y[t]; gate (dim); input, y, x: (n, dim).
struct AddGated {
    const float* gate = nullptr;
    const float* input = nullptr;
    const float* y = nullptr;
    std::int64_t n = 0;
    std::int64_t dim = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double((4 * n + 1) * dim) * 4}; }
};
void compute(CpuWorker& worker, const AddGated& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const AddGated& op);  // norm.cu, whose blocks have a row each

}  // namespace offstage::kernels::ops
