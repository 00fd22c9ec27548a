#pragma once

#include <functional>
#include <memory>

#include "engine/device/hardware_profile.h"
#include "engine/device/host_backend.h"

namespace offstage::engine {

// Of the GPU that is emulated by this profile.
DeviceInfo emulated_info(const HardwareProfile& profile);

// An emulated GPU: a second memory of a given size on the host, a copy thread, and a
// clock that accounts the time that the GPU of a profile would have taken. Its results
// are those of CpuOperations, bit by bit.
//
// The clock (see Timeline): the host's real time passes, without the time spent computing
// or copying in the GPU's place; waiting for the GPU costs the profile's time. If the
// profile describes the host, copies share the memory bandwidth with CPU work;
// run_on_host() then is accounted as well, and a run's figures do not depend on the
// machine at all.
//
// A dry run accounts the same and computes nothing: no weight is read, nothing but choices
// of experts is copied, memory is addresses only, and a function draws these choices
// instead of the router. So the time of a model of any size is known in moments. A dry run needs a profile with a
// host; all of its results except the clock are worthless.
class EmulatedAccelerator final : public HostBackend {
  public:
    // Draws the experts (n_active of them) of one token. Arguments: its layer, counting
    // only layers with experts, its position in its sequence, its row in the step. A
    // router that runs a second time before the next attention guesses the experts of the
    // next layer with experts (`guess`; `layer` is that next one).
    using DrawnRouting = std::function<void(std::int64_t layer, std::int64_t position, std::int64_t row, bool guess,
                                            std::int32_t* experts)>;

    // Operations run on the pool of `operations`, which must outlive this object and is
    // used only by the calling thread. `dry`: this is a dry run.
    EmulatedAccelerator(const HardwareProfile& profile, CpuOperations& operations, std::uint64_t budget_bytes,
                        DrawnRouting dry = {});
    ~EmulatedAccelerator() override;

    const HardwareProfile& profile() const;
    // Paced: host_wait() also sleeps until real time has caught up with the accounted
    // time, so that a user sees the speed. Off by default.
    void set_paced(bool paced);

    bool shares_host_memory() const override { return false; }
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
    bool keeps_sum_order() const override { return true; }
    void submit(const ops::Operation& operation) override;

  private:
    std::optional<DeviceEvent> copy_interleaved(void* to, const void* from, const kernels::ExpertLayout& on_host,
                                                bool back, DeviceEvent after) override;
    // On the copy queue; `copy` does it, on its own thread.
    std::optional<DeviceEvent> begin_copy(double us, DeviceEvent after, std::function<void()> copy);

    struct State;
    class InPlaceOfGpu;
    void copy_now(void* to, const void* from, std::size_t bytes, bool real);

    std::unique_ptr<State> state_;
};

}  // namespace offstage::engine
