#pragma once

#include <cstdint>

#include "engine/device/host_buffer.h"
#include "engine/model/indices.h"
#include "engine/model/model_config.h"

namespace offstage::engine {

// Keys and values of one conversation, float32: (n_layers, 2, n_kv_heads, context, head_dim). The addresses for the
// whole context are reserved at once, RAM is taken page by page as tokens come, so a long context costs nothing until
// used. One thread writes (Forward); no one else touches it.
class KvCache {
  public:
    KvCache() = default;
    KvCache(const ModelConfig& config, std::int64_t context);

    std::int64_t size() const { return size_; }         // tokens held
    std::int64_t capacity() const { return context_; }  // tokens it can hold
    static std::uint64_t bytes_per_token(const ModelConfig& config);

    // (capacity, head_dim), contiguous.
    float* keys(LayerIndex layer, std::int64_t kv_head) { return at(layer, 0, kv_head); }
    float* values(LayerIndex layer, std::int64_t kv_head) { return at(layer, 1, kv_head); }

    // Makes n more tokens, already written for every layer, part of the cache.
    void commit(std::int64_t n_tokens) { size_ += n_tokens; }
    void truncate(std::int64_t n_tokens) { size_ = n_tokens < size_ ? n_tokens : size_; }

  private:
    float* at(LayerIndex layer, std::int64_t part, std::int64_t kv_head);

    HostBuffer memory_;
    std::int64_t context_ = 0;
    std::int64_t n_kv_heads_ = 0;
    std::int64_t head_dim_ = 0;
    std::int64_t size_ = 0;
};

}  // namespace offstage::engine
