#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x[i] *= sigmoid(gate[i]), n values.
struct MultiplySigmoid {
    const float* gate = nullptr;
    std::int64_t n = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double(n) * 12}; }
};
void compute(CpuWorker& worker, const MultiplySigmoid& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const MultiplySigmoid& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
