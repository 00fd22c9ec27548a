#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/model/weights.h"

namespace offstage::engine {

// The dense weights at the place where the accelerator computes with them. Addresses of
// the device's memory.
class DeviceWeights {
  public:
    DeviceWeights() = default;
    // Copies the weights to the device and frees the host's. On a device that shares the
    // host's memory they stay there; then `host`, which computes with them, decides
    // whether rows are interleaved (kernels/interleaved.h), for matrices that only
    // products read. Throws Error (kOutOfMemory, kDevice).
    DeviceWeights(DenseWeights weights, std::int64_t n_layers, Backend& device, CpuOperations& host);

    // The other's embedding and head, which these weights lack and it must outlive.
    void share_vocabulary(const DeviceWeights& other);

    // A matrix; without data where the model has none in this role.
    kernels::WeightView matrix(TensorRole role, std::int64_t layer = -1) const { return entry(role, layer); }
    // The layer's network; without data where it has none.
    const kernels::ExpertView& network(std::int64_t layer) const { return networks_[static_cast<std::size_t>(layer)]; }
    // Float32; nullptr where the model has none in this role.
    const float* vector(TensorRole role, std::int64_t layer = -1) const {
        return static_cast<const float*>(entry(role, layer).data);
    }
    // A vector's only value; 1 where the model has none in this role.
    float number(TensorRole role, std::int64_t layer) const;
    kernels::WeightView logits() const;  // the head, or the embedding where they are tied

    // Bytes of device memory for a model's dense weights, each part rounded up to 256
    // bytes.
    static std::uint64_t device_bytes(const ModelSpec& spec, std::uint64_t dense_bytes);

  private:
    using Roles = std::array<kernels::WeightView, kTensorRoles>;
    const kernels::WeightView& entry(TensorRole role, std::int64_t layer) const {
        return entries_[static_cast<std::size_t>(layer + 1)][static_cast<std::size_t>(role)];
    }

    void interleave(kernels::ThreadPool& pool);

    struct Number {
        TensorRole role;
        std::int64_t layer;
        float value;
    };

    DenseWeights host_;  // kept where the device shares its memory
    std::vector<DeviceBlock> blocks_;
    std::vector<Roles> entries_;                 // first those of no layer, then layer by layer
    std::vector<kernels::ExpertView> networks_;  // (n_layers)
    std::vector<Number> numbers_;
};

}  // namespace offstage::engine
