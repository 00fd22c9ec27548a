#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x = limit tanh(x / limit), n values.
struct SoftCap {
    float limit = 0;
    std::int64_t n = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double(n) * 8}; }
};
void compute(CpuWorker& worker, const SoftCap& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const SoftCap& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
