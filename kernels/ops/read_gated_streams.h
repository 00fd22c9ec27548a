#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// Hyper-connections whose gates are of each value: out[t] = the mean over s of
// sigmoid(gates[t][s]) streams[t][s], in the order of s; gates and streams
// (n, n_streams, dim); out (n, dim).
struct ReadGatedStreams {
    const float* streams = nullptr;
    const float* gates = nullptr;
    std::int64_t n_streams = 0;
    std::int64_t n = 0;
    std::int64_t dim = 0;
    float* out = nullptr;

    Cost cost() const { return {as_double(n * (2 * n_streams + 1) * dim) * 4, as_double(2 * n * n_streams * dim)}; }
};
void compute(CpuWorker& worker, const ReadGatedStreams& op);     // streams.cpp
void compute(cuda::Worker& worker, const ReadGatedStreams& op);  // streams.cu

}  // namespace offstage::kernels::ops
