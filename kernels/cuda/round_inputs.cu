// Inputs rounded to 8 bits, 32 of them with one scale: as CpuKernels::round_inputs does
// it in its scalar version, in another layout (byte_products.cuh).
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/input_rounding.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// grid: (columns, calls, rows).
__global__ void __launch_bounds__(kThreads)
    round_rows(FewCalls list, const float* inputs, bool of_scratch, const std::int32_t* row_token,
               std::int64_t n_columns, unsigned char* to) {
    const FewCall& call = list.call(blockIdx.y);
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    const int t = static_cast<int>(blockIdx.z);
    if (t >= call.n_rows || column >= n_columns) return;  // whole warps
    const std::int64_t row = (of_scratch ? call.scratch_row : call.first_row) + t;
    const float value = inputs[(row_token == nullptr ? row : row_token[row]) * n_columns + column];
    store_rounded(value, column, n_columns, to + (call.scratch_row + t) * rounded_bytes(n_columns));
}

void start(Worker& worker, const FewCalls& list, const float* inputs, bool of_scratch, const std::int32_t* row_token,
           std::int64_t n_columns, unsigned char* to) {
    const dim3 grid(blocks_for(n_columns, kThreads), static_cast<unsigned>(list.n),
                    static_cast<unsigned>(list.most_rows()));
    worker.start(round_rows, grid, kThreads, 0, list, inputs, of_scratch, row_token, n_columns, to);
}

}  // namespace

void round_inputs(Worker& worker, const FewCalls& list, const float* inputs, const std::int32_t* row_token,
                  std::int64_t n_columns, unsigned char* to) {
    start(worker, list, inputs, false, row_token, n_columns, to);
}

void round_activations(Worker& worker, const FewCalls& list, const float* activations, std::int64_t ffn_dim,
                       unsigned char* to) {
    start(worker, list, activations, true, nullptr, ffn_dim, to);
}

}  // namespace offstage::kernels::cuda
