#pragma once
// Experts with few rows: what the kernels for plain and for packed weights (experts.cu, packed_experts.cu) share.

#include <cstdint>
#include <type_traits>

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
