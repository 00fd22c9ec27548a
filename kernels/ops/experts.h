#pragma once

#include "kernels/expert_layout.h"
#include "kernels/ops/cost.h"
#include "kernels/span.h"

namespace offstage::kernels {

// One expert's share of a step: rows [first_row, first_row + n_rows) of the row order
// (see ops::Experts).
struct ExpertCall {
    ExpertView weights;  // in the device's memory
    std::int64_t first_row = 0;
    std::int64_t n_rows = 0;
    // If only some neurons of an expert were copied: their places in the whole expert,
    // ascending, in host memory; its layout's ffn_dim is their number. The missing
    // neurons are those that ExpertSpec::theta leaves out for each of the rows. The
    // result is the whole expert's (CpuBackend and EmulatedAccelerator: bit by bit; there
    // for few rows only). Empty: the expert is whole.
    Span<std::int32_t> neurons = {};
    std::int64_t whole_ffn_dim = 0;  // if neurons are missing
};

namespace ops {

// The rows of a step are its (token, chosen expert) pairs, grouped by expert. For each
// row r of each call: out[r] = w2^T activation(w1 x, w3 x) with x = inputs[row_token[r]],
// and biases, as ExpertSpec defines; inputs (n, hidden_dim), out (n_rows, hidden_dim).
// The result of a row depends only on its expert, its input and, with
// SumOrder::kByNumber, the number of rows of its expert: never on the other calls or on
// the device that computes it (CpuBackend and EmulatedAccelerator: bit by bit).
struct Experts {
    Span<ExpertCall> calls;
    const float* inputs = nullptr;
    const std::int32_t* row_token = nullptr;
    float* out = nullptr;

    // Of one call with rows: each is computed by kernels of its own.
    static Cost cost_of(const ExpertCall& call) {
        const ExpertLayout& expert = call.weights.layout;
        const double n_weights = as_double(expert.n_weights());
        return {static_cast<double>(expert.bytes()) + as_double(call.n_rows * expert.hidden_dim) * 8,
                2 * as_double(call.n_rows) * n_weights};
    }
};
// On the CPU: engine/device/cpu_experts.cpp, with the scratch memory of all its products.
void compute(cuda::Worker& worker, const Experts& op);  // kernels/cuda/experts.cu

}  // namespace ops
}  // namespace offstage::kernels
