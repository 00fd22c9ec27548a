// Gated short convolution: see ops::GatedConvolution.

#include "kernels/cuda/recurrent_states.cuh"
#include "kernels/ops/gated_convolution.h"

namespace offstage::kernels::cuda {
namespace {

// One block per row (x) and kStateThreads channels (y): to = a * b.
__global__ void __launch_bounds__(kStateThreads) multiply_rows(const float* a, const float* b, std::int64_t width,
                                                               std::int64_t stride, float* to, std::int64_t to_stride) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kStateThreads + threadIdx.x;
    const std::int64_t at = blockIdx.x * stride + i;
    if (i < width) to[blockIdx.x * to_stride + i] = a[at] * b[at];
}

}  // namespace

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const GatedConvolution& op) {
    const std::int64_t width = op.shape.n_channels, stride = 3 * width;
    const dim3 grid(blocks_for(rows_of(op.segments), 1), blocks_for(width, kStateThreads));
    float* const c = op.bcx + width;
    float* const x = c + width;
    worker.start(multiply_rows, grid, kStateThreads, 0, op.bcx, x, width, stride, x, stride);
    convolve(worker, op.shape, op.segments, op.kv.keys_offset(op.layer, 0), 0, x, stride);
    worker.start(multiply_rows, grid, kStateThreads, 0, c, x, width, stride, op.out, width);
}

}  // namespace offstage::kernels::ops
