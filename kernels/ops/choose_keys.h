#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// The keys that each row attends to, by an indexer (DeepSeek-V3.2, "lightning indexer"):
// of those that the row sees the shape's top_k with the largest scores, at ties those
// that come first, in rising order. A row sees the keys of its token and of those before
// it; where a key stands for several tokens (KvShape::key_tokens), those whose tokens are
// all among them. A key's score is the sum over the heads h of
//   weights[h] * max(0, queries[h] . key)
// Or, without weights, each head makes a choice of its own (MiniMax-M3), by queries[h] .
// key. Where keys are chosen in blocks (AttentionShape::choice_block), a block's score is
// its keys' largest. Products are fused additions in the order of the values, and sums in
// the order of the heads: every device has the same bits, and so the same choice. A score
// that is not a number is below all others. Rows that see no more than top_k keys are
// left out: ops::Attend has all of theirs.
struct ChooseKeys {
    std::int64_t layer = 0;
    AttentionShape shape;  // of the indexer: n_heads queries against one cached key
    Span<AttentionSegment> segments;
    const float* queries = nullptr;  // (rows, n_heads, key_dim)
    const float* weights = nullptr;  // (rows, n_heads), or nullptr: shape.n_choices is then n_heads
    KvShape kv;
    std::int32_t* chosen = nullptr;  // (rows, n_choices, top_k), of each choice the first n_chosen()

    // Keys are read once for each sequence. Scores are written once, and read for each of
    // the four bytes that the smallest chosen one is found by.
    Cost cost() const {
        Cost cost;
        for (const AttentionSegment& segment : segments) {
            const std::int64_t n_rows = rows_that_choose(segment, shape.top_k, kv.key_tokens);
            if (n_rows == 0) continue;
            const std::int64_t end = segment.past + segment.n_tokens;
            const std::int64_t all = kv.keys_of(end);
            const std::int64_t in_host = kv.keys_of(segment.keys_in_host(0));
            const double scores = as_double(n_rows) * as_double(2 * end - n_rows + 1) / as_double(2 * kv.key_tokens);
            cost.bytes += as_double((all - in_host) * kv.layer_token_bytes()) +
                          scores * as_double(5 * shape.n_choices * 4) +
                          as_double(n_rows * (shape.n_heads * (shape.key_dim + 1) + shape.choice_width()) * 4);
            cost.bus_bytes += as_double(in_host * kv.layer_token_bytes());
            cost.flops += 2 * scores * as_double(shape.n_heads * (shape.key_dim + 1));
        }
        return cost;
    }
};
void compute(CpuWorker& worker, const ChooseKeys& op);     // choose_keys.cpp
void compute(cuda::Worker& worker, const ChooseKeys& op);  // choose_keys.cu

}  // namespace offstage::kernels::ops
