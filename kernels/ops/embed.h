#pragma once

#include "kernels/ops/cost.h"

namespace offstage::kernels::ops {

// x (n, hidden_dim) = rows tokens[i] of table (vocab_size, hidden_dim).
struct Embed {
    WeightView table;
    const std::int32_t* tokens = nullptr;
    std::int64_t n = 0;
    float* x = nullptr;

    Cost cost() const { return {matrix_bytes(table, n) + as_double(n * table.n_cols) * 4}; }
};
void compute(CpuWorker& worker, const Embed& op);     // embed.cpp
void compute(cuda::Worker& worker, const Embed& op);  // elementwise.cu

}  // namespace offstage::kernels::ops
