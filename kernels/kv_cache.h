#pragma once
// The layout of keys and values in a block of a KV cache. C++17, because device code
// includes this.

#include <cstddef>
#include <cstdint>

#include "kernels/kv_type.h"
#include "kernels/types.h"

namespace offstage::kernels {

inline constexpr std::int64_t kKvScaleGroup = 64;

// Tokens of one block: keys and values of a sequence are in blocks of this many tokens,
// each block anywhere in memory.
inline constexpr std::int64_t kKvBlockTokens = 64;

// The offset of the scales in an int8 row of n values, in bytes; the codes come first.
constexpr std::int64_t kv_scales_offset(std::int64_t n) {
    return (n + 3) / 4 * 4;
}
// Bytes of one row, the key or the value of one token and head: a multiple of 4.
constexpr std::int64_t kv_row_bytes(KvType type, std::int64_t n) {
    if (type == KvType::kF32) return 4 * n;
    if (type == KvType::kBf16) return (2 * n + 3) / 4 * 4;
    return kv_scales_offset(n) + 4 * ((n + kKvScaleGroup - 1) / kKvScaleGroup);
}

// Layers whose cached heads are alike. A block holds, for each of them, the keys of
// kKvBlockTokens tokens (n_kv_heads, block_rows(), row of key_dim), then, unless they are
// part of the keys, the values (n_kv_heads, block_rows(), row of value_dim). Blocks begin
// at multiples of 16 bytes. All offsets and strides are in bytes.
struct KvShape {
    std::int64_t n_layers = 0;
    std::int64_t n_kv_heads = 0;
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
    bool values_in_keys = false;
    KvType type = KvType::kF32;
    // Tokens that one key stands for (ops::PoolKeys): 1, or a divisor or a multiple of
    // kKvBlockTokens. A key lies in the block of the last of them.
    std::int64_t key_tokens = 1;

    constexpr std::int64_t block_rows() const { return key_tokens < kKvBlockTokens ? kKvBlockTokens / key_tokens : 1; }
    // The keys of so many tokens, and where key k lies: in which block of the sequence,
    // and in which row of it.
    constexpr std::int64_t keys_of(std::int64_t n_tokens) const { return n_tokens / key_tokens; }
    constexpr std::int64_t block_of(std::int64_t k) const { return ((k + 1) * key_tokens - 1) / kKvBlockTokens; }
    constexpr std::int64_t row_of(std::int64_t k) const { return k % block_rows(); }

    constexpr std::int64_t key_stride() const { return kv_row_bytes(type, key_dim); }
    constexpr std::int64_t value_stride() const {
        return values_in_keys ? key_stride() : kv_row_bytes(type, value_dim);
    }
    // Bytes of one key, with its value, in one layer.
    constexpr std::int64_t layer_token_bytes() const {
        return n_kv_heads * (key_stride() + (values_in_keys ? 0 : value_stride()));
    }
    // Bytes of one token in all layers.
    constexpr std::int64_t token_bytes() const {
        return (n_layers * layer_token_bytes() * block_rows() + kKvBlockTokens - 1) / kKvBlockTokens;
    }
    constexpr std::int64_t block_bytes() const { return token_bytes() * kKvBlockTokens; }
    // (block_rows()) rows, key_stride() apart.
    constexpr std::int64_t keys_offset(std::int64_t layer, std::int64_t kv_head) const {
        return (layer * layer_token_bytes() + kv_head * key_stride()) * block_rows();
    }
    // The same for values, value_stride() apart.
    constexpr std::int64_t values_offset(std::int64_t layer, std::int64_t kv_head) const {
        if (values_in_keys) return keys_offset(layer, kv_head);
        return (layer * layer_token_bytes() + n_kv_heads * key_stride() + kv_head * value_stride()) * block_rows();
    }
    friend constexpr bool operator==(const KvShape& a, const KvShape& b) {
        return a.n_layers == b.n_layers && a.n_kv_heads == b.n_kv_heads && a.key_dim == b.key_dim &&
               a.value_dim == b.value_dim && a.values_in_keys == b.values_in_keys && a.type == b.type &&
               a.key_tokens == b.key_tokens;
    }
};

constexpr KvShape kv_shape_of(std::int64_t n_layers, const AttentionShape& attention, KvType type = KvType::kF32) {
    return {n_layers, attention.n_kv_heads, attention.key_dim, attention.value_dim, attention.values_in_keys, type};
}

// What recurrent layers keep lies in blocks as well, one for a whole sequence: kept_size
// floats of a layer from keys_offset(layer, 0) on.
constexpr KvShape kv_shape_of_states(std::int64_t n_layers, std::int64_t kept_size) {
    return {n_layers, 1, (kept_size + kKvBlockTokens - 1) / kKvBlockTokens, 0, true, KvType::kF32};
}

}  // namespace offstage::kernels
