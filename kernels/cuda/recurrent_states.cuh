#pragma once
// What recurrent layers share on the GPU: their convolution, and the states of linear
// attention.

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {

constexpr int kStateThreads = 256;
constexpr int kStateWarps = kStateThreads / kWarp;
constexpr std::int64_t kMostKeyDim = 32 * kStateWarps;

__device__ inline float logistic(float x) {
    return 1.0f / (1.0f + expf(-x));
}
__device__ inline float softplus(float x) {
    return x > 20.0f ? x : log1pf(expf(x));
}

// The rows' channels in place, `stride` from one row to the next; keeps the inputs of each
// sequence's last tokens. place: of the layer in the sequence's blocks, in bytes; what the
// convolution keeps follows states_size floats.
void convolve(Worker& worker, const ConvolutionShape& shape, Span<AttentionSegment> segments, std::int64_t place,
              std::int64_t states_size, float* rows, std::int64_t stride);

// DeltaRule for all heads of a step's rows, at most kMostKeyDim keys. stride, gate_stride:
// from one row to the next; place: of the states.
struct StateRows {
    StateShape shape;
    std::int64_t place;
    const float* q;
    const float* k;
    const float* v;
    std::int64_t stride;
    const float* decay;
    const float* beta;
    std::int64_t gate_stride;
    float* out;
    bool corrects;
};

void update_states(Worker& worker, Span<AttentionSegment> segments, const StateRows& rule);

}  // namespace offstage::kernels::cuda
