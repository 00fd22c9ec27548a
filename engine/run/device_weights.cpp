#include "engine/run/device_weights.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/experts/interleave_expert.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

// Matrices that are multiplied by whole. Not the parts of a latent and of groups of
// outputs, which are multiplied by head. The rows of an embedding are looked up: from
// strips that takes longer, and pays only where the embedding is the head as well.
bool is_only_multiplied(TensorRole role, bool has_head) {
    return role != TensorRole::kKeyUp && role != TensorRole::kValueUp && role != TensorRole::kOutputDown &&
           (role != TensorRole::kEmbedding || !has_head);
}

}  // namespace

DeviceWeights::DeviceWeights(DenseWeights weights, std::int64_t n_layers, Backend& device, CpuOperations& host)
    : host_(std::move(weights)),
      entries_(static_cast<std::size_t>(n_layers + 1)),
      networks_(static_cast<std::size_t>(n_layers)) {
    const bool shared = device.shares_host_memory();
    if (shared && host.wants_interleaved()) interleave(host.pool());
    for (const DenseWeight& tensor : host_.tensors) {
        kernels::WeightView view = tensor.view();
        if (tensor.what.kind == DenseTensor::Kind::kVector && tensor.what.n_weights() == 1) {
            numbers_.push_back({tensor.what.role, tensor.what.layer, tensor.values.front()});
        }
        if (!shared) {
            const auto bytes = static_cast<std::size_t>(tensor.bytes());
            blocks_.push_back(device.memory().allocate(bytes, MemoryUse::kDense, messages::the_dense_weights));
            device.upload(blocks_.back().data(), view.data, bytes);
            view.data = blocks_.back().data();
        }
        if (tensor.what.kind == DenseTensor::Kind::kNetwork) {
            kernels::ExpertView& network = networks_[static_cast<std::size_t>(tensor.what.layer)];
            network = {view.data, tensor.matrix.network.value_or(tensor.what.network_layout(view.type))};
            if (!shared) device.lay_out(network);
            continue;
        }
        if (!shared && tensor.what.kind == DenseTensor::Kind::kMatrix) device.lay_out(view);
        entries_[static_cast<std::size_t>(tensor.what.layer + 1)][static_cast<std::size_t>(tensor.what.role)] = view;
    }
    if (shared) return;
    device.host_wait(device.record(DeviceEvent::Queue::kCompute));
    if (!device.ok()) {
        throw Error(ErrorKind::kDevice,
                    messages::copying_dense_weights_failed(device_name(device.info()), device.failure()));
    }
    host_ = DenseWeights();
}

void DeviceWeights::interleave(kernels::ThreadPool& pool) {
    const bool has_head = host_.find(TensorRole::kHead) != nullptr;
    for (DenseWeight& tensor : host_.tensors) {
        Matrix& matrix = tensor.matrix;
        if (tensor.what.kind == DenseTensor::Kind::kNetwork) {
            kernels::ExpertLayout layout = matrix.network.value_or(tensor.what.network_layout(matrix.type));
            layout.interleaved = true;
            interleave_expert(layout, matrix.memory.data(), pool);
            matrix.network = layout;
        } else if (tensor.what.kind == DenseTensor::Kind::kMatrix && is_only_multiplied(tensor.what.role, has_head) &&
                   kernels::can_interleave(matrix.type, matrix.n_rows)) {
            interleave_weight(matrix.type, matrix.n_rows, matrix.n_cols, matrix.memory.data(), pool);
            matrix.interleaved = true;
        }
    }
}

void DeviceWeights::share_vocabulary(const DeviceWeights& other) {
    for (const TensorRole role : {TensorRole::kEmbedding, TensorRole::kHead}) {
        entries_.front()[static_cast<std::size_t>(role)] = other.entry(role, -1);
    }
}

float DeviceWeights::number(TensorRole role, std::int64_t layer) const {
    const auto found = std::find_if(numbers_.begin(), numbers_.end(),
                                    [&](const Number& number) { return number.role == role && number.layer == layer; });
    return found == numbers_.end() ? 1.0f : found->value;
}

kernels::WeightView DeviceWeights::logits() const {
    const kernels::WeightView& head = entry(TensorRole::kHead, -1);
    return head.data != nullptr ? head : entry(TensorRole::kEmbedding, -1);
}

std::uint64_t DeviceWeights::device_bytes(const ModelSpec& spec, std::uint64_t dense_bytes) {
    return dense_bytes + static_cast<std::uint64_t>(dense_tensors(spec).size()) * 256;
}

}  // namespace offstage::engine
