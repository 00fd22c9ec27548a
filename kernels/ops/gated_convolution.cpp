// Gated short convolution on the CPU.

#include "kernels/ops/gated_convolution.h"

#include "kernels/cpu/recurrent_states.h"

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const GatedConvolution& op) {
    const std::int64_t width = op.shape.n_channels;
    const std::int64_t n_rows = rows_of(op.segments);
    worker.for_rows(n_rows, [&](std::int64_t row) {
        float* const b = op.bcx + row * 3 * width;
        for (std::int64_t i = 0; i < width; ++i) b[2 * width + i] *= b[i];
    });
    convolve(worker, op.shape, {op.segments, op.kv, op.layer, 0}, op.bcx + 2 * width, 3 * width);
    worker.for_rows(n_rows, [&](std::int64_t row) {
        const float* const c = op.bcx + (row * 3 + 1) * width;
        for (std::int64_t i = 0; i < width; ++i) op.out[row * width + i] = c[i] * c[width + i];
    });
}

}  // namespace offstage::kernels::ops
