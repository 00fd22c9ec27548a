#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x += factor y, n values.
struct Add {
    const float* y = nullptr;
    std::int64_t n = 0;
    float* x = nullptr;
    float factor = 1;

    Cost cost() const { return {as_double(n) * 12}; }
};
void compute(CpuWorker& worker, const Add& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const Add& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
