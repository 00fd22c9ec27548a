#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x = 0, n values.
struct Clear {
    std::int64_t n = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double(n) * 4}; }
};
void compute(CpuWorker& worker, const Clear& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const Clear& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
