// As many rows at a time as there are threads: their keys are copied together, and each
// row is then a sequence of one token. With all heads to one key, what a copy costs is
// little beside the products.

#include "kernels/ops/attend_pooled.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu_worker.h"
#include "kernels/ops/attend.h"

namespace offstage::kernels::ops {
namespace {

// Copies keys [begin, end) of a row to `block`: pooled ones first.
void copy_keys(const AttendPooled& op, std::size_t s, std::int64_t token, std::int64_t begin, std::int64_t end,
               std::byte* block) {
    const std::int64_t n_tokens = op.segments[s].past + token + 1;
    const std::int64_t row = op.segments[s].first_row + token;
    const std::int64_t n_pooled = op.n_pooled(n_tokens);
    const std::int64_t first_near = n_tokens - op.n_near(n_tokens);
    const std::int32_t* const chosen = op.chooses(n_tokens) ? op.chosen + row * op.shape.top_k : nullptr;
    const std::int64_t stride = op.kv.key_stride();
    for (std::int64_t i = begin; i < end; ++i) {
        const bool is_pooled = i < n_pooled;
        const std::int64_t key = !is_pooled ? first_near + i - n_pooled : chosen != nullptr ? chosen[i] : i;
        const KvShape& kv = is_pooled ? op.pooled : op.kv;
        const AttentionSegment& segment = is_pooled ? op.pooled_segments[s] : op.segments[s];
        std::memcpy(block + (i - begin) * stride,
                    segment.blocks[static_cast<std::size_t>(kv.block_of(key))] +
                        kv.keys_offset(is_pooled ? op.pooled_layer : op.layer, 0) + kv.row_of(key) * stride,
                    static_cast<std::size_t>(stride));
    }
}

}  // namespace

void compute(CpuWorker& worker, const AttendPooled& op) {
    Attend part{.layer = 0,
                .shape = op.shape,
                .segments = {},
                .queries = op.queries,
                .query_stride = op.shape.query_width(),
                .kv = op.kv,
                .out = op.out};
    part.kv.n_layers = 1;
    part.shape.window = part.shape.top_k = 0;
    const std::int64_t at_once = worker.pool.n_threads();
    for (std::size_t s = 0; s < op.segments.size(); ++s) {
        const AttentionSegment& segment = op.segments[s];
        const std::int64_t end = segment.past + segment.n_tokens;
        const std::int64_t n_blocks = (op.n_pooled(end) + op.n_near(end) + kKvBlockTokens - 1) / kKvBlockTokens;
        std::byte* const memory =
            CpuWorker::room_at_line(worker.chosen_keys, at_once * n_blocks * part.kv.block_bytes());
        worker.chosen_blocks.resize(static_cast<std::size_t>(at_once * n_blocks));
        for (std::int64_t b = 0; b < at_once * n_blocks; ++b) {
            worker.chosen_blocks[static_cast<std::size_t>(b)] = memory + b * part.kv.block_bytes();
        }
        for (std::int64_t first = 0; first < segment.n_tokens; first += at_once) {
            const std::int64_t n_rows = std::min(at_once, segment.n_tokens - first);
            const auto n_keys = [&](std::int64_t r) {
                const std::int64_t n_tokens = segment.past + first + r + 1;
                return op.n_pooled(n_tokens) + op.n_near(n_tokens);
            };
            worker.pool.parallel_for(n_rows * n_blocks, 1, [&](std::int64_t begin, std::int64_t stop, int) {
                for (std::int64_t b = begin; b < stop; ++b) {
                    const std::int64_t r = b / n_blocks, key = b % n_blocks * kKvBlockTokens;
                    copy_keys(op, s, first + r, key, std::min(n_keys(r), key + kKvBlockTokens),
                              worker.chosen_blocks[static_cast<std::size_t>(b)]);
                }
            });
            worker.chosen_segments.resize(static_cast<std::size_t>(n_rows));
            for (std::int64_t r = 0; r < n_rows; ++r) {
                AttentionSegment& alone = worker.chosen_segments[static_cast<std::size_t>(r)];
                alone = AttentionSegment();
                alone.first_row = segment.first_row + first + r;
                alone.n_tokens = 1;
                alone.past = n_keys(r) - 1;
                alone.blocks = {worker.chosen_blocks.data() + r * n_blocks, static_cast<std::size_t>(n_blocks)};
            }
            part.segments = {worker.chosen_segments.data(), worker.chosen_segments.size()};
            compute(worker, part);
        }
    }
}

}  // namespace offstage::kernels::ops
