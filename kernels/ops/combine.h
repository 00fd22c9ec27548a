#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x[t] += sum over a = 0 .. n_active-1, in this order, of weights[t][a] * rows[row_of[t *
// n_active + a]]. With host_rows, r below 0 means its row -1 - r; row_of and host_rows
// are then what the device's operations know host memory by (Backend::mapped()), and are
// read when the operation runs. Only where Backend::combines_host_rows(). awaits_host:
// when the host has answered the last Backend::hand_over() before it.
struct Combine {
    const float* rows = nullptr;
    const std::int32_t* row_of = nullptr;
    const float* weights = nullptr;
    std::int64_t n = 0;
    std::int64_t n_active = 0;
    std::int64_t hidden_dim = 0;
    float* x = nullptr;
    const float* host_rows = nullptr;
    bool awaits_host = false;

    Cost cost() const { return {as_double(n * hidden_dim * (n_active + 2)) * 4}; }
};
void compute(CpuWorker& worker, const Combine& op);     // elementwise.cpp
void compute(cuda::Worker& worker, const Combine& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
