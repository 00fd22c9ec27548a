#include "engine/run/kv_pool.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace offstage::engine {

using kernels::kKvBlockTokens;

KvPool::KvPool(const ModelConfig& config, std::int64_t context, std::int64_t spare_blocks, Backend& device) {
    const std::int64_t n = (context + kKvBlockTokens - 1) / kKvBlockTokens + spare_blocks;
    memory_ = device.memory().allocate(
        static_cast<std::size_t>(bytes_per_token(config)) * static_cast<std::size_t>(n * kKvBlockTokens),
        MemoryUse::kKvCache, "the KV cache");
    view_ = {memory_.as<float>(), config.n_layers, config.n_kv_heads, n * kKvBlockTokens, config.head_dim};
    references_.assign(static_cast<std::size_t>(n), 0);
    for (std::int64_t block = n - 1; block >= 0; --block) free_.push_back(static_cast<std::int32_t>(block));
}

std::uint64_t KvPool::bytes_per_token(const ModelConfig& config) {
    return static_cast<std::uint64_t>(config.n_layers * 2 * config.n_kv_heads * config.head_dim) * sizeof(float);
}

std::int32_t KvPool::take() {
    if (free_.empty()) return -1;
    const std::int32_t block = free_.back();
    free_.pop_back();
    references_[static_cast<std::size_t>(block)] = 1;
    return block;
}

void KvPool::drop(std::int32_t block) {
    assert(references_[static_cast<std::size_t>(block)] > 0);
    if (--references_[static_cast<std::size_t>(block)] == 0) free_.push_back(block);
}

KvSequence::KvSequence(KvSequence&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      blocks_(std::move(other.blocks_)),
      capacity_(std::exchange(other.capacity_, 0)),
      size_(std::exchange(other.size_, 0)) {
    other.blocks_.clear();
}

KvSequence& KvSequence::operator=(KvSequence&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(blocks_, other.blocks_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    return *this;
}

bool KvSequence::prepare(std::int64_t n_tokens, Backend& device) {
    assert(pool_ != nullptr);
    const std::int64_t wanted = (size_ + n_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
    const std::int64_t filled = size_ % kKvBlockTokens;  // of the last block
    const bool parts = filled > 0 && pool_->is_shared(blocks_[static_cast<std::size_t>(size_ / kKvBlockTokens)]);
    if (wanted - static_cast<std::int64_t>(blocks_.size()) + (parts ? 1 : 0) > pool_->n_free()) return false;
    if (parts) {
        std::int32_t& last = blocks_[static_cast<std::size_t>(size_ / kKvBlockTokens)];
        const std::int32_t own = pool_->take();
        device.copy_kv_block(pool_->view(), last, own, filled);
        pool_->drop(last);
        last = own;
    }
    while (static_cast<std::int64_t>(blocks_.size()) < wanted) blocks_.push_back(pool_->take());
    return true;
}

void KvSequence::truncate(std::int64_t n_tokens) {
    size_ = std::min(size_, n_tokens);
    if (pool_ == nullptr) return;
    const std::int64_t kept = (size_ + kKvBlockTokens - 1) / kKvBlockTokens;
    while (static_cast<std::int64_t>(blocks_.size()) > kept) {
        pool_->drop(blocks_.back());
        blocks_.pop_back();
    }
}

KvSequence KvSequence::fork() const {
    KvSequence copy(*pool_, capacity_);
    copy.size_ = size_;
    const std::int64_t kept = (size_ + kKvBlockTokens - 1) / kKvBlockTokens;
    copy.blocks_.assign(blocks_.begin(), blocks_.begin() + kept);
    for (const std::int32_t block : copy.blocks_) pool_->share(block);
    return copy;
}

}  // namespace offstage::engine
