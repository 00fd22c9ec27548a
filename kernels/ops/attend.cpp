#include "kernels/ops/attend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"
#include "kernels/cpu_worker.h"

namespace offstage::kernels::scalar {

void attention(const float* q, std::int64_t q_stride, const KvHead& kv, std::int64_t first_key, std::int64_t n_queries,
               std::int64_t n_keys, float scale, const float* sinks, float* out, std::int64_t out_stride,
               QueryRows rows, QueryOrder /*order*/, float* scratch) {
    float* const row = scratch + n_keys - first_key;
    const auto load = [&](std::int64_t part, std::int64_t stride, std::int64_t n, std::int64_t k) {
        load_kv_row(kv.blocks[k / kKvBlockTokens] + part + k % kKvBlockTokens * stride, n, kv.type, row);
    };
    for (std::int64_t query = 0; query < n_queries; ++query) {
        const std::int64_t end = rows == QueryRows::kHeads ? n_keys : n_keys - n_queries + query + 1;
        const float* q_row = q + query * q_stride;
        float* out_row = out + query * out_stride;
        for (std::int64_t k = first_key; k < end; ++k) {
            load(kv.keys, kv.key_stride, kv.key_dim, k);
            scratch[k - first_key] = scale * dot(q_row, row, kv.key_dim);
        }
        float largest = *std::max_element(scratch, scratch + (end - first_key));
        std::fill_n(out_row, kv.value_dim, 0.0f);
        float sum = 0.0f;
        if (sinks != nullptr) {
            const float sink = sinks[rows == QueryRows::kHeads ? query : 0];
            largest = std::max(largest, sink);
            sum = std::exp(sink - largest);
        }
        for (std::int64_t k = first_key; k < end; ++k) {
            const float probability = std::exp(scratch[k - first_key] - largest);
            load(kv.values, kv.value_stride, kv.values_in_keys() ? kv.key_dim : kv.value_dim, k);
            sum += probability;
            for (std::int64_t i = 0; i < kv.value_dim; ++i) out_row[i] += probability * row[i];
        }
        for (std::int64_t i = 0; i < kv.value_dim; ++i) out_row[i] /= sum;
    }
}

}  // namespace offstage::kernels::scalar

namespace offstage::kernels::ops {
namespace {

constexpr std::int64_t kQueryBlock = 64;  // queries of one attention piece in prefill
constexpr std::int64_t kManyQueries = 8;  // from here on queries may be rounded, as a prompt's products are

// Copies keys [begin, end) of a row's choice to `blocks`, which have one layer.
void copy_chosen(const Attend& op, const AttentionSegment& segment, std::int64_t row, std::int64_t begin,
                 std::int64_t end, const KvShape& kv, std::byte* const* blocks) {
    const std::int32_t* chosen = op.chosen + row * op.shape.choice_width();
    const auto copy = [&](std::int64_t i, std::int64_t from, std::int64_t to, std::int64_t stride) {
        const std::int64_t key = chosen[i];
        std::memcpy(
            blocks[i / kKvBlockTokens] + to + i % kKvBlockTokens * stride,
            segment.blocks[static_cast<std::size_t>(key / kKvBlockTokens)] + from + key % kKvBlockTokens * stride,
            static_cast<std::size_t>(stride));
    };
    for (std::int64_t head = 0; head < kv.n_kv_heads; ++head) {
        for (std::int64_t i = begin; i < end; ++i) {
            copy(i, op.kv.keys_offset(op.layer, head), kv.keys_offset(0, head), kv.key_stride());
            if (kv.values_in_keys) continue;
            copy(i, op.kv.values_offset(op.layer, head), kv.values_offset(0, head), kv.value_stride());
        }
        if (op.shape.n_choices > 1) chosen += op.shape.top_k;
    }
}

// Rows whose keys were chosen, as many at a time as there are threads: their keys are
// copied together, and each row is then a sequence of one token.
void attend_to_chosen(CpuWorker& worker, const Attend& op) {
    Attend part = op;
    part.layer = 0;
    part.kv.n_layers = 1;
    part.shape.top_k = 0;
    const std::int64_t top_k = op.shape.top_k;
    const std::int64_t n_blocks = (top_k + kKvBlockTokens - 1) / kKvBlockTokens;
    const std::int64_t at_once = worker.pool.n_threads();
    std::byte* const memory = CpuWorker::room_at_line(worker.chosen_keys, at_once * n_blocks * part.kv.block_bytes());
    worker.chosen_blocks.resize(static_cast<std::size_t>(at_once * n_blocks));
    for (std::int64_t b = 0; b < at_once * n_blocks; ++b) {
        worker.chosen_blocks[static_cast<std::size_t>(b)] = memory + b * part.kv.block_bytes();
    }
    for (const AttentionSegment& segment : op.segments) {
        for (std::int64_t n_left = rows_that_choose(segment, top_k); n_left > 0; n_left -= at_once) {
            const std::int64_t n_rows = std::min(at_once, n_left);
            const std::int64_t row = segment.first_row + segment.n_tokens - n_left;
            const auto n_chosen = [&](std::int64_t r) {
                return op.shape.n_chosen(segment.past + segment.n_tokens - n_left + r + 1);
            };
            worker.pool.parallel_for(n_rows * n_blocks, 1, [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t b = begin; b < end; ++b) {
                    const std::int64_t r = b / n_blocks, first = b % n_blocks * kKvBlockTokens;
                    copy_chosen(op, segment, row + r, first, std::min(n_chosen(r), first + kKvBlockTokens), part.kv,
                                worker.chosen_blocks.data() + r * n_blocks);
                }
            });
            worker.chosen_segments.resize(static_cast<std::size_t>(n_rows));
            for (std::int64_t r = 0; r < n_rows; ++r) {
                AttentionSegment& alone = worker.chosen_segments[static_cast<std::size_t>(r)];
                alone = AttentionSegment();
                alone.first_row = row + r;
                alone.n_tokens = 1;
                alone.past = n_chosen(r) - 1;
                alone.blocks = {worker.chosen_blocks.data() + r * n_blocks, static_cast<std::size_t>(n_blocks)};
            }
            part.segments = {worker.chosen_segments.data(), worker.chosen_segments.size()};
            compute(worker, part);
        }
    }
}

}  // namespace

void compute(CpuWorker& worker, const Attend& op) {
    const AttentionShape& shape = op.shape;
    const std::int64_t out_stride = shape.output_width();
    const std::int64_t heads_per_kv = shape.n_heads / shape.n_kv_heads;
    const std::int64_t window = shape.window;

    // In a full sliding window each query has its own first key, so those queries run one
    // by one, after the blocks of the others. A single token takes heads of one cached
    // head together, which read it once: as many as leave each thread a piece.
    const auto n_rows_of = [&](const AttentionSegment& s) { return s.n_tokens - rows_that_choose(s, shape.top_k); };
    const auto n_in_blocks = [&](const AttentionSegment& s) {
        if (s.n_tokens == 1 || worker.order == SumOrder::kAlone) return std::int64_t{0};
        return window > 0 ? std::clamp<std::int64_t>(window - s.past, 0, n_rows_of(s)) : n_rows_of(s);
    };
    std::int64_t n_alone = 0;
    std::int64_t longest = heads_per_kv;
    for (const AttentionSegment& segment : op.segments) {
        n_alone += n_rows_of(segment) - n_in_blocks(segment);
        longest = std::max(longest, segment.past + segment.n_tokens);
    }
    const std::int64_t wished = n_alone * shape.n_heads / worker.pool.n_threads();
    const std::int64_t heads_at_once = std::clamp<std::int64_t>(wished, 1, heads_per_kv);
    const std::int64_t groups = shape.n_kv_heads * ((heads_per_kv + heads_at_once - 1) / heads_at_once);
    const auto pieces_in_blocks = [&](const AttentionSegment& s) {
        return shape.n_heads * ((n_in_blocks(s) + kQueryBlock - 1) / kQueryBlock);
    };
    const auto n_pieces_of = [&](const AttentionSegment& s) {
        return pieces_in_blocks(s) + groups * (n_rows_of(s) - n_in_blocks(s));
    };

    std::int64_t n_pieces = 0;
    for (const AttentionSegment& segment : op.segments) n_pieces += n_pieces_of(segment);
    // Rounded up, so that a growing conversation seldom allocates.
    const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(longest)));
    for (auto& buffer : worker.attention_scratch) {
        CpuWorker::room(buffer, attention_scratch_floats(rounded, std::max(shape.key_dim, shape.value_dim)));
    }
    const bool may_round = worker.bf16_attention != nullptr && worker.form.many == GemmMode::kBf16;
    const std::int64_t pair_bytes =
        may_round ? bf16_attention_scratch(std::max(kQueryBlock, heads_per_kv), shape.key_dim, shape.value_dim) : 0;
    worker.reserve_thread_scratch(pair_bytes);

    const auto attend_rows = [&](const AttentionSegment& segment, std::int64_t first_row, std::int64_t head,
                                 std::int64_t first_key, std::int64_t n_keys, std::int64_t n_queries, QueryRows rows,
                                 QueryOrder order, int thread) {
        const bool heads = rows == QueryRows::kHeads;
        const KvHead cached = kv_head_of(op.kv, segment.blocks.data(), op.layer, head / heads_per_kv);
        const std::int64_t row = segment.first_row + first_row;
        const float* const q = op.queries + row * op.query_stride + head * shape.key_dim;
        const std::int64_t q_stride = heads ? shape.key_dim : op.query_stride;
        const float* const sinks = shape.sinks != nullptr ? shape.sinks + head : nullptr;
        float* const to = op.out + row * out_stride + head * shape.value_dim;
        const std::int64_t to_stride = heads ? shape.value_dim : out_stride;
        const bool many = order == QueryOrder::kMany || (!heads && n_queries >= kManyQueries);
        if (may_round && many && takes_pair_attention(cached)) {
            worker.bf16_attention(q, q_stride, cached, first_key, n_queries, n_keys, shape.scale, sinks, to, to_stride,
                                  rows, worker.scratch_of(thread));
            return;
        }
        worker.kernels.attention(q, q_stride, cached, first_key, n_queries, n_keys, shape.scale, sinks, to, to_stride,
                                 rows, order, worker.attention_scratch[static_cast<std::size_t>(thread)].data());
    };
    worker.pool.parallel_dynamic(n_pieces, [&](std::int64_t piece, int thread) {
        const AttentionSegment* segment = op.segments.data();
        while (piece >= n_pieces_of(*segment)) piece -= n_pieces_of(*segment++);
        const std::int64_t together = n_in_blocks(*segment);
        const std::int64_t alone_pieces = groups * (n_rows_of(*segment) - together);
        if (piece < alone_pieces) {  // the longest pieces first
            const std::int64_t token = n_rows_of(*segment) - 1 - piece / groups;
            const std::int64_t n_keys = segment->past + token + 1;
            const std::int64_t per_kv = groups / shape.n_kv_heads;
            const std::int64_t group = piece % groups;
            const std::int64_t first = group % per_kv * heads_at_once;
            // The order of many is used only for keys that all rows of a prompt see: not
            // for those of a window that has moved.
            const bool as_many = worker.order == SumOrder::kMany && (window == 0 || n_keys <= window);
            attend_rows(*segment, token, group / per_kv * heads_per_kv + first,
                        window > 0 ? std::max<std::int64_t>(0, n_keys - window) : 0, n_keys,
                        std::min(heads_at_once, heads_per_kv - first), QueryRows::kHeads,
                        as_many ? QueryOrder::kMany : QueryOrder::kByNumber, thread);
            return;
        }
        piece -= alone_pieces;
        const std::int64_t blocks = pieces_in_blocks(*segment) / shape.n_heads;
        const std::int64_t begin = (blocks - 1 - piece % blocks) * kQueryBlock;
        const std::int64_t end = std::min(together, begin + kQueryBlock);
        attend_rows(*segment, begin, piece / blocks, 0, segment->past + end, end - begin, QueryRows::kTokens,
                    worker.order == SumOrder::kMany ? QueryOrder::kMany : QueryOrder::kByNumber, thread);
    });
    if (any_row_chooses(op.segments, shape.top_k)) attend_to_chosen(worker, op);
}

}  // namespace offstage::kernels::ops
