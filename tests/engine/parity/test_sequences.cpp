#include "tests/engine/parity/test_sequences.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/cpu_kernels.h"

namespace offstage::engine::parity {

std::vector<std::byte> random_cache(const kernels::KvShape& shape, std::int64_t n_blocks, std::uint32_t seed) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(n_blocks * shape.block_bytes()));
    std::byte* to = bytes.data();
    const auto fill = [&](std::int64_t n_rows, std::int64_t n, std::int64_t stride) {
        const std::vector<float> values = random_floats(n_rows * n, seed++);
        for (std::int64_t r = 0; r < n_rows; ++r, to += stride)
            kernels::store_kv_row(values.data() + r * n, n, shape.type, to);
    };
    for (std::int64_t i = 0; i < n_blocks * shape.n_layers; ++i) {
        fill(shape.n_kv_heads * shape.block_rows(), shape.key_dim, shape.key_stride());
        if (!shape.values_in_keys) fill(shape.n_kv_heads * shape.block_rows(), shape.value_dim, shape.value_stride());
    }
    return bytes;
}

TestSequences::TestSequences(Backend& backend, const AttentionShape& shape, std::span<const Length> lengths,
                             std::int64_t n_layers, Blocks where, kernels::KvType type, std::int64_t key_tokens)
    : shape_(kernels::kv_shape_of(n_layers, shape, type)) {
    shape_.key_tokens = key_tokens;
    std::vector<std::size_t> n_blocks;
    for (const Length& length : lengths) {
        n_blocks.push_back(static_cast<std::size_t>(length.past + length.n_tokens - 1) / kernels::kKvBlockTokens + 1);
    }
    const std::size_t n_all = std::accumulate(n_blocks.begin(), n_blocks.end(), std::size_t{2});
    std::vector<std::size_t> order(n_all);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    on_device_ =
        std::make_unique<OnDevice<std::byte>>(backend, random_cache(shape_, static_cast<std::int64_t>(n_all), 8));
    in_host_.assign(n_all, 0);
    std::byte* mapped = nullptr;
    if (where == Blocks::kEverywhere) {
        host_ = PinnedHost<std::byte>(backend, on_device_->host().size(), "a test");
        std::copy(on_device_->host().begin(), on_device_->host().end(), host_.host());
        if (host_.pinned()) mapped = backend.mapped(host_.host());
    }
    for (std::size_t b = 1; mapped != nullptr && b < n_all; b += 3) in_host_[b] = 1;

    std::size_t taken = 0;
    tables_.reserve(lengths.size());
    for (std::size_t s = 0; s < lengths.size(); ++s) {
        Table& table = tables_.emplace_back();
        table.blocks.assign(order.begin() + static_cast<std::ptrdiff_t>(taken),
                            order.begin() + static_cast<std::ptrdiff_t>(taken + n_blocks[s]));
        taken += n_blocks[s];
        std::vector<std::byte*> addresses;
        // Blocks before the first token's window are not there any more.
        const std::int64_t first_seen = shape.window > 0 ? lengths[s].past + 1 - shape.window : 0;
        for (const std::size_t block : table.blocks) {
            const auto end = static_cast<std::int64_t>(addresses.size() + 1) * kernels::kKvBlockTokens;
            const bool gone = end <= first_seen;
            std::byte* const memory = in_host_[block] != 0 ? mapped : on_device_->data();
            addresses.push_back(gone ? nullptr : memory + static_cast<std::int64_t>(block) * shape_.block_bytes());
            table.in_host.push_back(gone ? 0 : in_host_[block]);
        }
        table.addresses = std::make_unique<OnDevice<std::byte*>>(backend, std::move(addresses));
        AttentionSegment segment;
        segment.first_row = n_rows_;
        segment.n_tokens = lengths[s].n_tokens;
        segment.past = lengths[s].past;
        segment.blocks = table.addresses->host();
        segment.device_blocks = table.addresses->data();
        segment.in_host = table.in_host;
        segments_.push_back(segment);
        n_rows_ += lengths[s].n_tokens;
    }
}

std::vector<std::byte> TestSequences::contents() const {
    std::vector<std::byte> all = on_device_->download();
    for (std::size_t b = 0; b < in_host_.size(); ++b) {
        if (in_host_[b] == 0) continue;
        const auto first = static_cast<std::ptrdiff_t>(b) * shape_.block_bytes();
        std::copy_n(host_.host() + first, shape_.block_bytes(), all.begin() + first);
    }
    return all;
}

std::size_t TestSequences::place(std::int64_t layer, std::int64_t part, std::int64_t kv_head,
                                 const AttentionSegment& segment, std::int64_t key) const {
    const std::size_t s = static_cast<std::size_t>(&segment - segments_.data());
    const std::size_t block = tables_[s].blocks[static_cast<std::size_t>(shape_.block_of(key))];
    const std::int64_t first = part == 0 ? shape_.keys_offset(layer, kv_head) : shape_.values_offset(layer, kv_head);
    const std::int64_t stride = part == 0 ? shape_.key_stride() : shape_.value_stride();
    return static_cast<std::size_t>(static_cast<std::int64_t>(block) * shape_.block_bytes() + first +
                                    shape_.row_of(key) * stride);
}

std::vector<float> TestSequences::row(std::int64_t layer, std::int64_t part, std::int64_t kv_head,
                                      const AttentionSegment& segment, std::int64_t key) const {
    const bool is_value = part == 1 && !shape_.values_in_keys;
    std::vector<float> values(static_cast<std::size_t>(is_value ? shape_.value_dim : shape_.key_dim));
    kernels::load_kv_row(made().data() + place(layer, part, kv_head, segment, key),
                         static_cast<std::int64_t>(values.size()), shape_.type, values.data());
    return values;
}

std::int64_t query_stride(const AttentionShape& shape) {
    return shape.values_in_keys ? shape.query_width() : shape.qkv_width();
}

}  // namespace offstage::engine::parity
