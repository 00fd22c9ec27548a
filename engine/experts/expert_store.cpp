#include "engine/experts/expert_store.h"

#include <cassert>

namespace offstage::engine {

ExpertStore::ExpertStore(const ModelConfig& config, kernels::WeightType type)
    : type_(type),
      hidden_dim_(config.hidden_dim),
      ffn_dim_(config.ffn_dim),
      n_layers_(config.n_layers),
      n_experts_(config.n_experts),
      expert_bytes_(static_cast<std::uint64_t>(config.expert_weights()) * kernels::bytes_per_weight(type)) {
    memory_ = HostBuffer(static_cast<std::uint64_t>(n_layers_ * n_experts_) * expert_bytes_, "the experts");
}

std::size_t ExpertStore::offset(LayerIndex layer, ExpertIndex expert) const {
    assert(layer.value >= 0 && layer.value < n_layers_ && expert.value >= 0 && expert.value < n_experts_);
    return (static_cast<std::size_t>(layer.value) * n_experts_ + expert.value) * expert_bytes_;
}

kernels::ExpertView ExpertStore::expert(LayerIndex layer, ExpertIndex expert) const {
    return {memory_.data() + offset(layer, expert), type_, hidden_dim_, ffn_dim_};
}

std::span<std::byte> ExpertStore::block(LayerIndex layer, ExpertIndex expert) {
    return {memory_.data() + offset(layer, expert), expert_bytes_};
}

}  // namespace offstage::engine
