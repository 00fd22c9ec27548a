#include "kernels/ops/embed.h"

#include "kernels/cpu_worker.h"
#include "kernels/interleaved.h"

namespace offstage::kernels::ops {

void compute(CpuWorker& worker, const Embed& op) {
    const WeightView& table = op.table;
    const std::int64_t hidden = table.n_cols;
    if (!table.interleaved) {
        worker.for_rows(op.n, [&](std::int64_t t) {
            worker.kernels.widen(table.row(op.tokens[t]), table.type, hidden, op.x + t * hidden);
        });
        return;
    }
    const std::size_t row_bytes = table.stride_bytes();
    std::byte* const rows = CpuWorker::room(worker.strip, static_cast<std::int64_t>(row_bytes) * kInterleavedRows);
    for (std::int64_t t = 0; t < op.n; ++t) {
        const std::int64_t lane = op.tokens[t] % kInterleavedRows;
        interleave_rows(table.type, hidden, table.row(op.tokens[t] - lane), rows, true);
        worker.kernels.widen(rows + static_cast<std::size_t>(lane) * row_bytes, table.type, hidden, op.x + t * hidden);
    }
}

}  // namespace offstage::kernels::ops
