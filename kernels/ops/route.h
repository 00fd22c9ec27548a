#pragma once

#include "kernels/ops/cost.h"
#include "kernels/router.h"

namespace offstage::kernels::ops {

// Router: for each of n rows of x (n, hidden_dim) the n_active experts that
// kernels::route() chooses by the logits gate . x, and by the rows' tokens. experts,
// weights: (n, n_active), best first. A GPU: up to 4096 experts in up to
// kMostExpertGroups groups.
struct Route {
    RouterSpec spec;
    RouterArrays arrays;
    const float* x = nullptr;
    std::int64_t n = 0;
    std::int64_t hidden_dim = 0;
    std::int32_t* experts = nullptr;
    float* weights = nullptr;

    Cost cost() const {
        const std::int64_t n_experts = spec.n_experts;
        return {as_double((n + n_experts) * hidden_dim) * 4, 2 * as_double(n * n_experts * hidden_dim)};
    }
};
void compute(CpuWorker& worker, const Route& op);     // route.cpp
void compute(cuda::Worker& worker, const Route& op);  // route.cu

}  // namespace offstage::kernels::ops
