#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x *= factor, n values.
struct Scale {
    float factor = 1;
    std::int64_t n = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double(n) * 8}; }
};
void compute(CpuWorker& worker, const Scale& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const Scale& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
