// Attention, and storing each token's keys and values.

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kQueryBlock = 64;  // queries of one attention piece in prefill
constexpr std::int64_t kManyQueries = 8;  // from here on queries may be rounded, as a prompt's products are

// Keys (n_kv_heads, key_dim) of token t of a segment; and its values (n_kv_heads,
// value_dim) if the cache has them.
void store_token(const kernels::KvShape& kv, std::int64_t layer, const AttentionSegment& segment, std::int64_t t,
                 const float* keys, const float* values) {
    const std::int64_t token = segment.past + t;
    const std::int64_t in_block = token % kernels::kKvBlockTokens;
    std::byte* block = segment.blocks[as_size(token / kernels::kKvBlockTokens)];
    for (std::int64_t head = 0; head < kv.n_kv_heads; ++head) {
        kernels::store_kv_row(keys + head * kv.key_dim, kv.key_dim, kv.type,
                              block + kv.keys_offset(layer, head) + in_block * kv.key_stride());
        if (kv.values_in_keys) continue;
        kernels::store_kv_row(values + head * kv.value_dim, kv.value_dim, kv.type,
                              block + kv.values_offset(layer, head) + in_block * kv.value_stride());
    }
}

}  // namespace

void CpuOperations::rotate_and_store(std::int64_t layer, const kernels::AttentionShape& shape,
                                     std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                     float* qkv, const kernels::KvShape& kv) {
    const std::int64_t stride = shape.qkv_width();
    const std::int64_t half = shape.rotary_dim / 2;
    for (const AttentionSegment& segment : segments) {
        state_->pool.parallel_for(segment.n_tokens, State::kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t t = begin; t < end; ++t) {
                const std::int64_t place = segment.first_row + t;
                float* row = qkv + place * stride;
                for (std::int64_t head = 0; head < shape.n_heads + shape.n_kv_heads; ++head) {
                    state_->kernels.rope(row + head * shape.key_dim + shape.rotary_first, cos + place * half,
                                         sin + place * half, shape.rotary_dim);
                }
                const float* k = row + shape.query_width();
                store_token(kv, layer, segment, t, k, k + shape.n_kv_heads * shape.key_dim);
            }
        });
    }
}

void CpuOperations::rotate_and_store_latent(std::int64_t layer, const kernels::AttentionShape& shape,
                                            std::span<const AttentionSegment> segments, const float* cos,
                                            const float* sin, const float* q, std::int64_t nope_dim, float* latent,
                                            float* queries, const kernels::KvShape& kv) {
    const std::int64_t half = shape.rotary_dim / 2;
    const std::int64_t q_dim = nope_dim + shape.rotary_dim;
    for (const AttentionSegment& segment : segments) {
        state_->pool.parallel_for(segment.n_tokens, State::kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t t = begin; t < end; ++t) {
                const std::int64_t place = segment.first_row + t;
                const auto rotate = [&](float* values) {
                    state_->kernels.rope(values, cos + place * half, sin + place * half, shape.rotary_dim);
                };
                for (std::int64_t head = 0; head < shape.n_heads; ++head) {
                    const float* from = q + (place * shape.n_heads + head) * q_dim + nope_dim;
                    float* to = queries + place * shape.query_width() + head * shape.key_dim + shape.rotary_first;
                    std::memcpy(to, from, as_size(shape.rotary_dim) * sizeof(float));
                    rotate(to);
                }
                float* key = latent + place * shape.key_dim;
                rotate(key + shape.rotary_first);
                store_token(kv, layer, segment, t, key, nullptr);
            }
        });
    }
}

void CpuOperations::attend(std::int64_t layer, const kernels::AttentionShape& shape,
                           std::span<const AttentionSegment> segments, const float* queries, std::int64_t query_stride,
                           const kernels::KvShape& kv, float* out) {
    const std::int64_t out_stride = shape.output_width();
    const std::int64_t heads_per_kv = shape.n_heads / shape.n_kv_heads;
    const std::int64_t window = shape.window;

    // In a full sliding window each query has its own first key, so those queries run one
    // by one, after the blocks of the others. A single token takes heads of one cached
    // head together, which read it once: as many as leave each thread a piece.
    const auto n_in_blocks = [&](const AttentionSegment& s) {
        if (s.n_tokens == 1) return std::int64_t{0};
        return window > 0 ? std::clamp<std::int64_t>(window - s.past, 0, s.n_tokens) : s.n_tokens;
    };
    std::int64_t n_alone = 0;
    std::int64_t longest = heads_per_kv;
    for (const AttentionSegment& segment : segments) {
        n_alone += segment.n_tokens - n_in_blocks(segment);
        longest = std::max(longest, segment.past + segment.n_tokens);
    }
    const std::int64_t wished = n_alone * shape.n_heads / state_->pool.n_threads();
    const std::int64_t heads_at_once = std::clamp<std::int64_t>(wished, 1, heads_per_kv);
    const std::int64_t groups = shape.n_kv_heads * ((heads_per_kv + heads_at_once - 1) / heads_at_once);
    const auto pieces_in_blocks = [&](const AttentionSegment& s) {
        return shape.n_heads * ((n_in_blocks(s) + kQueryBlock - 1) / kQueryBlock);
    };
    const auto n_pieces_of = [&](const AttentionSegment& s) {
        return pieces_in_blocks(s) + groups * (s.n_tokens - n_in_blocks(s));
    };

    std::int64_t n_pieces = 0;
    for (const AttentionSegment& segment : segments) n_pieces += n_pieces_of(segment);
    // Rounded up, so that a growing conversation seldom allocates.
    const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(longest)));
    for (auto& buffer : state_->attention_scratch) {
        State::room(buffer, kernels::attention_scratch_floats(rounded, std::max(shape.key_dim, shape.value_dim)));
    }
    const bool may_round = state_->bf16_attention != nullptr && state_->form.many == kernels::GemmMode::kBf16;
    const std::int64_t pair_bytes =
        may_round ? kernels::bf16_attention_scratch(std::max(kQueryBlock, heads_per_kv), shape.key_dim, shape.value_dim)
                  : 0;
    for (auto& buffer : state_->expert_scratch) State::room_for_rounded(buffer, pair_bytes);

    const auto attend_rows = [&](const AttentionSegment& segment, std::int64_t first_row, std::int64_t head,
                                 std::int64_t first_key, std::int64_t n_keys, std::int64_t n_queries,
                                 kernels::QueryRows rows, kernels::QueryOrder order, int thread) {
        const bool heads = rows == kernels::QueryRows::kHeads;
        const kernels::KvHead cached = kernels::kv_head_of(kv, segment.blocks.data(), layer, head / heads_per_kv);
        const std::int64_t row = segment.first_row + first_row;
        const float* const q = queries + row * query_stride + head * shape.key_dim;
        const std::int64_t q_stride = heads ? shape.key_dim : query_stride;
        const float* const sinks = shape.sinks != nullptr ? shape.sinks + head : nullptr;
        float* const to = out + row * out_stride + head * shape.value_dim;
        const std::int64_t to_stride = heads ? shape.value_dim : out_stride;
        const bool many = order == kernels::QueryOrder::kMany || (!heads && n_queries >= kManyQueries);
        if (may_round && many && kernels::takes_pair_attention(cached)) {
            state_->bf16_attention(q, q_stride, cached, first_key, n_queries, n_keys, shape.scale, sinks, to, to_stride,
                                   rows, State::room_for_rounded(state_->expert_scratch[as_size(thread)], pair_bytes));
            return;
        }
        state_->kernels.attention(q, q_stride, cached, first_key, n_queries, n_keys, shape.scale, sinks, to, to_stride,
                                  rows, order, state_->attention_scratch[as_size(thread)].data());
    };
    state_->pool.parallel_dynamic(n_pieces, [&](std::int64_t piece, int thread) {
        const AttentionSegment* segment = segments.data();
        while (piece >= n_pieces_of(*segment)) piece -= n_pieces_of(*segment++);
        const std::int64_t together = n_in_blocks(*segment);
        const std::int64_t alone_pieces = groups * (segment->n_tokens - together);
        if (piece < alone_pieces) {  // the longest pieces first
            const std::int64_t token = segment->n_tokens - 1 - piece / groups;
            const std::int64_t n_keys = segment->past + token + 1;
            const std::int64_t per_kv = groups / shape.n_kv_heads;
            const std::int64_t group = piece % groups;
            const std::int64_t first = group % per_kv * heads_at_once;
            // The order of many is used only for keys that all rows of a prompt see: not
            // for those of a window that has moved.
            const bool as_many = state_->order == SumOrder::kMany && (window == 0 || n_keys <= window);
            attend_rows(*segment, token, group / per_kv * heads_per_kv + first,
                        window > 0 ? std::max<std::int64_t>(0, n_keys - window) : 0, n_keys,
                        std::min(heads_at_once, heads_per_kv - first), kernels::QueryRows::kHeads,
                        as_many ? kernels::QueryOrder::kMany : kernels::QueryOrder::kByNumber, thread);
            return;
        }
        piece -= alone_pieces;
        const std::int64_t blocks = pieces_in_blocks(*segment) / shape.n_heads;
        const std::int64_t begin = (blocks - 1 - piece % blocks) * kQueryBlock;
        const std::int64_t end = std::min(together, begin + kQueryBlock);
        attend_rows(*segment, begin, piece / blocks, 0, segment->past + end, end - begin, kernels::QueryRows::kTokens,
                    state_->order == SumOrder::kMany ? kernels::QueryOrder::kMany : kernels::QueryOrder::kByNumber,
                    thread);
    });
}

void CpuOperations::copy_kv_block(const kernels::KvShape& kv, KvBlock from, kernels::KvType type, KvBlock to,
                                  std::int64_t n_tokens) {
    kernels::KvShape target = kv;
    target.type = type;
    // n rows of n_values, from one place to the other.
    const auto copy = [&](const std::byte* source, std::int64_t source_stride, std::byte* place, std::int64_t stride,
                          std::int64_t n_values) {
        if (type == kv.type) {
            std::memcpy(place, source, as_size(n_tokens * stride));
            return;
        }
        std::vector<float> row(as_size(n_values));
        for (std::int64_t t = 0; t < n_tokens; ++t) {
            kernels::load_kv_row(source + t * source_stride, n_values, kv.type, row.data());
            kernels::store_kv_row(row.data(), n_values, type, place + t * stride);
        }
    };
    state_->pool.parallel_for(kv.n_layers * kv.n_kv_heads, 8, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t layer = i / kv.n_kv_heads, head = i % kv.n_kv_heads;
            copy(from.data + kv.keys_offset(layer, head), kv.key_stride(), to.data + target.keys_offset(layer, head),
                 target.key_stride(), kv.key_dim);
            if (kv.values_in_keys) continue;
            copy(from.data + kv.values_offset(layer, head), kv.value_stride(),
                 to.data + target.values_offset(layer, head), target.value_stride(), kv.value_dim);
        }
    });
}

}  // namespace offstage::engine
