#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// queries: rows of shape.query_width() floats, query_stride floats apart. out (rows,
// shape.output_width()): causal attention of each row over its own sequence. A row that
// sees more keys than the shape's top_k attends to those that `chosen` names. The
// addresses of the blocks never change the result, bit by bit.
struct Attend {
    std::int64_t layer = 0;
    AttentionShape shape;
    Span<AttentionSegment> segments;
    const float* queries = nullptr;
    std::int64_t query_stride = 0;
    KvShape kv;
    float* out = nullptr;
    const std::int32_t* chosen = nullptr;  // (rows, n_choices, top_k): ops::ChooseKeys

    // Keys and values are read once for each sequence: a GPU's blocks of queries share
    // them in its cache. Chosen ones may lie anywhere, so that those in host memory are
    // counted by their share.
    Cost cost() const {
        const std::int64_t head_width = shape.key_dim + shape.value_dim;
        Cost cost;
        double pairs = 0;  // of a query and a key
        for (const AttentionSegment& segment : segments) {
            const std::int64_t all = segment.past + segment.n_tokens;
            const std::int64_t window = shape.window > 0 ? shape.window : all;
            const auto seen = [&](std::int64_t n) { return n < window ? n : window; };
            const std::int64_t n_keys = all < window + segment.n_tokens - 1 ? all : window + segment.n_tokens - 1;
            const std::int64_t n_choosing = rows_that_choose(segment, shape.top_k);
            const std::int64_t n_whole = n_choosing < segment.n_tokens ? all - n_choosing : 0;
            const std::int64_t n_read = n_whole + n_choosing * shape.top_k;  // if no two rows chose the same
            const double share = n_choosing > 0 && n_read < n_keys ? as_double(n_read) / as_double(n_keys) : 1;
            const std::int64_t in_host = segment.keys_in_host(all - n_keys);
            cost.bytes +=
                share * as_double((n_keys - in_host) * kv.layer_token_bytes()) +
                as_double(segment.n_tokens * shape.n_heads * head_width * 4 + n_choosing * shape.choice_width() * 4);
            cost.bus_bytes += share * as_double(in_host * kv.layer_token_bytes());
            for (std::int64_t t = 0; t < segment.n_tokens - n_choosing; ++t) {
                pairs += as_double(seen(segment.past + t + 1));
            }
            pairs += as_double(n_choosing * shape.top_k);
        }
        cost.flops = 2 * pairs * as_double(shape.n_heads * head_width);
        return cost;
    }
};
void compute(CpuWorker& worker, const Attend& op);     // attend.cpp
void compute(cuda::Worker& worker, const Attend& op);  // attend.cu

}  // namespace offstage::kernels::ops
