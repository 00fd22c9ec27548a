#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// Hyper-connections: a part's input as the weighted sum of the residual streams.
// out[t] = sum over s of weights[t * stride + s] streams[t][s], in the order of s;
// streams (n, n_streams, dim); out (n, dim).
struct ReadStreams {
    const float* streams = nullptr;
    std::int64_t n_streams = 0;
    std::int64_t n = 0;
    std::int64_t dim = 0;
    const float* weights = nullptr;
    std::int64_t stride = 0;  // floats from one token's weights to the next one's
    float* out = nullptr;

    Cost cost() const { return {as_double(n * (n_streams + 1) * dim) * 4, as_double(2 * n * n_streams * dim)}; }
};
void compute(CpuWorker& worker, const ReadStreams& op);     // streams.cpp
void compute(cuda::Worker& worker, const ReadStreams& op);  // streams.cu

}  // namespace offstage::kernels::ops
