// Products and experts whose inputs are rounded to 8 bits (byte_products.cuh), step by
// step.
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/rows_in_lists.cuh"

namespace offstage::kernels::cuda {
namespace {

struct ByteSteps {
    using Value = unsigned char;
    Worker& worker;
    const ExpertLayout& layout;

    static std::int64_t row_values(std::int64_t n_columns) { return rounded_bytes(n_columns); }
    static bool takes(const CudaExpertCall& call) { return call.n_rows > CudaContext::kFewRows; }
    void gather(const FewCalls& list, const float* inputs, const std::int32_t* row_token, std::int64_t n_columns,
                unsigned char* to) const {
        round_inputs(worker, list, inputs, row_token, n_columns, to);
    }
    void multiply(const TiledMatrix& matrix, const FewCalls& list, const unsigned char* rounded, bool to_scratch,
                  float* y) const {
        byte_tiles(worker, matrix, list, rounded, to_scratch, y);
    }
    void activate(const float* gate, const float* up, std::int64_t n_rows, std::int64_t ffn_dim,
                  unsigned char* to) const {
        round_activations(worker, layout.spec, gate, up, n_rows, ffn_dim, to);
    }
};

}  // namespace

bool multiply_in_bytes(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, bool in_tiles,
                       float* y) {
    worker.scratch.restart();
    const std::int64_t row = rounded_bytes(weight.n_cols);
    std::int64_t most = static_cast<std::int64_t>(worker.scratch.left()) / row;
    if (most > kMostRowsOfCall) most = kMostRowsOfCall;
    if (most < 1) return false;
    auto* const rounded = worker.scratch.take<unsigned char>((most < n ? most : n) * row);
    if (rounded == nullptr) return false;
    for (std::int64_t first = 0; first < n; first += most) {
        FewCalls list;
        list.n = 1;
        FewCall& call = list.calls[0];
        call = {weight.data,
                static_cast<std::int32_t>(first),
                static_cast<std::int32_t>(n - first < most ? n - first : most),
                0,
                0,
                0};
        round_inputs(worker, list, x, nullptr, weight.n_cols, rounded);
        if (in_tiles) {
            byte_tiles(worker, tiled_matrix(weight), list, rounded, false, y);
        } else {
            byte_product(worker, weight, call.n_rows, list, rounded, y);
        }
    }
    return true;
}

void many_rows_in_bytes(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
                        const float* inputs, const std::int32_t* row_token, float* out) {
    run_experts_in_lists(worker, layout, calls, n_calls, inputs, row_token, out, ByteSteps{worker, layout});
}

}  // namespace offstage::kernels::cuda
