#include "kernels/ops/sinkhorn_coefficients.h"

#include "kernels/cpu_worker.h"

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const SinkhornCoefficients& op) {
    worker.for_rows(op.n, [&](std::int64_t t) { sinkhorn_row(op, op.x + t * op.width()); });
}

}  // namespace offstage::kernels::ops
