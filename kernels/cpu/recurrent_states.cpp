// The convolution by channels, the states by heads and columns.

#include "kernels/cpu/recurrent_states.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace scalar {

void delta_rule(const DeltaRule& rule, std::int64_t column_begin, std::int64_t column_end, float* state) {
    for (std::int64_t t = 0; t < rule.n_tokens; ++t) {
        const float* const q = rule.q + t * rule.stride;
        const float* const k = rule.k + t * rule.stride;
        const float decay = rule.decay[t * rule.gate_stride];
        const float beta = rule.beta[t * rule.gate_stride];
        for (std::int64_t c = column_begin; c < column_end; ++c) {
            float known = 0;
            for (std::int64_t i = 0; rule.corrects && i < rule.key_dim; ++i)
                known += k[i] * state[i * rule.value_dim + c];
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

}  // namespace scalar

namespace {

constexpr std::int64_t kChannelGrain = 64;
constexpr std::int64_t kColumns = 64;  // columns of a state in one piece: they stay in the first-level cache

// What a layer keeps of a sequence, from `first` floats on. nullptr: zeros.
struct Kept {
    const float* from = nullptr;
    float* to = nullptr;
};

Kept kept_of(const RecurrentStep& step, const AttentionSegment& segment, std::int64_t first, std::size_t part) {
    const std::int64_t offset = step.kv.keys_offset(step.layer, 0) + first * static_cast<std::int64_t>(sizeof(float));
    const std::byte* const from = segment.blocks[part];
    return {from == nullptr ? nullptr : reinterpret_cast<const float*>(from + offset),
            reinterpret_cast<float*>(segment.blocks[part + 1] + offset)};
}

// The parts of a segment behind which its state is kept: all rows, or each.
std::size_t n_parts(const AttentionSegment& segment) {
    return segment.blocks.size() - 1;
}
std::int64_t rows_of_part(const AttentionSegment& segment) {
    return segment.n_tokens / static_cast<std::int64_t>(n_parts(segment));
}

// Channels [begin, end) of a sequence's rows: the last token first, as the others are its
// inputs.
void convolve_channels(const ConvolutionShape& shape, const Kept& kept, std::int64_t n_tokens, std::int64_t begin,
                       std::int64_t end, float* rows, std::int64_t stride) {
    const std::int64_t n_before = shape.kernel_size - 1;
    // Row t of the sequence's inputs; those before its first token are kept ones.
    const auto input = [&](std::int64_t t, std::int64_t c) {
        if (t >= 0) return rows[t * stride + c];
        return kept.from == nullptr ? 0.0f : kept.from[(t + n_before) * shape.n_channels + c];
    };
    for (std::int64_t i = 0; i < n_before; ++i) {
        for (std::int64_t c = begin; c < end; ++c)
            kept.to[i * shape.n_channels + c] = input(n_tokens - n_before + i, c);
    }
    for (std::int64_t t = n_tokens - 1; t >= 0; --t) {
        for (std::int64_t c = begin; c < end; ++c) {
            float sum = 0;
            for (std::int64_t i = 0; i < shape.kernel_size; ++i) {
                sum += shape.weights[c * shape.kernel_size + i] * input(t - n_before + i, c);
            }
            if (shape.bias != nullptr) sum += shape.bias[c];
            rows[t * stride + c] = shape.silu ? sum * logistic(sum) : sum;
        }
    }
}

}  // namespace

float logistic(float x) {
    return 1.0f / (1.0f + std::exp(-x));
}

float softplus(float x) {
    return x > 20.0f ? x : std::log1p(std::exp(x));
}

void convolve(CpuWorker& worker, const ConvolutionShape& shape, const RecurrentStep& step, float* rows,
              std::int64_t stride) {
    for (const AttentionSegment& s : step.segments) {
        const std::int64_t n = rows_of_part(s);
        worker.pool.parallel_for(shape.n_channels, kChannelGrain, [&](std::int64_t begin, std::int64_t end, int) {
            float* of_part = rows + s.first_row * stride;
            for (std::size_t part = 0; part < n_parts(s); ++part, of_part += n * stride) {
                convolve_channels(shape, kept_of(step, s, step.states_size, part), n, begin, end, of_part, stride);
            }
        });
    }
}

void update_states(CpuWorker& worker, const StateShape& shape, const RecurrentStep& step, DeltaRule rule) {
    rule.key_dim = shape.key_dim;
    rule.value_dim = shape.value_dim;
    rule.out_stride = shape.n_value_heads * shape.value_dim;
    const std::int64_t pieces = (shape.value_dim + kColumns - 1) / kColumns;
    const auto n_segments = static_cast<std::int64_t>(step.segments.size());
    worker.pool.parallel_dynamic(n_segments * shape.n_value_heads * pieces, [&](std::int64_t piece, int) {
        const AttentionSegment& s = step.segments[static_cast<std::size_t>(piece / (shape.n_value_heads * pieces))];
        const std::int64_t head = piece / pieces % shape.n_value_heads;
        const std::int64_t begin = piece % pieces * kColumns;
        const std::int64_t end = std::min(shape.value_dim, begin + kColumns);
        for (std::size_t part = 0; part < n_parts(s); ++part) {
            const Kept kept = kept_of(step, s, head * shape.key_dim * shape.value_dim, part);
            for (std::int64_t i = 0; i < shape.key_dim; ++i) {
                const std::int64_t at = i * shape.value_dim + begin;
                const std::size_t bytes = static_cast<std::size_t>(end - begin) * sizeof(float);
                if (kept.from == nullptr) {
                    std::memset(kept.to + at, 0, bytes);
                } else {
                    std::memcpy(kept.to + at, kept.from + at, bytes);
                }
            }
            DeltaRule of_head = rule;
            of_head.n_tokens = rows_of_part(s);
            const std::int64_t first_row = s.first_row + static_cast<std::int64_t>(part) * of_head.n_tokens;
            const std::int64_t row = first_row * rule.stride, gate = first_row * rule.gate_stride + head;
            of_head.q += row + shape.key_head(head) * shape.key_dim;
            of_head.k += row + shape.key_head(head) * shape.key_dim;
            of_head.v += row + head * shape.value_dim;
            of_head.decay += gate;
            of_head.beta += gate;
            of_head.out += first_row * rule.out_stride + head * shape.value_dim;
            worker.kernels.delta_rule(of_head, begin, end, kept.to);
        }
    });
}

}  // namespace offstage::kernels
