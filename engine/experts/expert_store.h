#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/device/host_buffer.h"
#include "engine/model/indices.h"
#include "engine/model/model_config.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {

// Where every expert is. Each expert is one contiguous neuron-major block (kernels::ExpertView):
// neuron j = [ w1 row j | w3 row j | w2 column j ], so one copy moves an expert and a thread owns a range of neurons.
// Today all blocks lie in RAM, layer after layer. Reading is free of locks; filling happens before anyone reads.
class ExpertStore {
  public:
    ExpertStore() = default;
    // Reserves the memory; nothing is touched. Throws Error (kOutOfMemory).
    ExpertStore(const ModelConfig& config, kernels::WeightType type);

    kernels::ExpertView expert(LayerIndex layer, ExpertIndex expert) const;
    std::span<std::byte> block(LayerIndex layer, ExpertIndex expert);

    // All blocks, one after the other.
    std::span<const std::byte> memory() const { return {memory_.data(), memory_.size()}; }

    kernels::WeightType type() const { return type_; }
    std::uint64_t expert_bytes() const { return expert_bytes_; }
    std::uint64_t total_bytes() const { return memory_.size(); }

  private:
    std::size_t offset(LayerIndex layer, ExpertIndex expert) const;

    HostBuffer memory_;
    kernels::WeightType type_ = kernels::WeightType::kBf16;
    std::int64_t hidden_dim_ = 0;
    std::int64_t ffn_dim_ = 0;
    std::int64_t n_layers_ = 0;
    std::int64_t n_experts_ = 0;
    std::uint64_t expert_bytes_ = 0;
};

}  // namespace offstage::engine
