#include "kernels/ops/norm.h"

#include <cassert>
#include <cmath>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"
#include "kernels/cpu_worker.h"
#include "kernels/ops/norm_pieces.h"

namespace offstage::kernels::scalar {

void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    const float mean_square = dot(x, x, n) / static_cast<float>(n);
    const float factor = 1.0f / std::sqrt(mean_square + eps);
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * factor * (weight == nullptr ? 1.0f : weight[i]);
}

void layer_norm(const float* x, const float* weight, const float* bias, std::int64_t n, float eps, float* out) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += double{x[i]};
    const auto mean = static_cast<float>(sum / static_cast<double>(n));
    double squares = 0.0;
    for (std::int64_t i = 0; i < n; ++i) squares += double{x[i] - mean} * double{x[i] - mean};
    const float factor = 1.0f / std::sqrt(static_cast<float>(squares / static_cast<double>(n)) + eps);
    for (std::int64_t i = 0; i < n; ++i) {
        out[i] = (x[i] - mean) * factor * weight[i] + (bias == nullptr ? 0.0f : bias[i]);
    }
}

}  // namespace offstage::kernels::scalar

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const Norm& op) {
    const NormWeights& norm = op.norm;
    worker.for_rows(op.n, [&](std::int64_t t) {
        const float* const x = op.x + t * norm.dim;
        float* const out = op.out + t * norm.dim;
        if (norm.kind == NormKind::kRms) {
            const float* const weight = op.n_weights == 1 ? norm.weight : norm.weight + t % op.n_weights * norm.dim;
            worker.kernels.rms_norm(x, weight, norm.dim, norm.eps, out);
        } else {
            worker.kernels.layer_norm(x, norm.weight, norm.bias, norm.dim, norm.eps, out);
        }
    });
}

void compute(CpuWorker& worker, const NormPieces& op) {
    const NormWeights& norm = op.norm;
    assert(norm.kind == NormKind::kRms);
    worker.for_rows(op.n, [&](std::int64_t t) {
        for (std::int64_t piece = 0; piece < op.n_pieces; ++piece) {
            float* const place = op.x + t * op.stride + piece * norm.dim;
            worker.kernels.rms_norm(place, norm.weight, norm.dim, norm.eps, place);
        }
    });
}

}  // namespace offstage::kernels::ops
