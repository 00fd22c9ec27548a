#pragma once

#include "kernels/norm_weights.h"
#include "kernels/ops/add.h"
#include "kernels/ops/add_bias.h"
#include "kernels/ops/attend.h"
#include "kernels/ops/clamp.h"
#include "kernels/ops/multiply.h"
#include "kernels/ops/multiply_heads.h"
#include "kernels/ops/multiply_sigmoid.h"
#include "kernels/ops/norm.h"
#include "kernels/ops/norm_pieces.h"
#include "kernels/ops/rotate_and_store.h"

namespace offstage::kernels::ops {

// The first half of a layer with grouped-query attention: norm, projections, attention,
// and the output's product, which is added to x. The results in x and in the cache are
// those of the operations of for_each(), bit by bit; of a single token a GPU computes
// them in fewer kernels where it can (kernels/ops/grouped_attention.cu). Norms without a
// dimension, matrices and vectors without data are left out; without `norm` the rows are
// in `normalised` already.
struct GroupedAttention {
    std::int64_t n = 0;  // tokens: the rows of the segments
    NormWeights norm;
    float* x = nullptr;           // (n, dim()): the residual stream
    WeightView projections[3];    // of queries, keys and values; or one matrix that has all rows
    const float* bias = nullptr;  // (shape.qkv_width())
    NormWeights query_norm;       // these three: of each head, or of all together
    NormWeights key_norm;
    NormWeights value_norm;
    float clip = 0;          // queries, keys and values lie within -clip .. clip; 0: anywhere
    std::int64_t layer = 0;  // these six: RotateAndStore, Attend
    AttentionShape shape;
    Span<AttentionSegment> segments;
    const float* cos = nullptr;
    const float* sin = nullptr;
    KvShape kv;
    WeightView output_gate;  // (shape.output_width() or n_heads, dim()): of each value, or of each head
    WeightView output;
    const float* output_bias = nullptr;  // (dim())
    NormWeights output_norm;
    float factor = 1;                      // of what is added to x
    const std::int32_t* chosen = nullptr;  // Attend's, where no kernel stands for it

    // For intermediate results; undefined behind it.
    float* normalised = nullptr;  // (n, dim())
    float* qkv = nullptr;         // (n, shape.qkv_width())
    float* attended = nullptr;    // (n, shape.output_width())
    float* gate = nullptr;        // (n, output_gate.n_rows); only with output_gate
    float* projected = nullptr;   // (n, dim())

    std::int64_t dim() const { return output.n_rows; }
    std::int64_t n_projections() const { return projections[1].data == nullptr ? 1 : 3; }

    // Each calls body(op) for operations, in their order: those that make qkv of x, those
    // that make `attended` of qkv, and those that add to x.
    template <typename Body>
    void for_each_projection(const Body& body) const {
        if (norm.dim > 0) body(Norm{norm, x, n, normalised});
        if (n_projections() == 1) {
            body(Multiply{projections[0], normalised, n, qkv});
        } else {
            float* to = qkv;
            for (const WeightView& weight : projections) {
                body(MultiplyHeads{weight, 1, normalised, dim(), 0, n, to, shape.qkv_width(), 0});
                to += weight.n_rows;
            }
        }
        if (bias != nullptr) body(AddBias{bias, n, shape.qkv_width(), qkv});
    }
    template <typename Body>
    void for_each_attention(const Body& body) const {
        const std::int64_t width = shape.qkv_width();
        const std::int64_t key_width = shape.n_kv_heads * shape.key_dim;
        const auto normalise = [&](const NormWeights& pieces, std::int64_t values, float* first) {
            if (pieces.dim > 0) body(NormPieces{pieces, n, width, values / pieces.dim, first});
        };
        normalise(query_norm, shape.query_width(), qkv);
        normalise(key_norm, key_width, qkv + shape.query_width());
        normalise(value_norm, shape.n_kv_heads * shape.value_dim, qkv + shape.query_width() + key_width);
        if (clip > 0) body(Clamp{clip, n * width, qkv});
        body(RotateAndStore{layer, shape, segments, cos, sin, qkv, kv});
        body(Attend{layer, shape, segments, qkv, width, kv, attended, chosen});
    }
    template <typename Body>
    void for_each_output(const Body& body) const {
        if (output_gate.data != nullptr) {
            body(Multiply{output_gate, normalised, n, gate});
            body(MultiplySigmoid{gate, n * shape.output_width(), attended, shape.output_width() / output_gate.n_rows});
        }
        body(Multiply{output, attended, n, projected});
        if (output_bias != nullptr) body(AddBias{output_bias, n, dim(), projected});
        if (output_norm.dim > 0) body(NormPieces{output_norm, n, dim(), 1, projected});
        body(Add{projected, n * dim(), x, factor});
    }
    template <typename Body>
    void for_each(const Body& body) const {
        for_each_projection(body);
        for_each_attention(body);
        for_each_output(body);
    }
};
void compute(cuda::Worker& worker, const GroupedAttention& op);  // grouped_attention.cu

}  // namespace offstage::kernels::ops
