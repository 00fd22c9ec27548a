#pragma once

#include <memory>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/hardware_profile.h"

namespace offstage::engine {

// A GPU that is not there: a second memory of a given size on the host, a copy thread, and a clock that accounts what
// the GPU of a profile would have taken. What it computes is what CpuOperations computes, bit by bit.
//
// The clock (see Timeline): the host's real time goes on, except that the time spent computing or copying in the GPU's
// place is taken out, and waiting for the GPU costs what the profile says. Copies share the memory bandwidth with
// CPU work where the profile describes the host; run_on_host() then is accounted as well, and a run's figures do not
// depend on the machine at all.
class EmulatedAccelerator final : public Backend {
  public:
    // Operations run on `operations`'s pool, which must outlive this object and is used from the calling thread only.
    EmulatedAccelerator(const HardwareProfile& profile, CpuOperations& operations, std::uint64_t budget_bytes);
    ~EmulatedAccelerator() override;

    const HardwareProfile& profile() const;
    // Paced: host_wait() also sleeps until real time has caught up with the accounted time, so that a person sees the
    // speed. Off unless asked for.
    void set_paced(bool paced);
    // ... every operation of Backend

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace offstage::engine
