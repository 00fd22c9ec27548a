#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x = scale sigmoid(factor x), of n values; by_itself: times factor x, which makes it
// scale silu(factor x).
struct Activate {
    float factor = 1;
    float scale = 1;
    bool by_itself = false;
    std::int64_t n = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double(n) * 8}; }
};
void compute(CpuWorker& worker, const Activate& op);     // streams.cpp
void compute(cuda::Worker& worker, const Activate& op);  // streams.cu

}  // namespace offstage::kernels::ops
