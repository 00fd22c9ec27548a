#pragma once

#include <array>
#include <chrono>

#include "engine/device/host_backend.h"

namespace offstage::engine {

// The host as CpuBackend::info() describes it.
DeviceInfo cpu_info();

// The host as a device: its memory is the host's. Operations run on the compute pool and
// are done when they return.
class CpuBackend final : public HostBackend {
  public:
    // The pool must outlive the backend. `budget_bytes`: of memory().
    CpuBackend(kernels::ThreadPool& pool, kernels::ProductForm form, std::uint64_t budget_bytes)
        : HostBackend(cpu_info(), "RAM", budget_bytes), operations_(pool, form) {}

    bool shares_host_memory() const override { return true; }
    void upload(void* device, const void* host, std::size_t bytes) override { copy(device, host, bytes); }
    void download(void* host, const void* device, std::size_t bytes) override { copy(host, device, bytes); }
    void copy_within(void* to, const void* from, std::size_t bytes) override;
    std::optional<DeviceEvent> copy_weights(void* device, const void* host, std::size_t bytes,
                                            DeviceEvent after) override;
    DeviceEvent record(DeviceEvent::Queue queue) override;
    void wait(DeviceEvent) override {}
    void host_wait(DeviceEvent) override {}
    bool has_happened(DeviceEvent) override { return true; }
    double now_us() override;
    double elapsed_us(DeviceEvent begin, DeviceEvent end) override;
    using Backend::run_on_host;
    double run_on_host(std::span<const HostWork> work, const std::function<void()>& body) override;
    // Whether all these times are thread_time_us(), which takes longer to read: right
    // where the calling thread computes alone. Not between a begin and an end. Off at
    // first.
    void use_thread_time(bool on) { thread_time_ = on; }

    void set_sum_order(SumOrder order) override { operations_.set_sum_order(order); }
    bool keeps_sum_order() const override { return true; }
    void submit(const ops::Operation& operation) override { operations_.run(operation); }

  private:
    std::optional<DeviceEvent> copy_interleaved(void*, const void*, const kernels::ExpertLayout&, bool,
                                                DeviceEvent) override {
        return std::nullopt;
    }
    double time_of(DeviceEvent event) const;

    CpuOperations operations_;
    const std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
    bool thread_time_ = false;
    // All work is done when a call returns: an event is a number and the time at which it
    // was recorded.
    std::uint64_t last_ticket_ = 0;
    std::array<double, kTimedEvents> times_{};
};

}  // namespace offstage::engine
