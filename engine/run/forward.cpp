#include "engine/run/forward.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "engine/as_size.h"
#include "engine/plan/planner.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kLogitsRows = 32;  // rows of logits made at a time

std::int64_t qkv_dim(const ModelConfig& c) {
    return (c.n_heads + 2 * c.n_kv_heads) * c.head_dim;
}

std::int64_t table_entries(std::int64_t context) {
    return Forward::kMaxSegments * (context / kernels::kKvBlockTokens + 2);
}

}  // namespace

Forward::Forward(const ModelConfig& config, const DeviceWeights& weights, ExpertStore& experts, Backend& device,
                 CpuOperations& host, Dispatcher& dispatcher, std::int64_t max_step, std::int64_t context)
    : config_(config),
      weights_(weights),
      device_(device),
      host_(host),
      dispatcher_(dispatcher),
      max_step_(max_step),
      shape_(step_shape(config, experts.master_type(), max_step, std::max(context, config.max_context))),
      attention_(shape_.attention),
      moe_(config, experts, device, host, dispatcher, max_step),
      kv_{config.n_layers, config.n_kv_heads, config.head_dim} {
    device.reserve(shape_);
    for (std::int64_t i = 0; i < config.head_dim / 2; ++i) {
        const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
        inverse_frequencies_.push_back(static_cast<float>(1.0 / std::pow(config.rope_theta, exponent)));
    }
    const auto workspace = [&](std::int64_t floats, const char* purpose) {
        return device.memory().allocate(as_size(max_step * floats) * sizeof(float), MemoryUse::kWorkspace, purpose);
    };
    inputs_ = allocate_inputs(shape_.context);
    in_host_.resize(as_size(table_entries(shape_.context)));
    x_ = workspace(config.hidden_dim, "activations");
    h_ = workspace(config.hidden_dim, "activations");
    projected_ = workspace(config.hidden_dim, "activations");
    qkv_ = workspace(qkv_dim(config), "queries, keys and values");
    attended_ = workspace(config.n_heads * config.head_dim, "attention");
    logits_ =
        Mirror<float>(device, as_size(std::min(kLogitsRows, std::max(max_step, kMaxSegments)) * config.vocab_size),
                      MemoryUse::kWorkspace, "logits");
    segments_.reserve(as_size(kMaxSegments));
}

std::uint64_t Forward::workspace_bytes(const ModelConfig& config, std::int64_t context) {
    return static_cast<std::uint64_t>(kLogitsRows * config.vocab_size) * sizeof(float) +
           static_cast<std::uint64_t>(table_entries(std::max(context, config.max_context))) * sizeof(float*) +
           16 * 256;  // each piece is rounded up
}

std::uint64_t Forward::workspace_bytes_per_token(const ModelConfig& config) {
    const std::int64_t floats =
        3 * config.hidden_dim + qkv_dim(config) + config.n_heads * config.head_dim + config.head_dim + 1;
    return static_cast<std::uint64_t>(floats) * sizeof(float) + MoeLayer::bytes_per_token(config);
}

Backend::StepShape Forward::step_shape(const ModelConfig& config, kernels::WeightType type, std::int64_t max_step,
                                       std::int64_t context) {
    return {max_step,
            config.hidden_dim,
            config.ffn_dim,
            config.n_experts,
            config.n_active,
            {config.n_heads, config.n_kv_heads, config.head_dim, config.sliding_window},
            config.vocab_size,
            context,
            type};
}

Mirror<std::byte> Forward::allocate_inputs(std::int64_t context) const {
    const std::size_t words = as_size(max_step_ * (config_.head_dim + 1));
    return {device_, as_size(table_entries(context)) * sizeof(float*) + words * sizeof(std::int32_t),
            MemoryUse::kWorkspace, "a step's inputs"};
}

void Forward::set_context(std::int64_t context) {
    if (context <= shape_.context) return;
    Backend::StepShape shape = shape_;
    shape.context = context;
    Mirror<std::byte> inputs = allocate_inputs(context);
    in_host_.resize(as_size(table_entries(context)));
    device_.reserve(shape);
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));  // the old inputs may still be read
    inputs_ = std::move(inputs);
    shape_ = shape;
}

void Forward::set_sum_order(SumOrder order) {
    device_.set_sum_order(order);
    host_.set_sum_order(order);
}

Forward::Outcome Forward::step(std::span<const Segment> segments, Logits wanted, const std::stop_token& stop,
                               std::int64_t n_prompt) {
    std::int64_t n_tokens = 0;
    bool prefill = false;
    for (const Segment& segment : segments) {
        n_tokens += static_cast<std::int64_t>(segment.tokens.size());
        prefill |= segment.tokens.size() > 1;
    }
    assert(n_tokens >= 1 && n_tokens <= max_step_ && static_cast<std::int64_t>(segments.size()) <= kMaxSegments);
    const double start_us = device_.now_us();
    std::int64_t n_entries = 0;
    for (const Segment& segment : segments) {
        n_entries += KvPool::blocks_for(segment.sequence->size() + static_cast<std::int64_t>(segment.tokens.size()));
    }
    if (n_entries > table_entries(shape_.context)) return Outcome::kFull;
    for (const Segment& segment : segments) {
        if (segment.sequence->size() + static_cast<std::int64_t>(segment.tokens.size()) >
                segment.sequence->capacity() ||
            !segment.sequence->prepare(static_cast<std::int64_t>(segment.tokens.size()), device_)) {
            return Outcome::kFull;
        }
    }
    upload_inputs(segments, n_tokens, n_entries);
    routing_size_ = as_size(n_tokens * config_.n_layers * config_.n_active);
    if (routing_.size() < routing_size_) routing_.resize(routing_size_);

    if (!device_.ok()) return Outcome::kFailed;  // the device must not look up token ids that never came

    // What fits in the smallest step is read in one under any budget, so that it may take the fastest way.
    set_sum_order(std::max(n_tokens, n_prompt) > kSmallestStep ? SumOrder::kMany : SumOrder::kByNumber);
    dispatcher_.begin_step(n_tokens, prefill);
    device_.embed(weights_.embedding(), tokens_, n_tokens, x_.as<float>());
    moe_.begin_step(prefill, n_tokens, wanted != Logits::kNone);
    if (probe_ != nullptr) probe_->begin_step(n_tokens);
    for (std::int64_t layer = 0; layer < config_.n_layers; ++layer) {
        if (stop.stop_requested() || !device_.ok()) {
            device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
            return device_.ok() ? Outcome::kStopped : Outcome::kFailed;
        }
        attention_block(layer, n_tokens);
        normalise(weights_.layer(layer).moe_norm, x_.as<float>(), n_tokens);
        if (probe_ != nullptr) probe_->submit(layer, weights_, h_.as<float>());
        const float* next_gate = layer + 1 < config_.n_layers ? weights_.layer(layer + 1).gate : nullptr;
        if (between_layers_ && layer > 0) between_layers_();
        moe_.run(layer, weights_.layer(layer).gate, next_gate, h_.as<float>(), n_tokens, x_.as<float>(),
                 routing_.data() + layer * config_.n_active, config_.n_layers * config_.n_active);
        if (probe_ != nullptr && device_.ok()) probe_->collect(layer);  // the router's answer was waited for
    }
    compute_logits(segments, n_tokens, wanted);
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
    if (!device_.ok()) return Outcome::kFailed;
    moe_.finish();
    dispatcher_.end_step(device_.now_us() - start_us);
    for (const Segment& segment : segments) {
        segment.sequence->commit(static_cast<std::int64_t>(segment.tokens.size()));
    }
    return Outcome::kDone;
}

void Forward::upload_inputs(std::span<const Segment> segments, std::int64_t n_tokens, std::int64_t n_entries) {
    const std::int64_t half = config_.head_dim / 2;
    const std::size_t words = as_size(n_entries) * sizeof(float*);  // where they begin
    auto** const tables = reinterpret_cast<float**>(inputs_.host());
    auto** const device_tables = reinterpret_cast<float**>(inputs_.device());
    auto* cos = reinterpret_cast<float*>(inputs_.host() + words);
    float* sin = cos + n_tokens * half;
    auto* tokens = reinterpret_cast<std::int32_t*>(sin + n_tokens * half);
    std::int64_t row = 0;
    std::int64_t entry = 0;
    segments_.clear();
    for (const Segment& segment : segments) {
        const auto n = static_cast<std::int64_t>(segment.tokens.size());
        const std::int64_t past = segment.sequence->size();
        for (std::int64_t t = 0; t < n; ++t) {
            for (std::int64_t i = 0; i < half; ++i) {
                const float angle = static_cast<float>(past + t) * inverse_frequencies_[as_size(i)];
                cos[(row + t) * half + i] = std::cos(angle);
                sin[(row + t) * half + i] = std::sin(angle);
            }
        }
        std::copy(segment.tokens.begin(), segment.tokens.end(), tokens + row);
        const std::int64_t n_blocks = KvPool::blocks_for(past + n);
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            const KvBlock block = segment.sequence->pool().block(segment.sequence->blocks()[as_size(b)]);
            tables[entry + b] = block.data;
            in_host_[as_size(entry + b)] = block.in_host ? 1 : 0;
        }
        segments_.push_back({row,
                             n,
                             past,
                             {tables + entry, as_size(n_blocks)},
                             device_tables + entry,
                             {in_host_.data() + entry, as_size(n_blocks)}});
        row += n;
        entry += n_blocks;
    }
    inputs_.upload(0, words + as_size(n_tokens * (2 * half + 1)) * sizeof(std::int32_t));
    cos_ = reinterpret_cast<const float*>(inputs_.device() + words);
    sin_ = cos_ + n_tokens * half;
    tokens_ = reinterpret_cast<const TokenId*>(sin_ + n_tokens * half);
}

void Forward::normalise(const float* weight, const float* x, std::int64_t n_tokens) {
    device_.rms_norm(x, weight, n_tokens, config_.hidden_dim, static_cast<float>(config_.rms_norm_eps), h_.as<float>());
}

void Forward::attention_block(std::int64_t layer, std::int64_t n_tokens) {
    const DeviceWeights::Layer& weights = weights_.layer(layer);
    normalise(weights.attention_norm, x_.as<float>(), n_tokens);
    device_.multiply(weights.qkv, h_.as<float>(), n_tokens, qkv_.as<float>());
    device_.rotate_and_store(layer, attention_, segments_, cos_, sin_, qkv_.as<float>(), kv_);
    device_.attend(layer, attention_, segments_, qkv_.as<float>(), kv_, attended_.as<float>());
    device_.multiply(weights.output, attended_.as<float>(), n_tokens, projected_.as<float>());
    device_.add(projected_.as<float>(), n_tokens * config_.hidden_dim, x_.as<float>());
}

void Forward::compute_logits(std::span<const Segment> segments, std::int64_t n_tokens, Logits wanted) {
    logits_view_ = {};
    all_logits_.clear();
    if (wanted == Logits::kNone) return;
    const std::int64_t vocab = config_.vocab_size;
    if (wanted == Logits::kLast) set_sum_order(SumOrder::kByNumber);  // one row per sequence, whatever the step
    const auto rows = [&](std::int64_t first, std::int64_t n) {
        normalise(weights_.final_norm(), x_.as<float>() + first * config_.hidden_dim, n);
        device_.multiply(weights_.logits(), h_.as<float>(), n, logits_.device());
        logits_.download(0, as_size(n * vocab));
    };
    if (wanted == Logits::kLast && static_cast<std::int64_t>(segments.size()) == n_tokens) {
        rows(0, n_tokens);
        logits_view_ = {logits_.host(), as_size(n_tokens * vocab)};
    } else if (wanted == Logits::kLast && segments.size() == 1) {
        rows(n_tokens - 1, 1);
        logits_view_ = {logits_.host(), as_size(vocab)};
    } else {
        const auto keep = [&](std::int64_t first, std::int64_t n) {
            rows(first, n);
            device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
            all_logits_.insert(all_logits_.end(), logits_.host(), logits_.host() + n * vocab);
        };
        if (wanted == Logits::kAll) {
            for (std::int64_t t = 0; t < n_tokens; t += kLogitsRows) keep(t, std::min(kLogitsRows, n_tokens - t));
        } else {
            for (const AttentionSegment& s : segments_) keep(s.first_row + s.n_tokens - 1, 1);
        }
        logits_view_ = all_logits_;
    }
}

}  // namespace offstage::engine
