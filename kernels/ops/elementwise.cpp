// Operations by value or by row on the CPU, and the plain versions of their kernels,
// which define what a result is.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"
#include "kernels/cpu_worker.h"
#include "kernels/ops/add.h"
#include "kernels/ops/add_bias.h"
#include "kernels/ops/add_gated.h"
#include "kernels/ops/clamp.h"
#include "kernels/ops/clear.h"
#include "kernels/ops/combine.h"
#include "kernels/ops/multiply_sigmoid.h"
#include "kernels/ops/scale.h"
#include "kernels/ops/soft_cap.h"
#include "kernels/ops/weigh_inputs.h"

namespace offstage::kernels::scalar {

float gelu(float x) {
    return 0.5f * x * (1.0f + std::erf(x * 0.707106781f));
}

void activate(const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n, float* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = activation(spec, gate[i], up[i]);
}

void axpy(float a, const float* x, std::int64_t n, float* y) {
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

void soft_cap(float limit, std::int64_t n, float* x) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = limit * std::tanh(x[i] / limit);
}

void widen(const void* source, WeightType type, std::int64_t n, float* out) {
    read_weights(static_cast<const std::byte*>(source), type, n, 0, n, out);
}

void narrow_bf16(const float* source, std::int64_t n, Bf16* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = to_bf16(source[i]);
}

std::int64_t argmax(const float* x, std::int64_t n) {
    float largest = -std::numeric_limits<float>::infinity();
    std::int64_t index = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (x[i] > largest) {
            largest = x[i];
            index = i;
        }
    }
    return index;
}

}  // namespace offstage::kernels::scalar

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const AddBias& op) {
    worker.for_rows(op.n, [&](std::int64_t t) { worker.kernels.axpy(1.0f, op.bias, op.dim, op.x + t * op.dim); });
}

void compute(CpuWorker& worker, const Add& op) {
    worker.for_values(op.n, [&](std::int64_t begin, std::int64_t end) {
        worker.kernels.axpy(op.factor, op.y + begin, end - begin, op.x + begin);
    });
}

void compute(CpuWorker& worker, const AddGated& op) {
    const WeightView row{op.gate, WeightType::kF32, 1, op.dim};
    worker.for_rows(op.n, [&](std::int64_t t) {
        float logit = 0.0f;
        worker.kernels.matvec(row, op.input + t * op.dim, 0, 1, &logit);
        worker.kernels.axpy(1.0f / (1.0f + std::exp(-logit)), op.y + t * op.dim, op.dim, op.x + t * op.dim);
    });
}

void compute(CpuWorker& worker, const Scale& op) {
    worker.for_values(op.n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) op.x[i] *= op.factor;
    });
}

void compute(CpuWorker& worker, const MultiplySigmoid& op) {
    worker.for_values(op.n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) op.x[i] /= 1.0f + std::exp(-op.gate[i / op.n_alike]);
    });
}

void compute(CpuWorker& worker, const Clamp& op) {
    worker.for_values(op.n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) op.x[i] = std::min(std::max(op.x[i], -op.limit), op.limit);
    });
}

void compute(CpuWorker& worker, const SoftCap& op) {
    worker.for_values(op.n, [&](std::int64_t begin, std::int64_t end) {
        worker.kernels.soft_cap(op.limit, end - begin, op.x + begin);
    });
}

void compute(CpuWorker& worker, const WeighInputs& op) {
    worker.for_rows(op.n, [&](std::int64_t r) {
        const float weight = std::exchange(op.weights[r], 1.0f);
        for (std::int64_t i = r * op.dim; i < (r + 1) * op.dim; ++i) op.out[i] = weight * op.x[i];
    });
}

void compute(CpuWorker&, const Clear& op) {
    std::fill_n(op.x, op.n, 0.0f);
}

void compute(CpuWorker& worker, const Combine& op) {
    constexpr std::int64_t kTokenGrain = 4;
    const auto add_rows = [&](std::int64_t t) {
        for (std::int64_t a = t * op.n_active; a < (t + 1) * op.n_active; ++a) {
            worker.kernels.axpy(op.weights[a], op.rows + op.row_of[a] * op.hidden_dim, op.hidden_dim,
                                op.x + t * op.hidden_dim);
        }
    };
    worker.for_rows(op.n, add_rows, kTokenGrain);
}

}  // namespace offstage::kernels::ops
