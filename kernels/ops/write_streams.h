#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// Hyper-connections have at most so many residual streams.
inline constexpr std::int64_t kMostStreams = 8;

// Hyper-connections: a part's output is added to each residual stream, and the streams
// are mixed. streams[t][s] = weights[s] y[t] + sum over r of mix[r * n_streams + s]
// streams[t][r], in the order of r; weights and mix are the token's, `stride` floats
// after those of the token before. mix nullptr: streams[t][s] += weights[s] y[t]. weights
// nullptr: each stream becomes y[t]. streams (n, n_streams, dim), up to kMostStreams; y
// (n, dim).
struct WriteStreams {
    const float* y = nullptr;
    std::int64_t n_streams = 0;
    std::int64_t n = 0;
    std::int64_t dim = 0;
    const float* weights = nullptr;
    const float* mix = nullptr;
    std::int64_t stride = 0;
    float* streams = nullptr;

    Cost cost() const {
        const std::int64_t n_sums = weights == nullptr ? 0 : mix == nullptr ? n_streams : n_streams * (n_streams + 1);
        return {as_double(n * ((weights == nullptr ? 1 : 2) * n_streams + 1) * dim) * 4,
                as_double(2 * n * n_sums * dim)};
    }
};
void compute(CpuWorker& worker, const WriteStreams& op);     // streams.cpp
void compute(cuda::Worker& worker, const WriteStreams& op);  // streams.cu

}  // namespace offstage::kernels::ops
