#pragma once
// What recurrent layers share on the CPU: their convolution, and the states of linear
// attention. Both leave a row's result independent of its step, bit by bit.

#include <cstdint>

#include "kernels/cpu_kernels.h"
#include "kernels/cpu_worker.h"
#include "kernels/kv_cache.h"
#include "kernels/ops/segments.h"
#include "kernels/types.h"

namespace offstage::kernels {

// Of a step: each sequence's block holds `layer`, in it the states' floats and then the
// convolution's.
struct RecurrentStep {
    Span<AttentionSegment> segments;
    KvShape kv;
    std::int64_t layer = 0;
    std::int64_t states_size = 0;
};

// The rows' channels in place, from rows + row * stride on. Keeps the inputs of each
// sequence's last tokens.
void convolve(CpuWorker& worker, const ConvolutionShape& shape, const RecurrentStep& step, float* rows,
              std::int64_t stride);

// rule: of the step's first row and of head 0; gates follow each other by head. Sets its
// sizes, out_stride included.
void update_states(CpuWorker& worker, const StateShape& shape, const RecurrentStep& step, DeltaRule rule);

float logistic(float x);
float softplus(float x);

}  // namespace offstage::kernels
