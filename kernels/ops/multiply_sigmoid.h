#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x[i] *= sigmoid(gate[i / n_alike]), n values.
struct MultiplySigmoid {
    const float* gate = nullptr;
    std::int64_t n = 0;
    float* x = nullptr;
    std::int64_t n_alike = 1;  // values with one gate

    Cost cost() const { return {as_double(n) * 8 + as_double(n / n_alike) * 4}; }
};
void compute(CpuWorker& worker, const MultiplySigmoid& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const MultiplySigmoid& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
