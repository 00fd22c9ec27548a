#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/model/model_config.h"
#include "kernels/types.h"

namespace offstage::engine {

// The KV memory of a loaded model: blocks of kKvBlockTokens tokens on the accelerator, handed out to sequences and
// counted, so that sequences with a common beginning share its blocks. One thread.
class KvPool {
  public:
    KvPool() = default;
    // Room for `context` tokens (rounded up to whole blocks) and `spare_blocks` more, for sequences that part inside a
    // block. Throws Error (kOutOfMemory).
    KvPool(const ModelConfig& config, std::int64_t context, std::int64_t spare_blocks, Backend& device);

    static std::uint64_t bytes_per_token(const ModelConfig& config);
    // What a pool takes beside the context: each of 16 beams may part from the others inside a block, and the context
    // need not end with one.
    static constexpr std::int64_t kSpareBlocks = 17;

    const kernels::KvView& view() const { return view_; }
    std::int64_t n_blocks() const { return static_cast<std::int64_t>(references_.size()); }
    std::int64_t n_free() const { return static_cast<std::int64_t>(free_.size()); }

    // -1: none left.
    std::int32_t take();
    void share(std::int32_t block) { ++references_[static_cast<std::size_t>(block)]; }
    void drop(std::int32_t block);
    bool is_shared(std::int32_t block) const { return references_[static_cast<std::size_t>(block)] > 1; }

  private:
    DeviceBlock memory_;
    kernels::KvView view_;
    std::vector<std::int32_t> references_;
    std::vector<std::int32_t> free_;  // the next one to hand out last
};

// Keys and values of one conversation, or of one beam. Belongs to a pool and gives its blocks back. Movable.
class KvSequence {
  public:
    KvSequence() = default;
    explicit KvSequence(KvPool& pool, std::int64_t capacity) : pool_(&pool), capacity_(capacity) {}
    ~KvSequence() { clear(); }
    KvSequence(KvSequence&& other) noexcept;
    KvSequence& operator=(KvSequence&& other) noexcept;

    KvPool& pool() const { return *pool_; }
    std::int64_t size() const { return size_; }          // tokens held
    std::int64_t capacity() const { return capacity_; }  // tokens it may hold
    void set_capacity(std::int64_t n_tokens) { capacity_ = n_tokens; }  // not below size()
    std::span<const std::int32_t> blocks() const { return blocks_; }

    // Makes sure that n_tokens more can be written: takes blocks, and parts from a shared last block by copying what it
    // holds of this sequence (at most kKvBlockTokens - 1 tokens). False when the pool has no block left; nothing has
    // changed then.
    bool prepare(std::int64_t n_tokens, Backend& device);
    // Makes n more tokens, already written for every layer, part of the sequence.
    void commit(std::int64_t n_tokens) { size_ += n_tokens; }
    void truncate(std::int64_t n_tokens);
    void clear() { truncate(0); }

    // A second sequence with the same tokens: shares all blocks, copies nothing.
    KvSequence fork() const;

  private:
    KvPool* pool_ = nullptr;
    std::vector<std::int32_t> blocks_;
    std::int64_t capacity_ = 0;
    std::int64_t size_ = 0;
};

}  // namespace offstage::engine
