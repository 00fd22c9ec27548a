#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// n values into -limit .. limit.
struct Clamp {
    float limit = 0;
    std::int64_t n = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double(n) * 8}; }
};
void compute(CpuWorker& worker, const Clamp& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const Clamp& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
