#pragma once
// Tensors of a checkpoint in the layout that is computed with.

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/model/checkpoint.h"
#include "kernels/expert_layout.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

// Copies n weights of plain types, changing their type when it has to: 16-bit to float32
// exactly, anything to bfloat16 by rounding.
void convert_weights(const std::byte* source, kernels::WeightType from, std::byte* target, kernels::WeightType to,
                     std::int64_t n);

// A matrix of a network somewhere in a checkpoint: the weight of neuron j and
// hidden value h is element j * neuron_stride + h * hidden_stride. For blocks, the stride
// along a product's inputs is 1 and the other one a multiple of a block.
struct NeuronMatrix {
    const std::byte* data = nullptr;
    kernels::WeightType type = kernels::WeightType::kF32;
    std::int64_t neuron_stride = 0;
    std::int64_t hidden_stride = 0;
    // kMxfp4 in two tensors: data has the codes, two in a byte, this one exponent for
    // every 32 of them. nullptr: they are together, in blocks.
    const std::byte* exponents = nullptr;
    float factor = 1;  // every weight is multiplied by this
};

// A network (gate, up and down; gate counts where layout.spec has one) as one block,
// without its biases. layout:
// neuron-major, all matrices of one plain type, or w2 by outputs and each matrix in its
// given type. The matrices must be readable.
void pack_matrices(const std::array<NeuronMatrix, 3>& matrices, const kernels::ExpertLayout& layout, std::byte* block,
                   kernels::ThreadPool& pool);

// Some of a matrix's outer rows, those between which the larger stride lies: neurons
// [begin, end), or so many values of hidden_dim.
struct MatrixRows {
    int matrix = 0;  // 0 gate, 1 up, 2 down
    bool by_neurons = true;
    std::int64_t begin = 0, end = 0;
};

// pack_matrices() for a part: `first_rows` begins with row `begin`. One thread; other
// threads may pack other rows of the same block meanwhile.
void pack_rows_of(const NeuronMatrix& first_rows, const MatrixRows& rows, const kernels::ExpertLayout& layout,
                  std::byte* block);

// An expert in float32 (layout: expert_layout(kF32, ...)), with its biases.
void unpack_expert(const kernels::ExpertView& expert, const kernels::ExpertLayout& layout, std::byte* block,
                   kernels::ThreadPool& pool);

}  // namespace offstage::engine
