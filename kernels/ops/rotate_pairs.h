#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// In place, in each of n_heads heads of n rows: the pairs of neighbours (first + 2 i,
// first + 2 i + 1), i < dim / 2, turn by the angles of their row's cos and sin (n, dim /
// 2), or back. x: (n, n_heads, head_dim).
struct RotatePairs {
    std::int64_t n = 0;
    std::int64_t n_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t first = 0;
    std::int64_t dim = 0;
    const float* cos = nullptr;
    const float* sin = nullptr;
    bool back = false;
    float* x = nullptr;

    Cost cost() const { return {as_double(n * n_heads * dim) * 8}; }
};
void compute(CpuWorker& worker, const RotatePairs& op);     // rotate_and_store.cpp
void compute(cuda::Worker& worker, const RotatePairs& op);  // rotate_and_store.cu

}  // namespace offstage::kernels::ops
