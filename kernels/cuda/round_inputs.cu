// Inputs rounded to 8 bits, 32 of them with one scale: as CpuKernels::round_inputs does
// it in its scalar version, in another layout (byte_products.cuh).
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/input_rounding.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// grid: (columns, calls, rows).
__global__ void __launch_bounds__(kThreads)
    round_rows(FewCalls list, const float* inputs, const std::int32_t* row_token, std::int64_t n_columns,
               unsigned char* to) {
    const FewCall& call = list.calls[blockIdx.y];
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    const int t = static_cast<int>(blockIdx.z);
    if (t >= call.n_rows || column >= n_columns) return;  // whole warps
    const std::int64_t row = call.first_row + t;
    const float value = inputs[(row_token == nullptr ? row : row_token[row]) * n_columns + column];
    store_rounded(value, column, n_columns, to + (call.scratch_row + t) * rounded_bytes(n_columns));
}

// grid: (rows, columns).
__global__ void __launch_bounds__(kThreads)
    round_activated(ExpertSpec spec, const float* gate, const float* up, std::int64_t n_columns, unsigned char* to) {
    const std::int64_t row = blockIdx.x;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
    if (column >= n_columns) return;  // whole warps
    const std::int64_t place = row * n_columns + column;
    store_rounded(activation(spec, gate[place], up[place]), column, n_columns, to + row * rounded_bytes(n_columns));
}

}  // namespace

void round_inputs(Worker& worker, const FewCalls& list, const float* inputs, const std::int32_t* row_token,
                  std::int64_t n_columns, unsigned char* to) {
    std::int32_t most = 0;
    for (int c = 0; c < list.n; ++c) most = list.calls[c].n_rows > most ? list.calls[c].n_rows : most;
    const dim3 grid(blocks_for(n_columns, kThreads), static_cast<unsigned>(list.n), static_cast<unsigned>(most));
    worker.start(round_rows, grid, kThreads, 0, list, inputs, row_token, n_columns, to);
}

void round_activations(Worker& worker, const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n_rows,
                       std::int64_t n_columns, unsigned char* to) {
    const dim3 grid(static_cast<unsigned>(n_rows), blocks_for(n_columns, kThreads));
    worker.start(round_activated, grid, kThreads, 0, spec, gate, up, n_columns, to);
}

}  // namespace offstage::kernels::cuda
