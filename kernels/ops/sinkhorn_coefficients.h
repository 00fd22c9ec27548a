#pragma once

#include <cmath>

#include "kernels/host_device.h"
#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// The coefficients of hyper-connections between N = n_streams residual streams
// (DeepSeek-V4, section 2.2), in the place of the products that they are made of. A row
// of x (n, width()) is `read` (N), `write` (N) and `mix` (N, N): with a = product * scale
// + base, scale[0], [1] and [2] for the three,
//   read = sigmoid(a) + eps, write = 2 sigmoid(a)
// and mix is the softmax of each of its rows, plus eps, whose columns are divided by
// their sums, and then n_steps - 1 times its rows and its columns; eps is added to each
// sum. n_steps 0: a row is `read` alone.
struct SinkhornCoefficients {
    std::int64_t n = 0;
    std::int64_t n_streams = 0;
    std::int64_t n_steps = 0;
    float eps = 0;
    const float* scale = nullptr;  // (3), or (1)
    const float* base = nullptr;   // (width())
    float* x = nullptr;

    OFFSTAGE_HOST_DEVICE std::int64_t width() const { return n_steps == 0 ? n_streams : (2 + n_streams) * n_streams; }
    Cost cost() const { return {as_double(n * width()) * 8, as_double(n * n_streams * n_streams * (4 * n_steps + 8))}; }
};
void compute(CpuWorker& worker, const SinkhornCoefficients& op);     // sinkhorn_coefficients.cpp
void compute(cuda::Worker& worker, const SinkhornCoefficients& op);  // sinkhorn_coefficients.cu

// One row, in place, on one thread.
OFFSTAGE_HOST_DEVICE inline void sinkhorn_row(const SinkhornCoefficients& op, float* row) {
    const std::int64_t n = op.n_streams;
    const auto sigmoid = [](float a) { return 1.0f / (1.0f + expf(-a)); };
    for (std::int64_t i = 0; i < n; ++i) row[i] = sigmoid(row[i] * op.scale[0] + op.base[i]) + op.eps;
    if (op.n_steps == 0) return;
    for (std::int64_t i = n; i < 2 * n; ++i) row[i] = 2.0f * sigmoid(row[i] * op.scale[1] + op.base[i]);
    float* const mix = row + 2 * n;
    const auto divide = [&](std::int64_t from, std::int64_t stride, float more) {
        float sum = more;
        for (std::int64_t i = 0; i < n; ++i) sum += mix[from + i * stride];
        for (std::int64_t i = 0; i < n; ++i) mix[from + i * stride] /= sum;
    };
    for (std::int64_t r = 0; r < n; ++r) {
        float* const values = mix + r * n;
        float largest = -INFINITY;
        for (std::int64_t i = 0; i < n; ++i) {
            values[i] = values[i] * op.scale[2] + op.base[2 * n + r * n + i];
            largest = values[i] > largest ? values[i] : largest;
        }
        for (std::int64_t i = 0; i < n; ++i) values[i] = expf(values[i] - largest);
        divide(r * n, 1, 0.0f);
        for (std::int64_t i = 0; i < n; ++i) values[i] += op.eps;
    }
    for (std::int64_t step = 0; step < op.n_steps; ++step) {
        for (std::int64_t r = 0; step > 0 && r < n; ++r) divide(r * n, 1, op.eps);
        for (std::int64_t c = 0; c < n; ++c) divide(c, n, op.eps);
    }
}

}  // namespace offstage::kernels::ops
