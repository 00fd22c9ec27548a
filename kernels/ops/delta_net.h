#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Gated DeltaNet (DeltaNetShape) of the rows, each sequence's from its state on. The
// layer's state lies in a segment's blocks at the place that kv gives: blocks[0] is read
// (nullptr: zeros), blocks[1] is written. qkv (rows, shape.qkv_width()); decay_beta
// (rows, 2 n_value_heads): a, then b; z (rows, shape.output_width()). qkv and decay_beta
// are overwritten. out (rows, shape.output_width()). A row's result does not depend on
// its step, bit by bit. A GPU: keys of up to 256 values.
struct DeltaNet {
    std::int64_t layer = 0;
    DeltaNetShape shape;
    Span<AttentionSegment> segments;
    float* qkv = nullptr;
    float* decay_beta = nullptr;
    const float* z = nullptr;
    KvShape kv;
    float* out = nullptr;

    // A state is read and written once in a step: a GPU keeps it in registers between
    // tokens.
    Cost cost() const {
        Cost cost;
        double n_tokens = 0;
        for (const AttentionSegment& segment : segments) {
            for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
                const bool in_host = !segment.in_host.empty() && segment.in_host[i] != 0;
                (in_host ? cost.bus_bytes : cost.bytes) += as_double(shape.kept_size()) * 4;
            }
            n_tokens += as_double(segment.n_tokens);
        }
        cost.bytes += n_tokens * as_double(2 * shape.qkv_width() + 2 * shape.output_width()) * 4;
        const std::int64_t flops = 7 * shape.states_size() + 2 * shape.kernel_size * shape.qkv_width();
        cost.flops = n_tokens * as_double(flops);
        return cost;
    }
};
void compute(CpuWorker& worker, const DeltaNet& op);     // delta_net.cpp
void compute(cuda::Worker& worker, const DeltaNet& op);  // delta_net.cu

}  // namespace offstage::kernels::ops
