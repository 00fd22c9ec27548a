#include "engine/device/cpu_backend.h"

#include <array>
#include <chrono>
#include <cstring>

#include "engine/device/hardware.h"
#include "engine/device/host_memory.h"
#include "engine/device/thread_time.h"

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
    bool thread_time = false;
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
    return state_->thread_time ? thread_time_us() : us_since(state_->opened);
}

void CpuBackend::use_thread_time(bool on) {
    state_->thread_time = on;
}

double CpuBackend::elapsed_us(DeviceEvent begin, DeviceEvent end) {
    const double from = state_->time_of(begin);
    const double to = state_->time_of(end);
    return from < 0 || to < 0 ? 0 : to - from;
}

double CpuBackend::run_on_host(std::span<const HostWork>, const std::function<void()>& body) {
    const double start = now_us();
    body();
    return now_us() - start;
}

void CpuBackend::set_sum_order(SumOrder order) {
    state_->operations.set_sum_order(order);
}

void CpuBackend::submit(const ops::Operation& operation) {
    state_->operations.run(operation);
}

void CpuBackend::fail_copy(int n) {
    state_->fail_in = n;
}

}  // namespace offstage::engine
