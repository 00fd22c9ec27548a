#include "engine/device/cpu_backend.h"

#include <array>
#include <chrono>
#include <cstring>

#include "engine/device/hardware.h"
#include "engine/device/host_memory.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

DeviceInfo cpu_info() {
    const Hardware hardware = detect_host();
    DeviceInfo info;
    info.kind = DeviceKind::kCpu;
    info.id = "cpu";
    info.name = hardware.cpu_model.empty() ? "CPU" : hardware.cpu_model;
    info.memory_bytes = static_cast<std::uint64_t>(hardware.ram.total_bytes);
    info.available_bytes = static_cast<std::uint64_t>(hardware.ram.available_bytes);
    info.fingerprint = info.name + " x" + std::to_string(hardware.n_cores) + " " + hardware.instruction_set;
    return info;
}

struct CpuBackend::State {
    State(kernels::ThreadPool& pool, kernels::ProductForm form, std::uint64_t budget_bytes)
        : info(cpu_info()), arena("RAM", source, budget_bytes), operations(pool, form) {}

    DeviceInfo info;
    HostMemory source;
    Arena arena;
    CpuOperations operations;
    Message failure;
    int fail_in = 0;
    Clock::time_point opened = Clock::now();
    // All work is done when a call returns: an event is a number and the time at which it
    // was recorded.
    std::uint64_t last_ticket = 0;
    std::array<double, kTimedEvents> times{};

    bool copy_fails() { return fail_in > 0 && --fail_in == 0; }
    void copy(void* to, const void* from, std::size_t bytes) {
        if (copy_fails()) {
            failure = from_outside("A copy in RAM failed (injected for a test).");
        } else if (bytes > 0) {
            std::memcpy(to, from, bytes);
        }
    }
    double time_of(DeviceEvent event) const {
        const bool known = event.ticket > 0 && event.ticket <= last_ticket && event.ticket + kTimedEvents > last_ticket;
        return known ? times[event.ticket % kTimedEvents] : -1;
    }
};

CpuBackend::CpuBackend(kernels::ThreadPool& pool, kernels::ProductForm form, std::uint64_t budget_bytes)
    : state_(std::make_unique<State>(pool, form, budget_bytes)) {}
CpuBackend::~CpuBackend() = default;

const DeviceInfo& CpuBackend::info() const {
    return state_->info;
}

Arena& CpuBackend::memory() {
    return state_->arena;
}

bool CpuBackend::ok() const {
    return state_->failure.empty();
}

Message CpuBackend::failure() const {
    return state_->failure;
}

void CpuBackend::clear_failure() {
    state_->failure = {};
}

void CpuBackend::upload(void* device, const void* host, std::size_t bytes) {
    state_->copy(device, host, bytes);
}

void CpuBackend::download(void* host, const void* device, std::size_t bytes) {
    state_->copy(host, device, bytes);
}

void CpuBackend::copy_within(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
}

std::optional<DeviceEvent> CpuBackend::copy_weights(void* device, const void* host, std::size_t bytes, DeviceEvent) {
    if (state_->copy_fails()) return std::nullopt;
    if (bytes > 0) std::memcpy(device, host, bytes);
    return record(DeviceEvent::Queue::kCopy);
}

DeviceEvent CpuBackend::record(DeviceEvent::Queue queue) {
    const std::uint64_t ticket = ++state_->last_ticket;
    state_->times[ticket % kTimedEvents] = now_us();
    return {queue, ticket};
}

void CpuBackend::wait(DeviceEvent) {}

void CpuBackend::host_wait(DeviceEvent) {}

bool CpuBackend::has_happened(DeviceEvent) {
    return true;
}

double CpuBackend::now_us() {
    return us_since(state_->opened);
}

double CpuBackend::elapsed_us(DeviceEvent begin, DeviceEvent end) {
    const double from = state_->time_of(begin);
    const double to = state_->time_of(end);
    return from < 0 || to < 0 ? 0 : to - from;
}

double CpuBackend::run_on_host(std::span<const HostWork>, const std::function<void()>& body) {
    const auto start = Clock::now();
    body();
    return us_since(start);
}

void CpuBackend::set_sum_order(SumOrder order) {
    state_->operations.set_sum_order(order);
}

void CpuBackend::embed(const kernels::WeightView& table, const TokenId* tokens, std::int64_t n, float* x) {
    state_->operations.embed(table, tokens, n, x);
}

void CpuBackend::norm(const NormWeights& norm, const float* x, std::int64_t n, float* out) {
    state_->operations.norm(norm, x, n, out);
}

void CpuBackend::norm_pieces(const NormWeights& norm, std::int64_t n, std::int64_t stride, std::int64_t n_pieces,
                             float* x) {
    state_->operations.norm_pieces(norm, n, stride, n_pieces, x);
}

void CpuBackend::add_bias(const float* bias, std::int64_t n, std::int64_t dim, float* x) {
    state_->operations.add_bias(bias, n, dim, x);
}

void CpuBackend::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) {
    state_->operations.multiply(weight, x, n, y);
}

void CpuBackend::add(const float* y, std::int64_t n, float* x, float factor) {
    state_->operations.add(y, n, x, factor);
}

void CpuBackend::add_gated(const float* gate, const float* input, const float* y, std::int64_t n, std::int64_t dim,
                           float* x) {
    state_->operations.add_gated(gate, input, y, n, dim, x);
}

void CpuBackend::scale(float factor, std::int64_t n, float* x) {
    state_->operations.scale(factor, n, x);
}

void CpuBackend::multiply_sigmoid(const float* gate, std::int64_t n, float* x) {
    state_->operations.multiply_sigmoid(gate, n, x);
}

void CpuBackend::clamp(float limit, std::int64_t n, float* x) {
    state_->operations.clamp(limit, n, x);
}

void CpuBackend::soft_cap(float limit, std::int64_t n, float* x) {
    state_->operations.soft_cap(limit, n, x);
}

void CpuBackend::clear(std::int64_t n, float* x) {
    state_->operations.clear(n, x);
}

void CpuBackend::multiply_heads(const kernels::WeightView& weight, std::int64_t n_heads, const float* x,
                                std::int64_t x_stride, std::int64_t x_head_stride, std::int64_t n, float* y,
                                std::int64_t y_stride, std::int64_t y_head_stride) {
    state_->operations.multiply_heads(weight, n_heads, x, x_stride, x_head_stride, n, y, y_stride, y_head_stride);
}

void CpuBackend::rotate_and_store(std::int64_t layer, const kernels::AttentionShape& shape,
                                  std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                  float* qkv, const kernels::KvShape& kv) {
    state_->operations.rotate_and_store(layer, shape, segments, cos, sin, qkv, kv);
}

void CpuBackend::rotate_and_store_latent(std::int64_t layer, const kernels::AttentionShape& shape,
                                         std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                         const float* q, std::int64_t nope_dim, float* latent, float* queries,
                                         const kernels::KvShape& kv) {
    state_->operations.rotate_and_store_latent(layer, shape, segments, cos, sin, q, nope_dim, latent, queries, kv);
}

void CpuBackend::attend(std::int64_t layer, const kernels::AttentionShape& shape,
                        std::span<const AttentionSegment> segments, const float* queries, std::int64_t query_stride,
                        const kernels::KvShape& kv, float* out) {
    state_->operations.attend(layer, shape, segments, queries, query_stride, kv, out);
}

void CpuBackend::delta_net(std::int64_t layer, const kernels::DeltaNetShape& shape,
                           std::span<const AttentionSegment> segments, float* qkv, float* decay_beta, const float* z,
                           const kernels::KvShape& kv, float* out) {
    state_->operations.delta_net(layer, shape, segments, qkv, decay_beta, z, kv, out);
}

void CpuBackend::copy_kv_block(const kernels::KvShape& kv, KvBlock from, kernels::KvType type, KvBlock to,
                               std::int64_t n_tokens) {
    state_->operations.copy_kv_block(kv, from, type, to, n_tokens);
}

void CpuBackend::route(const kernels::RouterSpec& spec, const kernels::RouterArrays& arrays, const float* x,
                       std::int64_t n, std::int64_t hidden_dim, std::int32_t* experts, float* weights) {
    state_->operations.route(spec, arrays, x, n, hidden_dim, experts, weights);
}

void CpuBackend::experts(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                         float* out) {
    state_->operations.experts(calls, inputs, row_token, out);
}

void CpuBackend::combine(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
                         std::int64_t n_active, std::int64_t hidden_dim, float* x) {
    state_->operations.combine(rows, row_of, weights, n, n_active, hidden_dim, x);
}

void CpuBackend::fail_copy(int n) {
    state_->fail_in = n;
}

}  // namespace offstage::engine
