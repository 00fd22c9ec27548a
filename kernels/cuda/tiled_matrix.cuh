#pragma once
// Matrices as the kernels for many rows read them, as places in a call's weights.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/expert_layout.h"
#include "kernels/types.h"

namespace offstage::kernels::cuda {

// A matrix (n_rows, n_columns) of a type, and the bias of its outputs.
struct TiledMatrix {
    WeightType type = WeightType::kF32;
    std::int64_t offset = 0;  // bytes, from a call's weights
    std::int64_t stride = 0;  // bytes
    std::int64_t n_rows = 0;
    std::int64_t n_columns = 0;
    std::int64_t bias_offset = -1;  // bytes; negative: there is none
    bool transposed = false;        // outputs are the columns

    __host__ __device__ std::int64_t n_out() const { return transposed ? n_columns : n_rows; }
    __host__ __device__ std::int64_t n_in() const { return transposed ? n_rows : n_columns; }
};

inline TiledMatrix tiled_matrix(const WeightView& weight) {
    return {weight.type, 0, static_cast<std::int64_t>(weight.stride_bytes()), weight.n_rows, weight.n_cols};
}

// The matrices of an expert's block.
struct ExpertMatrices {
    TiledMatrix gate, up, down;

    explicit ExpertMatrices(const ExpertLayout& layout) {
        const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(n); };
        const std::int64_t ffn = layout.ffn_dim;
        const std::int64_t hidden = layout.hidden_dim;
        const auto bias = [&](std::int64_t n_before) {
            return layout.spec.biases ? bytes(layout.bias_offset()) + n_before * bytes(sizeof(float)) : -1;
        };
        const std::int64_t neuron = bytes(layout.neuron_bytes());
        gate = {layout.gate, 0, neuron, ffn, hidden, bias(0)};
        up = {layout.up, bytes(layout.up_offset()), neuron, ffn, hidden, bias(ffn)};
        const bool transposed = !layout.down_rows_are_outputs;
        down = {layout.down,
                bytes(layout.down_offset()),
                bytes(layout.down_stride()),
                transposed ? ffn : hidden,
                transposed ? hidden : ffn,
                bias(2 * ffn),
                transposed};
    }
};

}  // namespace offstage::kernels::cuda
