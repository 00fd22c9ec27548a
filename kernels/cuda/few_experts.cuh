#pragma once
// Experts with few rows: what the kernels for plain and for packed weights (experts.cu, packed_experts.cu) share.

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {

constexpr int kFewExpertThreads = 256;
constexpr int kFewExpertWarps = kFewExpertThreads / 32;
constexpr int kCallsPerLaunch = 64;

struct FewCall {
    const void* weights;
    std::int32_t first_row;
    std::int32_t n_rows;
    std::int32_t scratch_row;  // of its activations
    std::int32_t partial_row;  // of its partial sums: (n_stretches, n_rows)
    std::int32_t n_stretches;
};

struct FewCalls {
    FewCall calls[kCallsPerLaunch];
    int n = 0;
    std::int32_t most_stretches = 1;
};

// What up and gather kernels need of a spec: where the biases are in each call's block
// (w1's, then w3's, then w2's).
struct Gating {
    ExpertSpec spec;
    std::int64_t bias_offset = 0;  // bytes
    std::int64_t ffn_dim = 0;

    explicit Gating(const CudaExpertShape& shape)
        : spec(shape.spec),
          bias_offset(static_cast<std::int64_t>(kernels::bias_offset(shape.type, shape.hidden_dim, shape.ffn_dim))),
          ffn_dim(shape.ffn_dim) {}
    __host__ __device__ const float* biases(const void* weights) const {
        return reinterpret_cast<const float*>(static_cast<const unsigned char*>(weights) + bias_offset);
    }
    __device__ float of(const void* weights, std::int64_t neuron, float gate, float up) const {
        if (spec.biases) {
            gate += biases(weights)[neuron];
            up += biases(weights)[ffn_dim + neuron];
        }
        return activation(spec, gate, up);
    }
};

// Calls body with std::integral_constant<int, n>, for the numbers of rows that kernels are made for.
template <typename Body>
void with_inputs(int n, const Body& body) {
    switch (n) {
        case 1:
            body(std::integral_constant<int, 1>());
            return;
        case 2:
            body(std::integral_constant<int, 2>());
            return;
        case 4:
            body(std::integral_constant<int, 4>());
            return;
        default:
            body(std::integral_constant<int, 8>());
            return;
    }
}

// packed_experts.cu: activations and partial sums of calls of up to n_inputs (1, 2, 4, 8) rows, as experts.cu says.
void packed_up(Worker& worker, const CudaExpertShape& shape, int n_inputs, const FewCalls& list, const float* inputs,
               const std::int32_t* row_token, float* activations);
void packed_down(Worker& worker, const CudaExpertShape& shape, int n_inputs, const FewCalls& list,
                 const float* activations, float* partials);

}  // namespace offstage::kernels::cuda
