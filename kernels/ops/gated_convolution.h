#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Gated short convolution (LFM2) of the rows, each sequence's from what it kept on. A row
// is B, C and x (shape.n_channels each); out = C conv(B x), value by value. The layer's
// inputs lie in a segment's blocks at the place that kv gives: blocks[0] is read
// (nullptr: zeros), the others are written (AttentionSegment). bcx (rows, 3, n_channels)
// is overwritten; out (rows, n_channels). A row's result does not depend on its step, bit
// by bit.
struct GatedConvolution {
    std::int64_t layer = 0;
    ConvolutionShape shape;
    Span<AttentionSegment> segments;
    float* bcx = nullptr;
    KvShape kv;
    float* out = nullptr;

    Cost cost() const {
        Cost cost = cost_of_states(segments, shape.kept_size());
        const double values = as_double(rows_of(segments) * shape.n_channels);
        cost.bytes += values * 8 * 4;
        cost.flops = values * as_double(2 * shape.kernel_size + 2);
        return cost;
    }
};
void compute(CpuWorker& worker, const GatedConvolution& op);     // gated_convolution.cpp
void compute(cuda::Worker& worker, const GatedConvolution& op);  // gated_convolution.cu

}  // namespace offstage::kernels::ops
