#include "engine/run/kv_cache.h"

namespace offstage::engine {

KvCache::KvCache(const ModelConfig& config, std::int64_t context)
    : memory_(static_cast<std::uint64_t>(context) * bytes_per_token(config), "the KV cache"),
      context_(context),
      n_kv_heads_(config.n_kv_heads),
      head_dim_(config.head_dim) {}

std::uint64_t KvCache::bytes_per_token(const ModelConfig& config) {
    return static_cast<std::uint64_t>(config.n_layers * 2 * config.n_kv_heads * config.head_dim) * sizeof(float);
}

float* KvCache::at(LayerIndex layer, std::int64_t part, std::int64_t kv_head) {
    const std::int64_t row = (layer.value * 2 + part) * n_kv_heads_ + kv_head;
    return reinterpret_cast<float*>(memory_.data()) + row * context_ * head_dim_;
}

}  // namespace offstage::engine
