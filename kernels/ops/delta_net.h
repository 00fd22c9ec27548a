#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Gated DeltaNet (DeltaNetShape) of the rows, each sequence's from its state on. The
// layer's state lies in a segment's blocks at the place that kv gives: blocks[0] is read
// (nullptr: zeros), the others are written (AttentionSegment). qkv (rows,
// shape.qkv_width()); decay_beta (rows, 2 n_value_heads): a, then b; z (rows,
// shape.output_width()). qkv and decay_beta are overwritten. out (rows,
// shape.output_width()). A row's result does not depend on its step, bit by bit. A GPU:
// keys of up to 256 values.
struct DeltaNet {
    std::int64_t layer = 0;
    DeltaNetShape shape;
    Span<AttentionSegment> segments;
    float* qkv = nullptr;
    float* decay_beta = nullptr;
    const float* z = nullptr;
    KvShape kv;
    float* out = nullptr;

    Cost cost() const {
        Cost cost = cost_of_states(segments, shape.kept_size());
        const double n_tokens = as_double(rows_of(segments));
        cost.bytes += n_tokens * as_double(2 * shape.qkv_width() + 2 * shape.output_width()) * 4;
        const std::int64_t flops = 7 * shape.states().size() + 2 * shape.kernel_size * shape.qkv_width();
        cost.flops = n_tokens * as_double(flops);
        return cost;
    }
};
void compute(CpuWorker& worker, const DeltaNet& op);     // delta_net.cpp
void compute(cuda::Worker& worker, const DeltaNet& op);  // delta_net.cu

}  // namespace offstage::kernels::ops
