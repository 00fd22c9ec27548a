// Coefficients of hyper-connections on the GPU: a thread for each row.

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/ops/sinkhorn_coefficients.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kCoefficientThreads = 32;

__global__ void __launch_bounds__(kCoefficientThreads) sinkhorn_rows(ops::SinkhornCoefficients op) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kCoefficientThreads + threadIdx.x;
    if (row < op.n) ops::sinkhorn_row(op, op.x + row * op.width());
}

}  // namespace
}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const SinkhornCoefficients& op) {
    if (op.n <= 0) return;
    worker.start(sinkhorn_rows, blocks_for(op.n, kCoefficientThreads), kCoefficientThreads, 0, op);
}

}  // namespace offstage::kernels::ops
