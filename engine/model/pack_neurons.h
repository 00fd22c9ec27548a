#pragma once
// Tensors of a checkpoint in the layout that is computed with.

#include <cstddef>
#include <cstdint>

#include "engine/model/checkpoint.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

// Copies n weights of plain types, changing their type when it has to: 16-bit to float32
// exactly, anything to bfloat16 by rounding.
void convert_weights(const std::byte* source, kernels::WeightType from, std::byte* target, kernels::WeightType to,
                     std::int64_t n);

// A gated network as one neuron-major block (kernels::ExpertView) of the plain type
// `type`: gate and up (ffn_dim, hidden_dim), down (hidden_dim, ffn_dim), transposed here.
// The tensors must be readable.
void pack_neurons(const TensorView& gate, const TensorView& up, const TensorView& down, kernels::WeightType type,
                  std::byte* block, kernels::ThreadPool& pool);

}  // namespace offstage::engine
