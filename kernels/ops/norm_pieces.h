#pragma once

#include "kernels/norm_weights.h"
#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// In-place RMS norm of pieces of rows. Each of n rows, `stride` floats apart, has
// n_pieces consecutive pieces of norm.dim floats from x on. All have the same weight (q/k
// norms, the latent's norm).
struct NormPieces {
    NormWeights norm;
    std::int64_t n = 0;
    std::int64_t stride = 0;
    std::int64_t n_pieces = 0;
    float* x = nullptr;

    Cost cost() const { return {as_double(n * n_pieces * norm.dim) * 8}; }
};
void compute(CpuWorker& worker, const NormPieces& op);     // norm.cpp
void compute(cuda::Worker& worker, const NormPieces& op);  // norm.cu

}  // namespace offstage::kernels::ops
