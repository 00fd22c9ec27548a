#pragma once
// Experts with few rows: shared by the kernels for plain weights, packed weights and
// blocks (plain_experts.cu, packed_experts.cu, block_experts.cu).

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {

constexpr int kFewExpertThreads = 256;
constexpr int kFewExpertWarps = kFewExpertThreads / 32;
constexpr int kCallsPerLaunch = 64;
constexpr int kMostStretches = 32;  // of w2's neurons

struct FewCall {
    const void* weights;
    std::int32_t first_row;
    std::int32_t n_rows;
    std::int32_t scratch_row;  // its activations
    std::int32_t partial_row;  // its partial sums: (n_stretches, n_rows)
    std::int32_t n_stretches;
};

struct FewCalls {
    int n = 0;
    std::int32_t most_stretches = 1;
    // Experts chosen by the device, instead of FewCall::weights: call c uses
    // blocks[chosen[c]]; nullptr: the expert is not on this device, and the call is
    // skipped.
    const std::byte* const* blocks = nullptr;
    const std::int32_t* chosen = nullptr;
    // n calls that only the device knows, of up to most_rows_there rows or none, instead
    // of those below.
    const FewCall* there = nullptr;
    std::int32_t most_rows_there = 0;
    FewCall calls[kCallsPerLaunch] = {};  // beyond n, too: lists are compared byte by byte

    __device__ const FewCall& call(unsigned c) const { return there == nullptr ? calls[c] : there[c]; }
    __device__ const void* weights(unsigned c) const { return blocks == nullptr ? call(c).weights : blocks[chosen[c]]; }
    std::int32_t most_rows() const {
        std::int32_t most = most_rows_there;
        for (int c = 0; there == nullptr && c < n; ++c) most = calls[c].n_rows > most ? calls[c].n_rows : most;
        return most;
    }
};

// Rows 0 .. n_rows of one matrix.
inline FewCalls all_rows(std::int64_t n_rows) {
    FewCalls list;
    list.n = 1;
    list.calls[0].n_rows = static_cast<std::int32_t>(n_rows);
    return list;
}
// n calls that the device lists at `there`, of up to most_rows rows each.
inline FewCalls calls_there(const FewCall* there, std::int64_t n, std::int64_t most_rows) {
    FewCalls list;
    list.n = static_cast<int>(n);
    list.there = there;
    list.most_rows_there = static_cast<std::int32_t>(most_rows);
    return list;
}

// The spec for up and gather kernels, with the offsets of the biases in each call's block
// (w1's, then w3's, then w2's).
struct Gating {
    ExpertSpec spec;
    std::int64_t bias_offset = 0;  // bytes
    std::int64_t ffn_dim = 0;

    Gating() = default;
    explicit Gating(const ExpertLayout& layout)
        : spec(layout.spec), bias_offset(static_cast<std::int64_t>(layout.bias_offset())), ffn_dim(layout.ffn_dim) {}
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

// What is done with the partial sums of one token's chosen experts: see add_behind().
struct TokenSum {
    const float* weights = nullptr;  // (calls)
    float* x = nullptr;              // (hidden_dim): gets the weighted sum; nullptr: the partial sums are left
    unsigned* arrived = nullptr;     // see is_last_block(): for each block of columns, one for each call and one more
    Gating gating;
};

// The rows of w1 and w3 that an up kernel reads, in bytes from a call's block and from
// one neuron to the next: both, or one of them where they are of different formats. Then
// the kernel of w1 stores its sums as activations, and that of w3 finds them there. Where
// they are one matrix, its sums are both.
struct UpRows {
    std::int64_t stride = 0;
    std::int64_t offsets[2] = {};
    bool completes = true;  // false: w1 only
    bool of_both = true;
    bool has_gate = true;

    // Turns the sums of a neuron into its activation, at `place`.
    template <int kMatrices>
    __device__ void store(const Gating& gating, const void* weights, std::int64_t neuron,
                          const float (&sums)[kMatrices], float* place) const {
        if constexpr (kMatrices == 2) {
            *place = gating.of(weights, neuron, sums[0], sums[1]);
        } else {
            *place = completes ? gating.of(weights, neuron, has_gate ? *place : sums[0], sums[0]) : sums[0];
        }
    }
};

// Calls body(rows, type) for the matrices that the up kernels of a layout read, in this
// order.
template <typename Body>
void for_each_up(const ExpertLayout& layout, const Body& body) {
    UpRows rows;
    rows.stride = static_cast<std::int64_t>(layout.neuron_bytes());
    const auto up = static_cast<std::int64_t>(layout.up_offset());
    rows.of_both = rows.has_gate = layout.spec.has_gate();
    if (layout.gate == layout.up) {
        rows.offsets[1] = up;
        body(rows, layout.gate);
        return;
    }
    rows.of_both = rows.completes = false;
    body(rows, layout.gate);
    rows.completes = true;
    rows.offsets[0] = up;
    body(rows, layout.up);
}

// How kernels read these rows.
inline WeightType row_type(const Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type) {
    return row_type(worker, {reinterpret_cast<const void*>(static_cast<std::uintptr_t>(rows.offsets[0])), type,
                             layout.ffn_dim, layout.hidden_dim, static_cast<std::size_t>(rows.stride)});
}

// Calls body with std::integral_constant<int, 2> or 1: matrices that an up kernel reads.
template <typename Body>
void with_matrices(const UpRows& rows, const Body& body) {
    if (rows.of_both) {
        body(std::integral_constant<int, 2>());
    } else {
        body(std::integral_constant<int, 1>());
    }
}

// Calls body with std::integral_constant<int, n>, for the numbers of rows that kernels
// are made for.
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

// Stretches of w2's neurons; depends only on the shape and the rows of one expert.
inline std::int64_t n_stretches(std::int64_t ffn_dim, std::int64_t n_rows) {
    const std::int64_t most = n_rows <= 2 ? kMostStretches : kMostStretches / 2;
    const std::int64_t wanted = ffn_dim / 64;
    return wanted < 1 ? 1 : wanted > most ? most : wanted;
}

// experts.cu: the outputs of a list's calls of up to n_inputs rows, whose inputs are
// float32 or, where `rounded` has them already, in 8 bits. The rest is room: of each
// scratch row ffn_dim activations, split_bytes() in `rounded`; hidden_dim partial sums of
// each row and stretch.
void few_calls(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list, const float* inputs,
               const std::int32_t* row_token, float* activations, unsigned char* rounded, float* partials, float* out);

// experts.cu: the kernel for an expert of more than kFewRows rows; if the table
// (cuda_product_table.h) has several for the three matrices, each is multiplied by
// itself.
CudaProduct many_product(const Worker& worker, const ExpertLayout& layout, std::int64_t n_rows,
                         std::uint32_t further_facts = 0);

// plain_experts.cu: activations and partial sums of calls of up to n_inputs (1, 2, 4, 8)
// rows, as described in experts.cu, for plain matrices. vector: their rows can be read 16
// bytes at a time.
void plain_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
              const FewCalls& list, bool vector, const float* inputs, const std::int32_t* row_token,
              float* activations);
void plain_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list, bool vector,
                const float* activations, float* partials, const TokenSum& token);

// packed_experts.cu: the same for packed matrices.
void packed_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
               const FewCalls& list, const float* inputs, const std::int32_t* row_token, float* activations);
void packed_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                 const float* activations, float* partials, const TokenSum& token);

// down_products.cu: the same as packed_down() on tensor cores, for packed matrices and
// bf16 (CudaProduct::kTensorCoreDown). The first: whether the shape is one that it takes.
bool has_whole_columns(const ExpertLayout& layout);
void down_on_tensor_cores(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                          const float* activations, float* partials, const TokenSum& token);

// few_products.cu: the same as packed_up() on tensor cores, for bf16
// (CudaProduct::kTensorCoreUp).
void up_on_tensor_cores(Worker& worker, const ExpertLayout& layout, const UpRows& rows, const FewCalls& list,
                        const float* inputs, const std::int32_t* row_token, float* activations);

// block_experts.cu: the same where the matrices are files' blocks; `out` is whole then.
void block_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
              const FewCalls& list, const float* inputs, const std::int32_t* row_token, float* activations);
void block_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                const float* activations, float* out, const TokenSum& token);

}  // namespace offstage::kernels::cuda
