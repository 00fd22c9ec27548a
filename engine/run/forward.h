#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/model/weights.h"
#include "engine/run/kv_cache.h"
#include "engine/run/moe_layer.h"
#include "kernels/cpu_kernels.h"
#include "kernels/gemm.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// One pass of tokens through a Mixtral model on the CPU: embedding, then for each layer RMSNorm, grouped-query
// attention with rotary positions, RMSNorm, router and experts, then the logits. One or few tokens (decode) run on our
// own kernels, reading each weight once; many (prefill) through oneDNN. Activations are float32 throughout.
//
// Not thread-safe; runs on the calling thread and the pool. Does not throw and does not allocate per token once the
// largest step was seen.
class Forward {
  public:
    // Largest number of tokens in one step; longer prompts are fed in pieces.
    static constexpr std::int64_t kMaxStep = 512;

    // `mode`: how batched products are formed. The referents must outlive this object.
    Forward(const ModelConfig& config, const ModelWeights& weights, kernels::ThreadPool& pool, kernels::GemmMode mode);

    enum class Logits { kNone, kLast, kAll };

    // Runs 1..kMaxStep tokens that follow what `cache` holds and adds them to it. The cache must have room. False when
    // a stop was requested: it is looked at before each layer, and the cache is then as it was.
    bool step(std::span<const TokenId> tokens, KvCache& cache, Logits wanted, const std::stop_token& stop);

    // Of the last step: (1 or n_tokens, vocab_size).
    std::span<const float> logits() const { return {logits_.data(), logits_size_}; }
    // Of the last step: (n_tokens, n_layers, n_active), best expert first.
    std::span<const std::int32_t> routing() const { return {routing_.data(), routing_size_}; }

  private:
    void reserve(std::int64_t n_tokens);
    void attention_block(std::int64_t layer, std::int64_t n_tokens, KvCache& cache);
    void rotate_and_store(std::int64_t layer, std::int64_t n_tokens, KvCache& cache);
    void attend(std::int64_t layer, std::int64_t n_tokens, KvCache& cache);
    void compute_logits(std::int64_t n_tokens, Logits wanted);
    void normalise(const std::vector<float>& weight, std::int64_t n_tokens);
    // y (n_tokens, weight rows) = x (n_tokens, weight columns) * weight^T
    void multiply(const kernels::WeightView& weight, const float* x, std::int64_t n_tokens, float* y);

    const ModelConfig& config_;
    const ModelWeights& weights_;
    kernels::ThreadPool& pool_;
    const kernels::CpuKernels& kernels_;
    kernels::GemmMode mode_;
    kernels::Gemm gemm_;
    MoeLayer moe_;

    std::vector<float> inverse_frequencies_;             // (head_dim / 2)
    std::vector<float> cos_, sin_;                       // (n_tokens, head_dim / 2), of the step's positions
    std::vector<float> x_;                               // (n_tokens, hidden_dim): the residual stream
    std::vector<float> h_;                               // (n_tokens, hidden_dim): normalised
    std::vector<float> qkv_;                             // (n_tokens, (n_heads + 2 n_kv_heads) * head_dim)
    std::vector<float> attended_;                        // (n_tokens, n_heads * head_dim)
    std::vector<float> projected_;                       // (n_tokens, hidden_dim)
    std::vector<std::vector<float>> attention_scratch_;  // one per thread
    std::vector<float> logits_;
    std::size_t logits_size_ = 0;
    std::vector<std::int32_t> routing_;
    std::size_t routing_size_ = 0;
};

}  // namespace offstage::engine
