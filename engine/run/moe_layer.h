#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/model/weights.h"
#include "kernels/cpu_kernels.h"
#include "kernels/gemm.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// Router and experts of one layer for a step's tokens, on the CPU. Experts with few tokens are computed in one pass
// over their neurons, each thread a range of all the layer's active neurons; experts with many through batched
// products.
class MoeLayer {
  public:
    // An expert with at most this many tokens takes the one-pass kernel (its contract allows eight at a time).
    static constexpr std::int64_t kFewTokens = 8;

    MoeLayer(const ModelConfig& config, const ModelWeights& weights, kernels::ThreadPool& pool, kernels::Gemm& gemm,
             kernels::GemmMode mode);

    // x (n_tokens, hidden_dim) += experts(normalised); experts of token t are written to
    // routing[t * routing_stride + 0 .. n_active), best first.
    void run(std::int64_t layer, const float* normalised, std::int64_t n_tokens, float* x, std::int32_t* routing,
             std::int64_t routing_stride);

  private:
    struct Assignment {
        std::int32_t token;
        float weight;
    };

    void route(std::int64_t layer, const float* normalised, std::int64_t n_tokens, std::int32_t* routing,
               std::int64_t routing_stride);
    void run_few(std::int64_t layer, const float* normalised, float* x, std::int64_t n_tokens);
    void run_many(kernels::ExpertView expert, std::span<const Assignment> tokens, const float* normalised, float* x);

    const ModelConfig& config_;
    const ModelWeights& weights_;
    kernels::ThreadPool& pool_;
    kernels::Gemm& gemm_;
    kernels::GemmMode mode_;
    const kernels::CpuKernels& kernels_;

    std::vector<float> router_logits_;                // (n_tokens, n_experts)
    std::vector<float> chosen_weights_;               // (n_tokens, n_active)
    std::vector<std::vector<Assignment>> by_expert_;  // (n_experts)

    // Experts of this step with 1 .. kFewTokens tokens; their tokens one below the other make the rows of one batch.
    std::vector<std::int32_t> few_;
    std::vector<std::int64_t> few_first_row_;                          // (few_.size() + 1)
    std::vector<std::int32_t> few_row_token_;                          // (rows)
    std::vector<float> scales_;                                        // (rows): router weights
    std::vector<float> gathered_;                                      // (rows, hidden_dim)
    std::vector<std::vector<float>> partial_;                          // per thread: (rows, hidden_dim)
    std::vector<float> batch_in_, batch_gate_, batch_up_, batch_out_;  // of one expert with many tokens
};

}  // namespace offstage::engine
