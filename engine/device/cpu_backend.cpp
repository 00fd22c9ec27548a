#include "engine/device/cpu_backend.h"

#include "engine/device/hardware.h"
#include "engine/device/thread_time.h"

namespace offstage::engine {

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

void CpuBackend::copy_within(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
}

std::optional<DeviceEvent> CpuBackend::copy_weights(void* device, const void* host, std::size_t bytes, DeviceEvent) {
    if (copy_fails()) return std::nullopt;
    copy_within(device, host, bytes);
    return record(DeviceEvent::Queue::kCopy);
}

DeviceEvent CpuBackend::record(DeviceEvent::Queue queue) {
    const std::uint64_t ticket = ++last_ticket_;
    times_[ticket % kTimedEvents] = now_us();
    return {queue, ticket};
}

double CpuBackend::now_us() {
    if (thread_time_) return thread_time_us();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - opened_).count();
}

double CpuBackend::time_of(DeviceEvent event) const {
    const bool known = event.ticket > 0 && event.ticket <= last_ticket_ && event.ticket + kTimedEvents > last_ticket_;
    return known ? times_[event.ticket % kTimedEvents] : -1;
}

double CpuBackend::elapsed_us(DeviceEvent begin, DeviceEvent end) {
    const double from = time_of(begin);
    const double to = time_of(end);
    return from < 0 || to < 0 ? 0 : to - from;
}

double CpuBackend::run_on_host(std::span<const HostWork>, const std::function<void()>& body) {
    const double start = now_us();
    body();
    return now_us() - start;
}

}  // namespace offstage::engine
