// The operations of hyper-connections on the CPU.

#include <algorithm>
#include <cmath>

#include "kernels/cpu_worker.h"
#include "kernels/ops/activate.h"
#include "kernels/ops/read_gated_streams.h"
#include "kernels/ops/read_streams.h"
#include "kernels/ops/write_streams.h"

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const Activate& op) {
    worker.for_values(op.n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const float x = op.factor * op.x[i];
            op.x[i] = op.scale * (op.by_itself ? x : 1.0f) / (1.0f + std::exp(-x));
        }
    });
}

void compute(CpuWorker& worker, const ReadStreams& op) {
    worker.for_rows(op.n, [&](std::int64_t t) {
        float* const out = op.out + t * op.dim;
        std::fill_n(out, op.dim, 0.0f);
        for (std::int64_t s = 0; s < op.n_streams; ++s) {
            worker.kernels.axpy(op.weights[t * op.stride + s], op.streams + (t * op.n_streams + s) * op.dim, op.dim,
                                out);
        }
    });
}

void compute(CpuWorker& worker, const ReadGatedStreams& op) {
    const float share = 1.0f / static_cast<float>(op.n_streams);
    worker.for_values(op.n * op.dim, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i / op.dim * op.n_streams * op.dim + i % op.dim;
            float sum = 0.0f;
            for (std::int64_t s = 0; s < op.n_streams; ++s) {
                sum += op.streams[first + s * op.dim] / (1.0f + std::exp(-op.gates[first + s * op.dim]));
            }
            op.out[i] = sum * share;
        }
    });
}

void compute(CpuWorker& worker, const WriteStreams& op) {
    const std::int64_t width = op.n_streams * op.dim;
    worker.for_rows(op.n, [&](std::int64_t t) {
        const float* const y = op.y + t * op.dim;
        float* const streams = op.streams + t * width;
        if (op.weights == nullptr) {
            for (std::int64_t s = 0; s < op.n_streams; ++s) std::copy_n(y, op.dim, streams + s * op.dim);
            return;
        }
        const float* const weights = op.weights + t * op.stride;
        if (op.mix == nullptr) {
            for (std::int64_t s = 0; s < op.n_streams; ++s) {
                worker.kernels.axpy(weights[s], y, op.dim, streams + s * op.dim);
            }
            return;
        }
        const float* const mix = op.mix + t * op.stride;
        for (std::int64_t i = 0; i < op.dim; ++i) {
            float before[kMostStreams];
            for (std::int64_t s = 0; s < op.n_streams; ++s) before[s] = streams[s * op.dim + i];
            for (std::int64_t s = 0; s < op.n_streams; ++s) {
                float sum = weights[s] * y[i];
                for (std::int64_t r = 0; r < op.n_streams; ++r) sum += mix[r * op.n_streams + s] * before[r];
                streams[s * op.dim + i] = sum;
            }
        }
    });
}

}  // namespace offstage::kernels::ops
