#include "engine/run/forward.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace offstage::engine {
namespace {

constexpr std::int64_t kQueryBlock = 64;  // queries of one attention piece in prefill
constexpr std::int64_t kRowGrain = 16;    // rows of a weight: the smallest piece worth another thread

std::size_t as_size(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

}  // namespace

Forward::Forward(const ModelConfig& config, const ModelWeights& weights, kernels::ThreadPool& pool,
                 kernels::GemmMode mode)
    : config_(config),
      weights_(weights),
      pool_(pool),
      kernels_(kernels::cpu_kernels()),
      mode_(mode),
      gemm_(pool),
      moe_(config, weights, pool, gemm_, mode),
      attention_scratch_(as_size(pool.n_threads())) {
    for (std::int64_t i = 0; i < config.head_dim / 2; ++i) {
        const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
        inverse_frequencies_.push_back(static_cast<float>(1.0 / std::pow(config.rope_theta, exponent)));
    }
}

bool Forward::step(std::span<const TokenId> tokens, KvCache& cache, Logits wanted, const std::stop_token& stop) {
    const auto n_tokens = static_cast<std::int64_t>(tokens.size());
    assert(n_tokens >= 1 && n_tokens <= kMaxStep && cache.size() + n_tokens <= cache.capacity());
    reserve(n_tokens);

    const kernels::WeightView embedding = weights_.embedding.view();
    pool_.parallel_for(n_tokens, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            kernels_.widen(embedding.row(tokens[as_size(t)]), embedding.type, config_.hidden_dim,
                           x_.data() + t * config_.hidden_dim);
        }
    });
    const std::int64_t half = config_.head_dim / 2;
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < half; ++i) {
            const float angle = static_cast<float>(cache.size() + t) * inverse_frequencies_[as_size(i)];
            cos_[as_size(t * half + i)] = std::cos(angle);
            sin_[as_size(t * half + i)] = std::sin(angle);
        }
    }

    for (std::int64_t layer = 0; layer < config_.n_layers; ++layer) {
        if (stop.stop_requested()) return false;
        attention_block(layer, n_tokens, cache);
        normalise(weights_.layers[as_size(layer)].moe_norm, n_tokens);
        moe_.run(layer, h_.data(), n_tokens, x_.data(), routing_.data() + layer * config_.n_active,
                 config_.n_layers * config_.n_active);
    }
    compute_logits(n_tokens, wanted);
    cache.commit(n_tokens);
    return true;
}

void Forward::reserve(std::int64_t n_tokens) {
    const auto grow = [](auto& buffer, std::int64_t n) {
        if (buffer.size() < as_size(n)) buffer.resize(as_size(n));
    };
    grow(x_, n_tokens * config_.hidden_dim);
    grow(h_, n_tokens * config_.hidden_dim);
    grow(projected_, n_tokens * config_.hidden_dim);
    grow(qkv_, n_tokens * (config_.n_heads + 2 * config_.n_kv_heads) * config_.head_dim);
    grow(attended_, n_tokens * config_.n_heads * config_.head_dim);
    grow(cos_, n_tokens * config_.head_dim / 2);
    grow(sin_, n_tokens * config_.head_dim / 2);
    routing_size_ = as_size(n_tokens * config_.n_layers * config_.n_active);
    grow(routing_, static_cast<std::int64_t>(routing_size_));
}

void Forward::normalise(const std::vector<float>& weight, std::int64_t n_tokens) {
    pool_.parallel_for(n_tokens, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            kernels_.rms_norm(x_.data() + t * config_.hidden_dim, weight.data(), config_.hidden_dim,
                              static_cast<float>(config_.rms_norm_eps), h_.data() + t * config_.hidden_dim);
        }
    });
}

void Forward::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n_tokens, float* y) {
    if (n_tokens > MoeLayer::kFewTokens) {
        gemm_.multiply(mode_, kernels::GemmLayout::kRowsAreOutputs, x, weight.n_cols, n_tokens, weight, y,
                       weight.n_rows);
        return;
    }
    pool_.parallel_for(weight.n_rows, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        if (n_tokens == 1) {
            kernels_.matvec(weight, x, begin, end, y);
        } else {
            kernels_.matvec_multi(weight, x, weight.n_cols, static_cast<int>(n_tokens), begin, end, y, weight.n_rows);
        }
    });
}

void Forward::attention_block(std::int64_t layer, std::int64_t n_tokens, KvCache& cache) {
    const LayerWeights& weights = weights_.layers[as_size(layer)];
    normalise(weights.attention_norm, n_tokens);
    multiply(weights.qkv.view(), h_.data(), n_tokens, qkv_.data());
    rotate_and_store(layer, n_tokens, cache);
    attend(layer, n_tokens, cache);
    multiply(weights.output.view(), attended_.data(), n_tokens, projected_.data());
    kernels_.axpy(1.0f, projected_.data(), n_tokens * config_.hidden_dim, x_.data());
}

void Forward::rotate_and_store(std::int64_t layer, std::int64_t n_tokens, KvCache& cache) {
    const std::int64_t d = config_.head_dim;
    const std::int64_t stride = (config_.n_heads + 2 * config_.n_kv_heads) * d;
    const LayerIndex index{static_cast<std::int32_t>(layer)};
    pool_.parallel_for(n_tokens, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            float* row = qkv_.data() + t * stride;
            const float* cos = cos_.data() + t * d / 2;
            const float* sin = sin_.data() + t * d / 2;
            for (std::int64_t head = 0; head < config_.n_heads + config_.n_kv_heads; ++head) {
                kernels_.rope(row + head * d, cos, sin, d);
            }
            const float* k = row + config_.n_heads * d;
            const float* v = k + config_.n_kv_heads * d;
            const std::int64_t position = cache.size() + t;
            for (std::int64_t head = 0; head < config_.n_kv_heads; ++head) {
                std::memcpy(cache.keys(index, head) + position * d, k + head * d, as_size(d) * sizeof(float));
                std::memcpy(cache.values(index, head) + position * d, v + head * d, as_size(d) * sizeof(float));
            }
        }
    });
}

void Forward::attend(std::int64_t layer, std::int64_t n_tokens, KvCache& cache) {
    const std::int64_t d = config_.head_dim;
    const std::int64_t past = cache.size();
    const std::int64_t q_stride = (config_.n_heads + 2 * config_.n_kv_heads) * d;
    const std::int64_t out_stride = config_.n_heads * d;
    const std::int64_t heads_per_kv = config_.n_heads / config_.n_kv_heads;
    const float scale = 1.0f / std::sqrt(static_cast<float>(d));
    const LayerIndex index{static_cast<std::int32_t>(layer)};

    // A sliding window that is already full gives each query its own first key, so the queries go one by one.
    const std::int64_t window = config_.sliding_window;
    const bool windowed = window > 0 && past + n_tokens > window;
    const std::int64_t block = windowed ? 1 : kQueryBlock;
    const std::int64_t n_blocks = (n_tokens + block - 1) / block;

    const auto longest = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(past + n_tokens)));
    const std::int64_t scratch = kernels::attention_scratch_floats(longest, d);
    for (auto& buffer : attention_scratch_) {
        if (buffer.size() < as_size(scratch)) buffer.resize(as_size(scratch));
    }
    pool_.parallel_dynamic(config_.n_heads * n_blocks, [&](std::int64_t piece, int thread) {
        const std::int64_t head = piece / n_blocks;
        const std::int64_t begin = (n_blocks - 1 - piece % n_blocks) * block;  // the longest pieces first
        const std::int64_t end = std::min(n_tokens, begin + block);
        const std::int64_t first_key = windowed ? std::max<std::int64_t>(0, past + end - window) : 0;
        const std::int64_t kv_head = head / heads_per_kv;
        kernels_.attention(
            qkv_.data() + begin * q_stride + head * d, q_stride, cache.keys(index, kv_head) + first_key * d,
            cache.values(index, kv_head) + first_key * d, end - begin, past + end - first_key, d, scale,
            attended_.data() + begin * out_stride + head * d, out_stride, attention_scratch_[as_size(thread)].data());
    });
}

void Forward::compute_logits(std::int64_t n_tokens, Logits wanted) {
    logits_size_ = 0;
    if (wanted == Logits::kNone) return;
    const std::int64_t n_wanted = wanted == Logits::kAll ? n_tokens : 1;
    const std::int64_t first = n_tokens - n_wanted;
    logits_size_ = as_size(n_wanted * config_.vocab_size);
    if (logits_.size() < logits_size_) logits_.resize(logits_size_);
    for (std::int64_t t = first; t < n_tokens; ++t) {
        kernels_.rms_norm(x_.data() + t * config_.hidden_dim, weights_.final_norm.data(), config_.hidden_dim,
                          static_cast<float>(config_.rms_norm_eps), h_.data() + t * config_.hidden_dim);
    }
    multiply(weights_.logits_weight(), h_.data() + first * config_.hidden_dim, n_wanted, logits_.data());
}

}  // namespace offstage::engine
