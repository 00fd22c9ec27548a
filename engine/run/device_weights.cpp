#include "engine/run/device_weights.h"

#include "engine/error.h"

namespace offstage::engine {
namespace {

class Uploader {
  public:
    Uploader(Backend& device, std::vector<DeviceBlock>& blocks) : device_(device), blocks_(blocks) {}

    const std::byte* put(const void* host, std::size_t bytes) {
        blocks_.push_back(device_.memory().allocate(bytes, MemoryUse::kDense, "the dense weights"));
        device_.upload(blocks_.back().data(), host, bytes);
        return blocks_.back().data();
    }
    const float* put(const std::vector<float>& values) {
        return reinterpret_cast<const float*>(put(values.data(), values.size() * sizeof(float)));
    }
    kernels::WeightView put(const Matrix& matrix) {
        kernels::WeightView view = matrix.view();
        view.data = put(view.data, static_cast<std::size_t>(view.n_rows) * kernels::row_bytes(view.type, view.n_cols));
        return view;
    }

  private:
    Backend& device_;
    std::vector<DeviceBlock>& blocks_;
};

}  // namespace

DeviceWeights::DeviceWeights(DenseWeights weights, Backend& device) : host_(std::move(weights)) {
    const bool tied = host_.lm_head.n_rows == 0;
    if (device.shares_host_memory()) {
        embedding_ = host_.embedding.view();
        logits_ = tied ? embedding_ : host_.lm_head.view();
        final_norm_ = host_.final_norm.data();
        for (const LayerWeights& layer : host_.layers) {
            layers_.push_back({layer.attention_norm.data(), layer.qkv.view(), layer.output.view(),
                               layer.moe_norm.data(), layer.gate.data()});
        }
        return;
    }
    Uploader uploader(device, blocks_);
    embedding_ = uploader.put(host_.embedding);
    logits_ = tied ? embedding_ : uploader.put(host_.lm_head);
    final_norm_ = uploader.put(host_.final_norm);
    for (const LayerWeights& layer : host_.layers) {
        Layer on_device;
        on_device.attention_norm = uploader.put(layer.attention_norm);
        on_device.qkv = uploader.put(layer.qkv);
        on_device.output = uploader.put(layer.output);
        on_device.moe_norm = uploader.put(layer.moe_norm);
        on_device.gate = uploader.put(layer.gate);
        layers_.push_back(on_device);
    }
    device.host_wait(device.record(DeviceEvent::Queue::kCompute));
    if (!device.ok()) {
        throw Error(ErrorKind::kDevice,
                    "Copying the dense weights to " + device.info().name + " failed: " + device.failure());
    }
    host_ = DenseWeights();
}

std::uint64_t DeviceWeights::device_bytes(const ModelConfig& config, std::uint64_t dense_bytes) {
    return dense_bytes + static_cast<std::uint64_t>(5 * config.n_layers + 3) * 256;
}

}  // namespace offstage::engine
