// Products and experts whose inputs are rounded to 8 bits (byte_products.cuh), step by step.
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/rows_in_lists.cuh"

namespace offstage::kernels::cuda {
namespace {

// Of a row of an expert: its input, both products, its activation.
std::size_t row_bytes(const ExpertLayout& layout) {
    return static_cast<std::size_t>(rounded_bytes(layout.hidden_dim) + rounded_bytes(layout.ffn_dim)) +
           static_cast<std::size_t>(layout.ffn_dim) * 2 * sizeof(float);
}

// Experts of a list, n_rows rows in all.
void run_list(Worker& worker, const ExpertLayout& layout, const FewCalls& list, std::int64_t n_rows,
              const float* inputs, const std::int32_t* row_token, float* out) {
    if (list.n == 0) return;
    worker.scratch.restart();
    auto* const x = worker.scratch.take<unsigned char>(n_rows * rounded_bytes(layout.hidden_dim));
    auto* const gate = worker.scratch.take<float>(n_rows * layout.ffn_dim);
    auto* const up = worker.scratch.take<float>(n_rows * layout.ffn_dim);
    auto* const activations = worker.scratch.take<unsigned char>(n_rows * rounded_bytes(layout.ffn_dim));
    if (x == nullptr || gate == nullptr || up == nullptr || activations == nullptr) {
        worker.lacks_scratch();
        return;
    }
    const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    const auto bias = [&](std::int64_t n_before) {
        return layout.spec.biases ? bytes(layout.bias_offset()) + n_before * bytes(sizeof(float)) : -1;
    };
    const std::int64_t ffn = layout.ffn_dim;
    const std::int64_t hidden = layout.hidden_dim;
    const std::int64_t neuron = bytes(layout.neuron_bytes());
    round_inputs(worker, list, inputs, row_token, hidden, x);
    byte_tiles(worker, {layout.gate, 0, neuron, ffn, hidden, bias(0)}, list, x, true, gate);
    byte_tiles(worker, {layout.up, bytes(layout.up_offset()), neuron, ffn, hidden, bias(ffn)}, list, x, true, up);
    round_activations(worker, layout.spec, gate, up, n_rows, ffn, activations);
    byte_tiles(worker,
               {layout.down, bytes(layout.down_offset()), bytes(layout.down_stride()), hidden, ffn, bias(2 * ffn)},
               list, activations, false, out);
}

}  // namespace

bool multiply_in_bytes(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y) {
    worker.scratch.restart();
    const std::int64_t row = rounded_bytes(weight.n_cols);
    std::int64_t most = static_cast<std::int64_t>(worker.scratch.left()) / row;
    if (most > kMostRowsOfCall) most = kMostRowsOfCall;
    if (most < 1) return false;
    auto* const rounded = worker.scratch.take<unsigned char>((most < n ? most : n) * row);
    if (rounded == nullptr) return false;
    const bool few = n <= CudaContext::kFewRows;
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
        if (few) {
            byte_product(worker, weight, call.n_rows, list, rounded, y);
            continue;
        }
        const TiledMatrix matrix{weight.type, 0, static_cast<std::int64_t>(weight.stride_bytes()), weight.n_rows,
                                 weight.n_cols};
        byte_tiles(worker, matrix, list, rounded, false, y);
    }
    return true;
}

void many_rows_in_bytes(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
                        const float* inputs, const std::int32_t* row_token, float* out) {
    run_rows_in_lists(
        worker, calls, n_calls, row_bytes(layout),
        [&](const CudaExpertCall& call) { return call.n_rows > CudaContext::kFewRows; },
        [&](const FewCalls& list, std::int64_t n_rows) {
            run_list(worker, layout, list, n_rows, inputs, row_token, out);
        });
}

}  // namespace offstage::kernels::cuda
