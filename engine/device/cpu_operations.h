#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "kernels/cpu_kernels.h"
#include "kernels/gemm.h"
#include "kernels/sparse_experts.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// Backend's operations on host memory, with the compute pool. Used by CpuBackend, by
// EmulatedAccelerator, and for experts that stay on the CPU beside a GPU. Contracts as in
// Backend. Grows its scratch buffers to the largest step seen. One thread at a time.
class CpuOperations {
  public:
    // The pool must outlive this object.
    CpuOperations(kernels::ThreadPool& pool, kernels::ProductForm form);
    ~CpuOperations();

    kernels::ThreadPool& pool();
    kernels::ProductForm form() const;
    // Whether experts in files' blocks always use products of bytes, for which
    // interleaved rows are better (kernels/interleaved.h).
    bool wants_interleaved() const { return form().byte_inputs && form().byte_prompts; }

    // With SumOrder::kByNumber an expert with at most this many rows uses the one-pass
    // kernel. Its neurons are summed in pieces that depend on its shape and number of
    // rows alone, so that neither the number of threads nor the other experts change a
    // bit.
    static constexpr std::int64_t kFewTokens = 8;

    void set_sum_order(SumOrder order);
    SumOrder sum_order() const;

    // Counts of all experts that were computed with a theta above 0
    // (kernels::ExpertSpec). Where w2 lies neuron by neuron and an expert has few rows,
    // weights of neurons that are left out are not read; otherwise they are read and
    // ignored. Calls with missing neurons are not counted: the code that chose the
    // neurons has counted them.
    const kernels::NeuronCounts& neurons() const;
    // Whether experts() computes such an expert, with a theta, by the kernels that choose
    // neurons first.
    bool chooses_neurons(const kernels::ExpertLayout& layout, std::int64_t n_rows) const;
    // The neurons that these kernels choose for any of the rows, ascending, bit by bit;
    // only w1 is read. Precondition: chooses_neurons(). counts: (token, neuron) pairs are
    // added.
    void choose_neurons(const ExpertCall& call, const float* inputs, const std::int32_t* row_token,
                        std::vector<std::int32_t>& chosen, kernels::NeuronCounts& counts);

    void embed(const kernels::WeightView& table, const TokenId* tokens, std::int64_t n, float* x);
    void norm(const NormWeights& norm, const float* x, std::int64_t n, float* out);
    void norm_pieces(const NormWeights& norm, std::int64_t n, std::int64_t stride, std::int64_t n_pieces, float* x);
    void add_bias(const float* bias, std::int64_t n, std::int64_t dim, float* x);
    void multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y);
    void add(const float* y, std::int64_t n, float* x, float factor);
    void add_gated(const float* gate, const float* input, const float* y, std::int64_t n, std::int64_t dim, float* x);
    void scale(float factor, std::int64_t n, float* x);
    void multiply_sigmoid(const float* gate, std::int64_t n, float* x);
    void clamp(float limit, std::int64_t n, float* x);
    void soft_cap(float limit, std::int64_t n, float* x);
    void clear(std::int64_t n, float* x);
    void multiply_heads(const kernels::WeightView& weight, std::int64_t n_heads, const float* x, std::int64_t x_stride,
                        std::int64_t x_head_stride, std::int64_t n, float* y, std::int64_t y_stride,
                        std::int64_t y_head_stride);
    void rotate_and_store(std::int64_t layer, const kernels::AttentionShape& shape,
                          std::span<const AttentionSegment> segments, const float* cos, const float* sin, float* qkv,
                          const kernels::KvShape& kv);
    void rotate_and_store_latent(std::int64_t layer, const kernels::AttentionShape& shape,
                                 std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                 const float* q, std::int64_t nope_dim, float* latent, float* queries,
                                 const kernels::KvShape& kv);
    void attend(std::int64_t layer, const kernels::AttentionShape& shape, std::span<const AttentionSegment> segments,
                const float* queries, std::int64_t query_stride, const kernels::KvShape& kv, float* out);
    void delta_net(std::int64_t layer, const kernels::DeltaNetShape& shape, std::span<const AttentionSegment> segments,
                   float* qkv, float* decay_beta, const float* z, const kernels::KvShape& kv, float* out);
    void copy_kv_block(const kernels::KvShape& kv, KvBlock from, kernels::KvType type, KvBlock to,
                       std::int64_t n_tokens);
    void route(const kernels::RouterSpec& spec, const kernels::RouterArrays& arrays, const float* x, std::int64_t n,
               std::int64_t hidden_dim, std::int32_t* experts, float* weights);
    void experts(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token, float* out);
    void combine(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
                 std::int64_t n_active, std::int64_t hidden_dim, float* x);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace offstage::engine
