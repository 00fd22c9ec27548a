#pragma once
// Tensors of a checkpoint in the layout that is computed with.

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

// A matrix of a gated network somewhere in a checkpoint: the weight of neuron j and
// hidden value h is element j * neuron_stride + h * hidden_stride.
struct NeuronMatrix {
    const std::byte* data = nullptr;
    kernels::WeightType type = kernels::WeightType::kF32;
    std::int64_t neuron_stride = 0;
    std::int64_t hidden_stride = 0;
};

// A gated network as one block; its biases are left alone. layout: neuron-major, all
// matrices of one plain type. The matrices must be readable.
void pack_neurons(const NeuronMatrix& gate, const NeuronMatrix& up, const NeuronMatrix& down,
                  const kernels::ExpertLayout& layout, std::byte* block, kernels::ThreadPool& pool);

}  // namespace offstage::engine
