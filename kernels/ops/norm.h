#pragma once

#include "kernels/norm_weights.h"
#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// Each of n rows of norm.dim values: see NormKind. out may be x. n_weights: row r has
// weights of its own, those from r % n_weights * norm.dim on; then kRms only.
struct Norm {
    NormWeights norm;
    const float* x = nullptr;
    std::int64_t n = 0;
    float* out = nullptr;
    std::int64_t n_weights = 1;

    Cost cost() const { return {as_double(n * norm.dim) * 8}; }
};
void compute(CpuWorker& worker, const Norm& op);     // norm.cpp
void compute(cuda::Worker& worker, const Norm& op);  // norm.cu

}  // namespace offstage::kernels::ops
