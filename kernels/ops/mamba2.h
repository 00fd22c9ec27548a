#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Mamba-2 (Mamba2Shape) of the rows, each sequence's from its state on. The layer's state
// lies in a segment's blocks at the place that kv gives: blocks[0] is read (nullptr:
// zeros), the others are written (AttentionSegment). xbc (rows, shape.row_width()); time
// (rows, n_heads): the projected dt; z (rows, shape.output_width()). xbc and time are
// overwritten, and decay (rows, n_heads). out (rows, shape.output_width()). A row's
// result does not depend on its step, bit by bit. A GPU: a state_dim of up to 256.
struct Mamba2 {
    std::int64_t layer = 0;
    Mamba2Shape shape;
    Span<AttentionSegment> segments;
    float* xbc = nullptr;
    float* time = nullptr;
    float* decay = nullptr;
    const float* z = nullptr;
    KvShape kv;
    float* out = nullptr;

    Cost cost() const {
        Cost cost = cost_of_states(segments, shape.kept_size());
        const double n_tokens = as_double(rows_of(segments));
        cost.bytes += n_tokens * as_double(2 * shape.row_width() + 2 * shape.output_width()) * 4;
        const std::int64_t flops = 5 * shape.states().size() + 2 * shape.kernel_size * shape.row_width();
        cost.flops = n_tokens * as_double(flops);
        return cost;
    }
};
void compute(CpuWorker& worker, const Mamba2& op);     // mamba2.cpp
void compute(cuda::Worker& worker, const Mamba2& op);  // mamba2.cu

}  // namespace offstage::kernels::ops
