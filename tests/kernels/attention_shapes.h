#pragma once
// Shapes of attention as models have them.

#include <cmath>
#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels::test {

// Heads that are rotated as a whole.
inline AttentionShape grouped_attention(std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t head_dim,
                                        std::int64_t window = 0) {
    AttentionShape shape;
    shape.n_heads = n_heads;
    shape.n_kv_heads = n_kv_heads;
    shape.key_dim = head_dim;
    shape.value_dim = head_dim;
    shape.rotary_dim = head_dim;
    shape.window = window;
    shape.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    return shape;
}

// Latent attention: all heads share one cached row, whose latent part is the value too.
inline AttentionShape latent_attention(std::int64_t n_heads, std::int64_t latent_dim, std::int64_t rotary_dim,
                                       std::int64_t window = 0) {
    AttentionShape shape = grouped_attention(n_heads, 1, latent_dim + rotary_dim, window);
    shape.value_dim = latent_dim;
    shape.values_in_keys = true;
    shape.rotary_dim = rotary_dim;
    shape.rotary_first = latent_dim;
    return shape;
}

}  // namespace offstage::kernels::test
