#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// Each of n rows of `dim` values += bias (dim).
struct AddBias {
    const float* bias = nullptr;
    std::int64_t n = 0;
    std::int64_t dim = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double((2 * n + 1) * dim) * 4}; }
};
void compute(CpuWorker& worker, const AddBias& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const AddBias& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
