// Gated DeltaNet on the CPU (Yang and others, 2024, arXiv:2412.06464): the convolution by
// channels, the delta rule by heads and columns of their states, the rest by tokens.

#include "kernels/ops/delta_net.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/operations.h"
#include "kernels/cpu_worker.h"

namespace offstage::kernels::scalar {

void delta_rule(const DeltaRule& rule, std::int64_t column_begin, std::int64_t column_end, float* state) {
    for (std::int64_t t = 0; t < rule.n_tokens; ++t) {
        const float* const q = rule.q + t * rule.stride;
        const float* const k = rule.k + t * rule.stride;
        const float decay = rule.decay[t * rule.gate_stride];
        const float beta = rule.beta[t * rule.gate_stride];
        for (std::int64_t c = column_begin; c < column_end; ++c) {
            float known = 0;
            for (std::int64_t i = 0; i < rule.key_dim; ++i) known += k[i] * state[i * rule.value_dim + c];
            const float change = beta * (rule.v[t * rule.stride + c] - decay * known);
            float out = 0;
            for (std::int64_t i = 0; i < rule.key_dim; ++i) {
                float& s = state[i * rule.value_dim + c];
                s = decay * s + k[i] * change;
                out += q[i] * s;
            }
            rule.out[t * rule.out_stride + c] = out;
        }
    }
}

}  // namespace offstage::kernels::scalar

namespace offstage::kernels::ops {
namespace {

constexpr std::int64_t kChannelGrain = 64;
constexpr std::int64_t kTokenGrain = 4;
constexpr std::int64_t kColumns = 64;     // columns of a state in one piece: they stay in the first-level cache
constexpr float kSmallestLength = 1e-6f;  // squared

float logistic(float x) {
    return 1.0f / (1.0f + std::exp(-x));
}

// A layer's state of a sequence: see DeltaNetShape::kept_size(). nullptr: zeros.
struct LayerState {
    const float* from = nullptr;
    float* to = nullptr;
};

LayerState kept_of(const AttentionSegment& segment, std::int64_t layer, const KvShape& kv) {
    const std::int64_t offset = kv.keys_offset(layer, 0);
    const std::byte* const from = segment.blocks[0];
    return {from == nullptr ? nullptr : reinterpret_cast<const float*>(from + offset),
            reinterpret_cast<float*>(segment.blocks[1] + offset)};
}

// Channels [begin, end) of a sequence's rows, in place: the last token first, as the
// others are its inputs.
void convolve(const DeltaNetShape& shape, const LayerState& kept, std::int64_t n_tokens, std::int64_t begin,
              std::int64_t end, float* rows) {
    const std::int64_t width = shape.qkv_width();
    const std::int64_t n_before = shape.kernel_size - 1;
    const float* const before = kept.from == nullptr ? nullptr : kept.from + shape.states_size();
    // Row t of the sequence's inputs; those before its first token are kept ones.
    const auto input = [&](std::int64_t t, std::int64_t c) {
        if (t >= 0) return rows[t * width + c];
        return before == nullptr ? 0.0f : before[(t + n_before) * width + c];
    };
    float* const kept_rows = kept.to + shape.states_size();
    for (std::int64_t i = 0; i < n_before; ++i) {
        for (std::int64_t c = begin; c < end; ++c) kept_rows[i * width + c] = input(n_tokens - n_before + i, c);
    }
    for (std::int64_t t = n_tokens - 1; t >= 0; --t) {
        for (std::int64_t c = begin; c < end; ++c) {
            float sum = 0;
            for (std::int64_t i = 0; i < shape.kernel_size; ++i) {
                sum += shape.convolution[c * shape.kernel_size + i] * input(t - n_before + i, c);
            }
            rows[t * width + c] = sum * logistic(sum);
        }
    }
}

// One token's queries and keys get their lengths; its a and b become decay and beta.
void prepare_token(const DeltaNetShape& shape, float* qkv, float* decay_beta) {
    for (std::int64_t head = 0; head < 2 * shape.n_key_heads; ++head) {
        float* const x = qkv + head * shape.key_dim;
        float squares = 0;
        for (std::int64_t i = 0; i < shape.key_dim; ++i) squares += x[i] * x[i];
        const float of_queries = head < shape.n_key_heads ? static_cast<float>(shape.key_dim) : 1.0f;
        const float factor = 1.0f / std::sqrt((squares + kSmallestLength) * of_queries);
        for (std::int64_t i = 0; i < shape.key_dim; ++i) x[i] *= factor;
    }
    for (std::int64_t h = 0; h < shape.n_value_heads; ++h) {
        const float a = decay_beta[h] + shape.time_bias[h];
        const float softplus = a > 20.0f ? a : std::log1p(std::exp(a));
        decay_beta[h] = std::exp(shape.decay_rate[h] * softplus);
        decay_beta[shape.n_value_heads + h] = logistic(decay_beta[shape.n_value_heads + h]);
    }
}

}  // namespace

void compute(CpuWorker& worker, const DeltaNet& op) {
    const DeltaNetShape& shape = op.shape;
    ThreadPool& pool = worker.pool;
    const std::int64_t width = shape.qkv_width();
    const std::int64_t out_width = shape.output_width();
    const std::int64_t values = 2 * shape.n_key_heads * shape.key_dim;  // a row's first value
    const std::int64_t n_heads = shape.n_value_heads;
    std::int64_t n_rows = 0;
    for (const AttentionSegment& s : op.segments) {
        const LayerState kept = kept_of(s, op.layer, op.kv);
        pool.parallel_for(width, kChannelGrain, [&](std::int64_t begin, std::int64_t end, int) {
            convolve(shape, kept, s.n_tokens, begin, end, op.qkv + s.first_row * width);
        });
        n_rows += s.n_tokens;
    }
    pool.parallel_for(n_rows, kTokenGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            prepare_token(shape, op.qkv + t * width, op.decay_beta + t * 2 * n_heads);
        }
    });
    const std::int64_t pieces = (shape.value_dim + kColumns - 1) / kColumns;
    const auto n_segments = static_cast<std::int64_t>(op.segments.size());
    pool.parallel_dynamic(n_segments * n_heads * pieces, [&](std::int64_t piece, int) {
        const AttentionSegment& s = op.segments[static_cast<std::size_t>(piece / (n_heads * pieces))];
        const std::int64_t head = piece / pieces % n_heads;
        const std::int64_t begin = piece % pieces * kColumns;
        const std::int64_t end = std::min(shape.value_dim, begin + kColumns);
        const LayerState kept = kept_of(s, op.layer, op.kv);
        const std::int64_t first = head * shape.key_dim * shape.value_dim;
        for (std::int64_t i = 0; i < shape.key_dim; ++i) {
            const std::int64_t at = first + i * shape.value_dim + begin;
            const std::size_t bytes = static_cast<std::size_t>(end - begin) * sizeof(float);
            if (kept.from == nullptr) {
                std::memset(kept.to + at, 0, bytes);
            } else {
                std::memcpy(kept.to + at, kept.from + at, bytes);
            }
        }
        const float* const row = op.qkv + s.first_row * width;
        const float* const gates = op.decay_beta + s.first_row * 2 * n_heads + head;
        DeltaRule rule;
        rule.n_tokens = s.n_tokens;
        rule.key_dim = shape.key_dim;
        rule.value_dim = shape.value_dim;
        rule.q = row + shape.key_head(head) * shape.key_dim;
        rule.k = rule.q + shape.n_key_heads * shape.key_dim;
        rule.v = row + values + head * shape.value_dim;
        rule.stride = width;
        rule.decay = gates;
        rule.beta = gates + n_heads;
        rule.gate_stride = 2 * n_heads;
        rule.out = op.out + s.first_row * out_width + head * shape.value_dim;
        rule.out_stride = out_width;
        worker.kernels.delta_rule(rule, begin, end, kept.to + first);
    });
    pool.parallel_for(n_rows, kTokenGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin * out_width; i < end * out_width; i += shape.value_dim) {
            worker.kernels.rms_norm(op.out + i, shape.norm, shape.value_dim, shape.norm_eps, op.out + i);
            for (std::int64_t c = i; c < i + shape.value_dim; ++c) op.out[c] *= op.z[c] * logistic(op.z[c]);
        }
    });
}

}  // namespace offstage::kernels::ops
