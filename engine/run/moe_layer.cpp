#include "engine/run/moe_layer.h"

#include <algorithm>
#include <cstring>

namespace offstage::engine {
namespace {

constexpr std::int64_t kNeuronGrain = 16;        // neurons: the smallest piece of an expert worth another thread
constexpr std::int64_t kSerialFloats = 1 << 16;  // sums shorter than this are not worth waking the pool

}  // namespace

MoeLayer::MoeLayer(const ModelConfig& config, const ModelWeights& weights, kernels::ThreadPool& pool,
                   kernels::Gemm& gemm, kernels::GemmMode mode)
    : config_(config),
      weights_(weights),
      pool_(pool),
      gemm_(gemm),
      mode_(mode),
      kernels_(kernels::cpu_kernels()),
      by_expert_(static_cast<std::size_t>(config.n_experts)),
      partial_(static_cast<std::size_t>(pool.n_threads())) {}

void MoeLayer::run(std::int64_t layer, const float* normalised, std::int64_t n_tokens, float* x, std::int32_t* routing,
                   std::int64_t routing_stride) {
    route(layer, normalised, n_tokens, routing, routing_stride);
    run_few(layer, normalised, x, n_tokens);
    for (std::size_t e = 0; e < by_expert_.size(); ++e) {
        if (static_cast<std::int64_t>(by_expert_[e].size()) <= kFewTokens) continue;
        const auto view = weights_.experts.expert(LayerIndex{static_cast<std::int32_t>(layer)},
                                                  ExpertIndex{static_cast<std::int32_t>(e)});
        run_many(view, by_expert_[e], normalised, x);
    }
}

void MoeLayer::route(std::int64_t layer, const float* normalised, std::int64_t n_tokens, std::int32_t* routing,
                     std::int64_t routing_stride) {
    const std::int64_t n_experts = config_.n_experts;
    const std::int64_t n_active = config_.n_active;
    router_logits_.resize(static_cast<std::size_t>(n_tokens * n_experts));
    chosen_weights_.resize(static_cast<std::size_t>(n_tokens * n_active));

    const std::vector<float>& gate_values = weights_.layers[static_cast<std::size_t>(layer)].gate;
    const kernels::WeightView gate{gate_values.data(), kernels::WeightType::kF32, n_experts, config_.hidden_dim,
                                   config_.hidden_dim};
    const auto route_tokens = [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            float* logits = router_logits_.data() + t * n_experts;
            kernels_.matvec(gate, normalised + t * config_.hidden_dim, 0, n_experts, logits);
            kernels::route_softmax_top_k({logits, static_cast<std::size_t>(n_experts)}, static_cast<int>(n_active),
                                         true, {routing + t * routing_stride, static_cast<std::size_t>(n_active)},
                                         {chosen_weights_.data() + t * n_active, static_cast<std::size_t>(n_active)});
        }
    };
    pool_.parallel_for(n_tokens, kFewTokens, route_tokens);

    for (auto& tokens : by_expert_) tokens.clear();
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t a = 0; a < n_active; ++a) {
            const auto expert = static_cast<std::size_t>(routing[t * routing_stride + a]);
            by_expert_[expert].push_back(
                {static_cast<std::int32_t>(t), chosen_weights_[static_cast<std::size_t>(t * n_active + a)]});
        }
    }
}

void MoeLayer::run_few(std::int64_t layer, const float* normalised, float* x, std::int64_t n_tokens) {
    const std::int64_t hidden = config_.hidden_dim;
    const std::int64_t ffn = config_.ffn_dim;
    few_.clear();
    std::vector<std::int32_t>& row_token = few_row_token_;
    std::vector<std::int64_t>& first_row = few_first_row_;
    row_token.clear();
    first_row.clear();
    scales_.clear();
    for (std::size_t e = 0; e < by_expert_.size(); ++e) {
        const auto& tokens = by_expert_[e];
        if (tokens.empty() || static_cast<std::int64_t>(tokens.size()) > kFewTokens) continue;
        few_.push_back(static_cast<std::int32_t>(e));
        first_row.push_back(static_cast<std::int64_t>(row_token.size()));
        for (const Assignment& a : tokens) {
            row_token.push_back(a.token);
            scales_.push_back(a.weight);
        }
    }
    if (few_.empty()) return;
    const auto n_rows = static_cast<std::int64_t>(row_token.size());
    first_row.push_back(n_rows);

    const float* inputs = normalised;  // a single token needs no gathering: every row is that token
    if (n_tokens > 1) {
        gathered_.resize(static_cast<std::size_t>(n_rows * hidden));
        for (std::int64_t r = 0; r < n_rows; ++r) {
            std::memcpy(gathered_.data() + r * hidden, normalised + row_token[static_cast<std::size_t>(r)] * hidden,
                        static_cast<std::size_t>(hidden) * sizeof(float));
        }
        inputs = gathered_.data();
    }
    for (auto& partial : partial_) partial.resize(static_cast<std::size_t>(n_rows * hidden));

    pool_.run([&](int thread) {
        float* out = partial_[static_cast<std::size_t>(thread)].data();
        std::memset(out, 0, static_cast<std::size_t>(n_rows * hidden) * sizeof(float));
        const auto n_few = static_cast<std::int64_t>(few_.size());
        const std::int64_t n_grains = (n_few * ffn + kNeuronGrain - 1) / kNeuronGrain;
        std::int64_t neuron = n_grains * thread / pool_.n_threads() * kNeuronGrain;
        const std::int64_t last = std::min(n_grains * (thread + 1) / pool_.n_threads() * kNeuronGrain, n_few * ffn);
        while (neuron < last) {  // neurons are counted through all the experts of the list
            const std::int64_t index = neuron / ffn;
            const std::int64_t begin = neuron % ffn;
            const std::int64_t end = std::min(ffn, begin + last - neuron);
            const std::int64_t row = first_row[static_cast<std::size_t>(index)];
            const std::int64_t n = first_row[static_cast<std::size_t>(index) + 1] - row;
            const auto view = weights_.experts.expert(LayerIndex{static_cast<std::int32_t>(layer)},
                                                      ExpertIndex{few_[static_cast<std::size_t>(index)]});
            kernels_.expert_ffn(view, n_tokens > 1 ? inputs + row * hidden : inputs, scales_.data() + row,
                                static_cast<int>(n), begin, end, out + row * hidden);
            neuron += end - begin;
        }
    });

    const auto add_columns = [&](std::int64_t begin, std::int64_t end, int) {
        for (const auto& partial : partial_) {
            for (std::int64_t r = 0; r < n_rows; ++r) {
                kernels_.axpy(1.0f, partial.data() + r * hidden + begin, end - begin,
                              x + row_token[static_cast<std::size_t>(r)] * hidden + begin);
            }
        }
    };
    if (n_rows * hidden * pool_.n_threads() <= kSerialFloats) {
        add_columns(0, hidden, 0);
    } else {
        pool_.parallel_for(hidden, 64, add_columns);
    }
}

void MoeLayer::run_many(kernels::ExpertView expert, std::span<const Assignment> tokens, const float* normalised,
                        float* x) {
    const std::int64_t hidden = config_.hidden_dim;
    const std::int64_t ffn = config_.ffn_dim;
    const auto n = static_cast<std::int64_t>(tokens.size());
    batch_in_.resize(std::max(batch_in_.size(), static_cast<std::size_t>(n * hidden)));
    batch_out_.resize(std::max(batch_out_.size(), static_cast<std::size_t>(n * hidden)));
    batch_gate_.resize(std::max(batch_gate_.size(), static_cast<std::size_t>(n * ffn)));
    batch_up_.resize(std::max(batch_up_.size(), static_cast<std::size_t>(n * ffn)));

    pool_.parallel_for(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            std::memcpy(batch_in_.data() + i * hidden, normalised + tokens[static_cast<std::size_t>(i)].token * hidden,
                        static_cast<std::size_t>(hidden) * sizeof(float));
        }
    });
    const std::size_t row_bytes = static_cast<std::size_t>(hidden) * bytes_per_weight(expert.type);
    const auto* block = static_cast<const std::byte*>(expert.data);
    const auto part = [&](int index) {
        return kernels::WeightView{block + static_cast<std::size_t>(index) * row_bytes, expert.type, ffn, hidden,
                                   3 * hidden};
    };
    using kernels::GemmLayout;
    gemm_.multiply(mode_, GemmLayout::kRowsAreOutputs, batch_in_.data(), hidden, n, part(0), batch_gate_.data(), ffn);
    gemm_.multiply(mode_, GemmLayout::kRowsAreOutputs, batch_in_.data(), hidden, n, part(1), batch_up_.data(), ffn);
    pool_.parallel_for(n * ffn, 4096, [&](std::int64_t begin, std::int64_t end, int) {
        kernels_.silu_mul(batch_gate_.data() + begin, batch_up_.data() + begin, end - begin,
                          batch_gate_.data() + begin);
    });
    gemm_.multiply(mode_, GemmLayout::kRowsAreInputs, batch_gate_.data(), ffn, n, part(2), batch_out_.data(), hidden);
    pool_.parallel_for(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            const Assignment a = tokens[static_cast<std::size_t>(i)];
            kernels_.axpy(a.weight, batch_out_.data() + i * hidden, hidden, x + a.token * hidden);
        }
    });
}

}  // namespace offstage::engine
