#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/mirror.h"
#include "tests/engine/parity/parity_values.h"

namespace offstage::engine::parity {

// Blocks full of random rows.
std::vector<std::byte> random_cache(const kernels::KvShape& shape, std::int64_t n_blocks, std::uint32_t seed);

// A KV cache with random contents in every block, and sequences with blocks anywhere in
// it: some of them in host memory, if the device can use that.
class TestSequences {
  public:
    struct Length {
        std::int64_t past;
        std::int64_t n_tokens;
    };
    enum class Blocks { kOnDevice, kEverywhere };

    TestSequences(Backend& backend, const AttentionShape& shape, std::span<const Length> lengths, std::int64_t n_layers,
                  Blocks where = Blocks::kEverywhere, kernels::KvType type = kernels::KvType::kF32,
                  std::int64_t key_tokens = 1);

    const kernels::KvShape& shape() const { return shape_; }
    std::span<const AttentionSegment> segments() const { return segments_; }
    std::int64_t n_rows() const { return n_rows_; }

    // All blocks, one after the other: as made, and as they are now.
    const std::vector<std::byte>& made() const { return on_device_->host(); }
    std::vector<std::byte> contents() const;

    // The place of a segment's key (part 0) or value (part 1) among them.
    std::size_t place(std::int64_t layer, std::int64_t part, std::int64_t kv_head, const AttentionSegment& segment,
                      std::int64_t key) const;
    // The same as it was made, widened.
    std::vector<float> row(std::int64_t layer, std::int64_t part, std::int64_t kv_head, const AttentionSegment& segment,
                           std::int64_t key) const;

  private:
    struct Table {
        std::vector<std::size_t> blocks;
        std::vector<std::uint8_t> in_host;
        std::unique_ptr<OnDevice<std::byte*>> addresses;
    };

    kernels::KvShape shape_;
    mutable PinnedHost<std::byte> host_;  // of blocks that lie there; before the rest, which waits for the device
    std::unique_ptr<OnDevice<std::byte>> on_device_;
    std::vector<std::uint8_t> in_host_;  // by block
    std::vector<Table> tables_;
    std::vector<AttentionSegment> segments_;
    std::int64_t n_rows_ = 0;
};

// For the rows that the queries are taken from.
std::int64_t query_stride(const AttentionShape& shape);

}  // namespace offstage::engine::parity
