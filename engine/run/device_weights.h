#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/backend.h"
#include "engine/model/model_config.h"
#include "engine/model/weights.h"

namespace offstage::engine {

// The dense weights where the accelerator computes with them. Addresses of the device's memory.
class DeviceWeights {
  public:
    struct Layer {
        const float* attention_norm = nullptr;  // (hidden_dim)
        kernels::WeightView qkv;                // ((n_heads + 2 n_kv_heads) * head_dim, hidden_dim)
        kernels::WeightView output;             // (hidden_dim, n_heads * head_dim)
        const float* moe_norm = nullptr;        // (hidden_dim)
        const float* gate = nullptr;            // (n_experts, hidden_dim)
    };

    DeviceWeights() = default;
    // Copies the weights to the device and lets the host's go; where the device shares the host's memory they stay as
    // they are. Throws Error (kOutOfMemory, kDevice).
    DeviceWeights(DenseWeights weights, Backend& device);

    kernels::WeightView embedding() const { return embedding_; }
    kernels::WeightView logits() const { return logits_; }
    const float* final_norm() const { return final_norm_; }
    const Layer& layer(std::int64_t index) const { return layers_[static_cast<std::size_t>(index)]; }

    // Of the device's memory that a model's dense weights take, each part rounded up to 256 bytes.
    static std::uint64_t device_bytes(const ModelConfig& config, std::uint64_t dense_bytes);

  private:
    DenseWeights host_;  // kept where the device shares its memory
    std::vector<DeviceBlock> blocks_;
    kernels::WeightView embedding_, logits_;
    const float* final_norm_ = nullptr;
    std::vector<Layer> layers_;
};

}  // namespace offstage::engine
