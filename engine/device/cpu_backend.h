#pragma once

#include <memory>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/message.h"

namespace offstage::engine {

// The host as CpuBackend::info() describes it.
DeviceInfo cpu_info();

// The host as a device: its memory is the host's. Operations run on the compute pool and
// are done when they return.
class CpuBackend final : public Backend {
  public:
    // The pool must outlive the backend. `budget_bytes`: of memory().
    CpuBackend(kernels::ThreadPool& pool, kernels::ProductForm form, std::uint64_t budget_bytes);
    ~CpuBackend() override;

    const DeviceInfo& info() const override;
    Arena& memory() override;
    bool shares_host_memory() const override { return true; }
    bool ok() const override;
    Message failure() const override;
    void clear_failure() override;
    bool pin(std::span<std::byte>) override { return true; }
    void unpin(std::span<std::byte>) override {}
    std::byte* mapped(std::byte* pinned_host) override { return pinned_host; }

    void upload(void* device, const void* host, std::size_t bytes) override;
    void download(void* host, const void* device, std::size_t bytes) override;
    void copy_within(void* to, const void* from, std::size_t bytes) override;
    std::optional<DeviceEvent> copy_weights(void* device, const void* host, std::size_t bytes,
                                            DeviceEvent after) override;
    DeviceEvent record(DeviceEvent::Queue queue) override;
    void wait(DeviceEvent event) override;
    void host_wait(DeviceEvent event) override;
    bool has_happened(DeviceEvent event) override;
    double now_us() override;
    double elapsed_us(DeviceEvent begin, DeviceEvent end) override;
    using Backend::run_on_host;
    double run_on_host(std::span<const HostWork> work, const std::function<void()>& body) override;

    void set_sum_order(SumOrder order) override;
    void embed(const kernels::WeightView& table, const TokenId* tokens, std::int64_t n, float* x) override;
    void norm(const NormWeights& norm, const float* x, std::int64_t n, float* out) override;
    void norm_pieces(const NormWeights& norm, std::int64_t n, std::int64_t stride, std::int64_t n_pieces,
                     float* x) override;
    void add_bias(const float* bias, std::int64_t n, std::int64_t dim, float* x) override;
    void multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) override;
    void add(const float* y, std::int64_t n, float* x, float factor) override;
    void add_gated(const float* gate, const float* input, const float* y, std::int64_t n, std::int64_t dim,
                   float* x) override;
    void scale(float factor, std::int64_t n, float* x) override;
    void multiply_sigmoid(const float* gate, std::int64_t n, float* x) override;
    void clamp(float limit, std::int64_t n, float* x) override;
    void soft_cap(float limit, std::int64_t n, float* x) override;
    void clear(std::int64_t n, float* x) override;
    void multiply_heads(const kernels::WeightView& weight, std::int64_t n_heads, const float* x, std::int64_t x_stride,
                        std::int64_t x_head_stride, std::int64_t n, float* y, std::int64_t y_stride,
                        std::int64_t y_head_stride) override;
    void rotate_and_store(std::int64_t layer, const kernels::AttentionShape& shape,
                          std::span<const AttentionSegment> segments, const float* cos, const float* sin, float* qkv,
                          const kernels::KvShape& kv) override;
    void rotate_and_store_latent(std::int64_t layer, const kernels::AttentionShape& shape,
                                 std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                 const float* q, std::int64_t nope_dim, float* latent, float* queries,
                                 const kernels::KvShape& kv) override;
    void attend(std::int64_t layer, const kernels::AttentionShape& shape, std::span<const AttentionSegment> segments,
                const float* queries, std::int64_t query_stride, const kernels::KvShape& kv, float* out) override;
    void delta_net(std::int64_t layer, const kernels::DeltaNetShape& shape, std::span<const AttentionSegment> segments,
                   float* qkv, float* decay_beta, const float* z, const kernels::KvShape& kv, float* out) override;
    void copy_kv_block(const kernels::KvShape& kv, KvBlock from, kernels::KvType type, KvBlock to,
                       std::int64_t n_tokens) override;
    void route(const kernels::RouterSpec& spec, const kernels::RouterArrays& arrays, const float* x, std::int64_t n,
               std::int64_t hidden_dim, std::int32_t* experts, float* weights) override;
    void experts(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                 float* out) override;
    void combine(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
                 std::int64_t n_active, std::int64_t hidden_dim, float* x) override;

    std::uint64_t scratch_bytes(const StepShape&) const override { return 0; }  // CpuOperations has its own
    void reserve(const StepShape&) override {}
    void fail_copy(int n) override;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace offstage::engine
