#include "kernels/ops/choose_keys.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/cpu/operations.h"
#include "kernels/cpu_worker.h"

namespace offstage::kernels::scalar {

void indexer_scores(const IndexerRows& rows, const KvHead& kv, std::int64_t begin, std::int64_t end, float* scratch) {
    for (std::int64_t k = begin; k < end; ++k) {
        load_kv_row(kv.blocks[k / kKvBlockTokens] + kv.keys + k % kKvBlockTokens * kv.key_stride, kv.key_dim, kv.type,
                    scratch);
        for (std::int64_t r = 0; r < rows.n_rows; ++r) {
            float score = 0.0f;
            for (std::int64_t h = r * rows.n_heads; h < (r + 1) * rows.n_heads; ++h) {
                float product = 0.0f;
                for (std::int64_t i = 0; i < kv.key_dim; ++i) {
                    product = std::fma(rows.queries[h * kv.key_dim + i], scratch[i], product);
                }
                score = rows.weights == nullptr ? product
                                                : std::fma(rows.weights[h], product > 0.0f ? product : 0.0f, score);
            }
            rows.scores[r * rows.stride + k] = score;
        }
    }
}

}  // namespace offstage::kernels::scalar

namespace offstage::kernels::ops {
namespace {

constexpr std::int64_t kRowsAtOnce = 32;   // of a sequence: a block of keys is transposed for so many
constexpr std::int64_t kKeysAtOnce = 256;  // of a piece; a multiple of kKvBlockTokens

// Larger for a larger score, 0 for none that is a number.
std::uint32_t order_of(float score) {
    if (std::isnan(score)) return 0;
    const std::uint32_t bits = bits_of(score + 0.0f);  // -0 is 0
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// The places that are chosen by n > top_k scores, in rising order. orders: 2 n of the
// caller's.
void choose_largest(const AttentionShape& shape, const float* scores, std::int64_t n, std::uint32_t* orders,
                    std::int32_t* chosen) {
    const std::int64_t block = shape.choice_block;
    const std::int64_t n_blocks = (n + block - 1) / block;
    const std::int64_t n_wanted = shape.top_k / block;
    const auto end_of = [&](std::int64_t b) { return std::min(n, (b + 1) * block); };
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        std::uint32_t largest = b >= n_blocks - shape.n_local_blocks ? UINT32_MAX : 0;
        for (std::int64_t k = b * block; k < end_of(b); ++k) largest = std::max(largest, order_of(scores[k]));
        orders[b] = largest;
    }
    std::uint32_t* const sorted = orders + n_blocks;
    std::copy_n(orders, n_blocks, sorted);
    std::nth_element(sorted, sorted + n_wanted - 1, sorted + n_blocks, std::greater<>());
    const std::uint32_t smallest = sorted[n_wanted - 1];
    std::int64_t n_ties = std::count(sorted, sorted + n_wanted, smallest);
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        if (orders[b] < smallest || (orders[b] == smallest && n_ties-- <= 0)) continue;
        for (std::int64_t k = b * block; k < end_of(b); ++k) *chosen++ = static_cast<std::int32_t>(k);
    }
}

// The scores of keys [begin, end), of which a block has fewer than the kernel expects:
// copied to `rows_apart`, as many as kKeysAtOnce.
void score_pooled(const CpuWorker& worker, const ChooseKeys& op, const AttentionSegment& segment,
                  const IndexerRows& rows, std::int64_t begin, std::int64_t end, std::byte* rows_apart,
                  float* scratch) {
    const std::int64_t stride = op.kv.key_stride();
    for (std::int64_t k = begin; k < end; ++k) {
        std::memcpy(rows_apart + (k - begin) * stride,
                    segment.blocks[static_cast<std::size_t>(op.kv.block_of(k))] + op.kv.keys_offset(op.layer, 0) +
                        op.kv.row_of(k) * stride,
                    static_cast<std::size_t>(stride));
    }
    const std::byte* blocks[kKeysAtOnce / kKvBlockTokens];
    for (std::int64_t b = 0; b < kKeysAtOnce / kKvBlockTokens; ++b)
        blocks[b] = rows_apart + b * kKvBlockTokens * stride;
    KvShape alone = op.kv;
    alone.n_layers = alone.key_tokens = 1;
    IndexerRows piece = rows;
    piece.scores += begin;
    worker.kernels.indexer_scores(piece, kv_head_of(alone, blocks, 0, 0), 0, end - begin, scratch);
}

}  // namespace

void compute(CpuWorker& worker, const ChooseKeys& op) {
    const AttentionShape& shape = op.shape;
    const std::int64_t key_tokens = op.kv.key_tokens;
    for (auto& buffer : worker.attention_scratch) CpuWorker::room(buffer, indexer_scratch_floats(shape.key_dim));
    if (key_tokens > 1) worker.reserve_thread_scratch(kKeysAtOnce * op.kv.key_stride());
    for (const AttentionSegment& segment : op.segments) {
        const KvHead kv = kv_head_of(op.kv, segment.blocks.data(), op.layer, 0);
        const std::int64_t n_choosing = rows_that_choose(segment, shape.top_k, key_tokens);
        for (std::int64_t n_left = n_choosing; n_left > 0; n_left -= kRowsAtOnce) {
            const std::int64_t n_rows = std::min(kRowsAtOnce, n_left);
            const std::int64_t row = segment.first_row + segment.n_tokens - n_left;
            const std::int64_t first_end = segment.past + segment.n_tokens - n_left + 1;  // tokens that it sees
            const std::int64_t n_keys = op.kv.keys_of(first_end + n_rows - 1);
            const std::int64_t n_choices = n_rows * shape.n_choices;
            float* const scores = CpuWorker::room(worker.indexer_scores, n_choices * n_keys);
            IndexerRows rows = {op.queries + row * shape.query_width(), nullptr, n_choices, 1, scores, n_keys};
            if (op.weights != nullptr) {
                rows.weights = op.weights + row * shape.n_heads;
                rows.n_heads = shape.n_heads;
            }
            worker.pool.parallel_dynamic((n_keys + kKeysAtOnce - 1) / kKeysAtOnce, [&](std::int64_t piece, int thread) {
                const std::int64_t begin = piece * kKeysAtOnce, end = std::min(n_keys, begin + kKeysAtOnce);
                float* const scratch = worker.attention_scratch[static_cast<std::size_t>(thread)].data();
                if (key_tokens == 1) return worker.kernels.indexer_scores(rows, kv, begin, end, scratch);
                score_pooled(worker, op, segment, rows, begin, end, worker.scratch_of(thread), scratch);
            });
            worker.reserve_thread_scratch(2 * n_keys * static_cast<std::int64_t>(sizeof(std::uint32_t)));
            worker.pool.parallel_dynamic(n_choices, [&](std::int64_t choice, int thread) {
                choose_largest(shape, scores + choice * n_keys, op.kv.keys_of(first_end + choice / shape.n_choices),
                               reinterpret_cast<std::uint32_t*>(worker.scratch_of(thread)),
                               op.chosen + (row * shape.n_choices + choice) * shape.top_k);
            });
        }
    }
}

}  // namespace offstage::kernels::ops
