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
    // Whether all these times are thread_time_us(), which takes longer to read: right
    // where the calling thread computes alone. Not between a begin and an end. Off at
    // first.
    void use_thread_time(bool on);

    void set_sum_order(SumOrder order) override;
    void submit(const ops::Operation& operation) override;

    std::uint64_t scratch_bytes(const StepShape&) const override { return 0; }  // CpuOperations has its own
    void reserve(const StepShape&) override {}
    void fail_copy(int n) override;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace offstage::engine
